"""The runs that were cut early: how far they came."""

import pytest

from .logs import ROOT
from .pages import cells
from .runs import FIRST, SECOND, all_runs


@pytest.mark.parametrize(("part", "algos"), [
    (FIRST, {"TEEN": ("Walker2d-v4", "Hopper-v4", "Ant-v4"), "SAC": ("Walker2d-v4", "Hopper-v4", "Ant-v4"),
             "TD3": ("Ant-v4",)}),
    (SECOND, {"TEEN": ("Walker2d-v4",), "TD3": ("Walker2d-v4", "Ant-v4"), "SAC": ("Walker2d-v4", "Ant-v4")}),
])  # fmt: skip
def test_how_far_the_early_runs_came(part, algos):
    """Each algorithm in a row of results/paper-early, with the last evaluation on each of its tasks."""
    _, said = cells((ROOT / "results/paper-early/README.md").read_text(), f"`{part.split('/')[1]}`")
    for label, tasks in algos.items():
        ends = {task: {int(steps[-1]) for steps, _ in all_runs(task, label, 0, part)} for task in tasks}
        assert f"{label} {', '.join(f'{end:,} ({task})' for task, (end,) in ends.items())}" in said
