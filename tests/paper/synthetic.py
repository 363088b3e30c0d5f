"""Runs that were never trained: seed s of a run of this level returns level + s at every evaluation, and one more at
the first of them."""

from collections.abc import Mapping
from pathlib import Path

from teen.disk.folder import RunDir
from teen.engine.evaluate import Episode
from teen.paper.runs import Program


def write(
    program: Program,
    level: float,
    until: int | None = None,
    checkpoint: int | None = None,
    quarantined: Mapping[int, int] | None = None,
) -> Path:
    """The folder that this program would leave, or would have left when it was cut at step `until`. `quarantined` has
    the last evaluation of seeds that went wrong."""
    ends = quarantined or {}
    job = program.job()
    steps = [step for step in (program.steps // 10 * k for k in range(1, 11)) if step <= (until or program.steps)]
    for variant in job.variants:
        folder = RunDir(program.folder / variant.name, job.run, variant.config)
        folder.begin()
        for step in steps:
            extra = float(step == steps[0])
            seeds = [seed for seed in program.seeds if step <= ends.get(seed, step)]
            folder.log_evaluation([Episode(s, step, "mean", 0, level + s + extra, 1000) for s in seeds])
    if checkpoint is not None:
        (program.folder / "checkpoint" / f"step-{checkpoint:012}").mkdir(parents=True)
    return program.folder
