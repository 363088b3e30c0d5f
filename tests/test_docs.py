"""The pages of docs/ say what the code says: fragments, settings, defaults, metrics; the example works."""

import ast
import json
import re
import statistics
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import random

from teen import algos
from teen.config import modules
from teen.settings import leaves
from teen.spec import Batch, Clock, Spec

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "teen"
PAGES = sorted((ROOT / "docs" / "algos").glob("*.md"))
SPEC = Spec(obs=3, action=2)
ROWS = 4

every_page = pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)


def table(page, *header):
    """The rows below every header line `| a | b |` of a page, as lists of cells."""
    rows, inside = [], False
    for line in page.read_text().splitlines():
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if cells == list(header):
            inside = True
        elif not line.startswith("|"):
            inside = False
        elif inside and not set(line) <= {"|", "-"}:
            rows.append(cells)
    return rows


def quoted(text):
    """What stands in backticks."""
    return re.findall(r"`([^`]+)`", text)


def lines_of(file, function):
    """The source lines of all functions of that name."""
    text = (SOURCE / file).read_text()
    found = [n for n in ast.walk(ast.parse(text)) if isinstance(n, ast.FunctionDef) and n.name == function]
    return [line for n in found for line in text.splitlines()[n.lineno - 1 : n.end_lineno]]


def metrics(algo):
    """The names that an algorithm logs, found by tracing: nothing is compiled."""
    cfg = algo.Config()

    def probe(key):
        rows, number = jnp.zeros(ROWS), jnp.array(1)
        obs, action = jnp.zeros((ROWS, SPEC.obs)), jnp.zeros((ROWS, SPEC.action))
        extras = {name: jnp.zeros((ROWS, width)) for name, width in algo.extras(cfg)}
        batch = Batch(obs, action, rows, rows, obs, extras, rows)
        noise, state = algo.draw(cfg, key, len(batch.obs), SPEC), algo.init(cfg, key, SPEC)
        _, losses = algo.update(cfg, state, batch, Clock(0, number, number, True), noise)
        return {**losses, **algo.metrics(cfg, state, batch)}

    shapes = jax.eval_shape(probe, random.key(0))
    assert all(metric.shape == () for metric in shapes.values())
    return set(shapes)


def test_every_algorithm_has_a_page():
    assert {page.stem for page in PAGES} == set(algos.NAMES)


@every_page
def test_code_fragments_occur_in_the_named_function(page):
    rows = table(page, "equation", "file", "code")
    assert rows
    for equation, where, code in rows:
        file, function = quoted(where)
        (fragment,) = quoted(code)
        assert any(fragment in line for line in lines_of(file, function)), f"{page.name}: {equation}"


@every_page
def test_settings_and_their_defaults_are_listed(page):
    listed = {
        quoted(name)[0]: (default, lane)
        for name, default, lane, _ in table(page, "setting", "default", "lane", "what it does")
    }
    config = algos.find(page.stem).Config()
    assert listed == {leaf.name: (str(leaf.value), "lane" if leaf.per_lane else "") for leaf in leaves(config)}


@every_page
def test_metrics_are_explained(page):
    explained = [quoted(name)[0] for name, _ in table(page, "metric", "meaning")]
    assert set(explained) == metrics(algos.find(page.stem))


def test_the_example_of_extending_works(tmp_path, monkeypatch):
    text = (ROOT / "docs" / "extending.md").read_text()
    example = re.search(r"`my_package/my_algo.py`:\n\n```python\n(.*?)```", text, re.S).group(1)
    (tmp_path / "my_package").mkdir()
    (tmp_path / "my_package" / "my_algo.py").write_text(example)
    monkeypatch.syspath_prepend(tmp_path)

    modules.import_named({"algo": "my_package.my_algo"})
    algo = algos.find("my_package.my_algo")
    assert metrics(algo) == metrics(algos.find("td3")) | {"critic_gap"}
    assert "caution" in {leaf.name for leaf in leaves(algo.Config()) if leaf.per_lane}


def test_what_a_launch_costs_is_what_was_measured():
    kept = json.loads((ROOT / "benchmarks/results/2-core-epyc/launcher.json").read_text())
    each, seconds = kept["jobs"] / len(kept["seconds"]["ray"]), kept["seconds"]
    ray = 1000 * statistics.median(seconds["ray"]) / each
    more = 1000 * statistics.median(np.subtract(seconds["teen"], seconds["ray"])) / each
    page = (ROOT / "docs/scale.md").read_text()
    assert (
        f"Ray takes {ray:.0f} ms for a\ntask, which is the start of a process, and a job takes {more:.0f} ms more"
        in page
    )
    assert f"| launching, beyond Ray's own | {more:.0f} ms |" in page
