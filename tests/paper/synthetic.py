"""Runs that were never trained: seed s of a run of this level returns level + s at every evaluation, and one more at
the first of them."""

import csv
from collections.abc import Callable, Mapping
from pathlib import Path

from teen.disk.folder import RunFolder
from teen.engine.evaluate import Episode
from teen.paper.experiments import EXPERIMENTS
from teen.paper.needs import Need
from teen.paper.reproduce import render
from teen.paper.runs import PlannedRun, planned_runs
from teen.paper.scale import Scale

TOY = Need("td3", "tests.toys:PointMass-v0", None, (), (0, 1), 300, smoke=True)
LEVELS = {"teen": 9000.0, "td3": 6000.0, "sac": 5000.0, "rnd": 4000.0, "sunrise": 3000.0}
FEW = Scale(seeds=(0, 1, 2, 3))


def needs(*names: str, scale: Scale = Scale()) -> list[Need]:  # noqa: B008  # it cannot be changed
    return [entry.need for name in names for entry in EXPERIMENTS[name].entries(scale)]


def write(
    planned: PlannedRun,
    level: float,
    until: int | None = None,
    checkpoint: int | None = None,
    quarantined: Mapping[int, int] | None = None,
) -> Path:
    """Write the folder that this run would leave, or would have left when it was cut at step `until`. `quarantined` has
    the last evaluation of seeds that went wrong."""
    ends = quarantined or {}
    job = planned.job()
    steps = [step for step in (planned.steps // 10 * k for k in range(1, 11)) if step <= (until or planned.steps)]
    for variant in job.variants:
        folder = RunFolder(planned.folder / variant.name, job.settings, variant.config)
        folder.begin()
        for step in steps:
            extra = float(step == steps[0])
            seeds = [seed for seed in planned.seeds if step <= ends.get(seed, step)]
            folder.log_evaluation([Episode(s, step, "mean", 0, level + s + extra, 1000) for s in seeds])
    if checkpoint is not None:
        (planned.folder / "checkpoint" / f"step-{checkpoint:012}").mkdir(parents=True)
    return planned.folder


def trained(
    out: Path, name: str, scale: Scale = FEW, keep: Callable[[PlannedRun], bool] = lambda planned: True
) -> None:
    """Write all runs of an experiment but those that are not kept."""
    for planned in planned_runs(needs(name, scale=scale), out):
        if keep(planned):
            write(planned, LEVELS[planned.program.algo])


def rendered(out: Path, name: str, scale: Scale = FEW) -> tuple[str, list[dict[str, str]]]:
    """Return the page's text, and its table of numbers."""
    render([name], scale, out)
    with (out / name / f"{name}.csv").open() as file:
        return (out / name / f"{name}.md").read_text(), list(csv.DictReader(file))
