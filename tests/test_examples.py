"""The notebooks in examples/: committed without outputs, and they run."""

import re
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

import teen

ROOT = Path(__file__).parents[1]
NOTEBOOKS = sorted((ROOT / "examples").glob("*.ipynb"))
PATIENCE = 1_200  # seconds for a cell; the training takes about one minute on 2 quiet cores


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_is_committed_without_outputs_and_links_lead_somewhere(path):
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    for cell in notebook.cells:
        if cell.cell_type == "code":
            assert (cell.outputs, cell.execution_count) == ([], None)
            compile(cell.source, path.name, "exec")
        for link in re.findall(r"\]\(([^)\s]+)\)", cell.source):
            assert (path.parent / link).exists(), link


@pytest.mark.full
def test_the_first_agent_is_trained_evaluated_and_loaded(tmp_path, monkeypatch):
    """With the very numbers of the notebook. Random play gets about -1200, and a solved pendulum about -150."""
    monkeypatch.setenv(
        "PYTHONPATH", str(Path(teen.__file__).parents[1])
    )  # it may be relative, and the kernel is elsewhere
    notebook = nbformat.read(ROOT / "examples" / "first-agent.ipynb", as_version=4)
    NotebookClient(notebook, timeout=PATIENCE, resources={"metadata": {"path": str(tmp_path)}}).execute()
    cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    _, picture, curve, evaluated, members, loaded = [said(cell) for cell in cells]
    assert "image/png" in picture
    assert [int(step.replace(",", "")) for step in re.findall(r"step +([\d,]+):", curve)] == list(
        range(1000, 8001, 1000)
    )
    scores = [float(score) for score in re.findall(r"seed \d: (-?\d+)", evaluated)]
    assert len(scores) == 2
    assert max(scores) <= 0
    assert sum(scores) / 2 > -500
    assert [line.split(":")[0].split()[-1] for line in members.splitlines()] == ["mean", "0", "1", "2"] * 2
    assert loaded.strip().endswith("True")
    assert [path.name for path in tmp_path.iterdir()] == ["runs"]


def said(cell):
    """Return what a cell printed, or the kinds of what it showed."""
    printed = "".join(output.get("text", "") for output in cell.outputs if output.output_type == "stream")
    return printed or " ".join(kind for output in cell.outputs for kind in output.get("data", {}))
