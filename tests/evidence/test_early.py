"""The runs that were cut early: how far they came."""

import pytest

from .logs import ROOT, evaluations
from .pages import cells
from .runs import CONTROL_TEEN, FIRST, LOST, SECOND, all_runs

PAGE = (ROOT / "results/paper-early/README.md").read_text()


@pytest.mark.parametrize(("part", "algos"), [
    (FIRST, {"TEEN": ("Walker2d-v4", "Hopper-v4", "Ant-v4"), "SAC": ("Walker2d-v4", "Hopper-v4", "Ant-v4"),
             "TD3": ("Ant-v4",)}),
    (SECOND, {"TEEN": ("Walker2d-v4",), "TD3": ("Walker2d-v4", "Ant-v4"), "SAC": ("Walker2d-v4", "Ant-v4")}),
])  # fmt: skip
def test_how_far_the_early_runs_came(part, algos):
    """Each algorithm in a row of results/paper-early, with the last evaluation on each of its tasks."""
    _, said = cells(PAGE, f"`{part.split('/')[1]}`")
    for label, tasks in algos.items():
        ends = {task: {int(steps[-1]) for steps, _ in all_runs(task, label, 0, part)} for task in tasks}
        assert f"{label} {', '.join(f'{end:,} ({task})' for task, (end,) in ends.items())}" in said


def test_how_far_the_lost_runs_came():
    _, said = cells(PAGE, "`third`")
    ends = []
    for task in ("walker-walk", "walker-run", "finger-spin", "cheetah-run"):
        lanes = [seed for alpha in ("0.02", "0") for seed in evaluations(LOST + CONTROL_TEEN.format(task, alpha))]
        (end,) = {int(steps[-1]) for steps, _ in lanes}
        assert len(lanes) == 10
        ends.append(f"{end:,} ({task})")
    assert said == f"TEEN {', '.join(ends)}"
