"""The pages under results/ are what `teen paper --draw` makes of the logs there."""

import shutil
from pathlib import Path

from teen.paper.reproduce import render
from teen.paper.scale import Scale

RESULTS = Path(__file__).parents[2] / "results" / "paper"


def test_table_1_so_far(tmp_path):
    shutil.copytree(RESULTS / "runs", tmp_path / "runs")
    render(["table1"], Scale(), tmp_path)
    page = Path("table1", "table1.md")
    assert (tmp_path / page).read_text() == (RESULTS / page).read_text()
