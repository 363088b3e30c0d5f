"""The pages under results/ are what `teen paper --draw` makes of the logs there."""

import shutil
from pathlib import Path

import pytest

from teen.paper.reproduce import render
from teen.paper.scale import Scale

RESULTS = Path(__file__).parents[2] / "results" / "paper"


@pytest.mark.parametrize("name", ["table1", "table2", "claims"])
def test_what_there_is_so_far(tmp_path, name):
    shutil.copytree(RESULTS / "runs", tmp_path / "runs")
    render([name], Scale(), tmp_path)
    page = Path(name, f"{name}.md")
    assert (tmp_path / page).read_text() == (RESULTS / page).read_text()
