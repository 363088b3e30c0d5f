"""How much of the paper is asked for: all of it, fewer seeds or steps, a smoke test of everything, or all of it with
other settings."""

import os
from collections.abc import Sequence
from typing import Any, NamedTuple

from ..envs import names

PRESET = "paper"
SMOKE = {  # so small that compiling takes most of the time
    "width": 32,
    "warmup": 50,
    "batch": 16,
    "buffer": 150,
    "eval_every": 150,
    "eval_episodes": 1,
    "members_every": 150,
    "log_every": 50,
    "checkpoint_every": 100,
}
SMOKE_STEPS, SMOKE_SEEDS, SMOKE_MEMBERS = 300, 2, 3
ENSEMBLES = ("teen", "sunrise")


Extent = tuple[tuple[int, ...], int, bool, str]  # seeds, steps, `smoke` and preset of a need


class Scale(NamedTuple):
    seeds: tuple[int, ...] | None = None  # None: as many as the paper has
    steps: int | None = None  # likewise
    smoke: bool = False
    preset: str = PRESET  # which settings the runs have

    def extent(self, seeds: int, steps: int) -> Extent:
        """Return seeds, steps, `smoke` and preset of a need for which the paper has this many seeds and steps."""
        count, end = (SMOKE_SEEDS, SMOKE_STEPS) if self.smoke else (seeds, steps)
        return self.seeds or tuple(range(count)), self.steps or end, self.smoke, self.preset

    def tasks(self, tasks: Sequence[str]) -> list[str]:
        """Return the tasks; for a smoke test the same few in all experiments, so that they share compiled programs."""
        return list(dict.fromkeys(_stand_in(task) for task in tasks)) if self.smoke else list(tasks)


def settings(algo: str, smoke: bool) -> dict[str, Any]:
    """Return the settings beside the preset's."""
    if not smoke:
        return {}
    return {**SMOKE, "n": SMOKE_MEMBERS} if algo in ENSEMBLES else dict(SMOKE)


def compile_quickly() -> None:
    """Use few of LLVM's optimisations, which takes two thirds of the time. Call this before anything is compiled."""
    os.environ["XLA_FLAGS"] = f"{os.environ.get('XLA_FLAGS', '')} --xla_backend_optimization_level=1"


def _stand_in(task: str) -> str:
    """Return a cheetah of either suite: both have 17 observations and 6 actions, and share a compiled program."""
    if names.is_suite(task):
        return f"{names.SUITE}cheetah-run"
    return task if task.startswith("Humanoid") else "HalfCheetah-v4"
