"""The runs that were cut early: how far they came, and how fast."""

import csv
import gzip

import pytest

from .logs import ROOT
from .pages import cells, flat
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


def test_speeds_of_programs_side_by_side():
    """Steps per second from step 60,000 on, when everything is compiled."""
    text = flat((ROOT / "docs" / "scale.md").read_text())
    for part, said in ((SECOND, "ran at {} to {} steps a second each,"), (FIRST, "lanes at {} to {}.")):
        speeds = []
        for file in (ROOT / "results" / part).rglob("timing.csv.gz"):
            with gzip.open(file, "rt") as lines:
                times = {int(row["step"]): float(row["seconds"]) for row in csv.DictReader(lines)}
            speeds.append((max(times) - 60_000) / (times[max(times)] - times[60_000]))
        assert said.format(round(min(speeds)), round(max(speeds))) in text
