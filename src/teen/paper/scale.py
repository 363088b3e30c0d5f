"""How much of the paper is asked for: all of it, fewer seeds or steps, or a smoke test of everything."""

import os
from collections.abc import Sequence
from typing import Any, NamedTuple, TypeVar

from ..envs import names

T = TypeVar("T")

SMOKE = {  # beside which compiling takes most of the time
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


class Scale(NamedTuple):
    seeds: tuple[int, ...] | None = None  # none: as many as the paper has
    steps: int | None = None  # likewise
    smoke: bool = False

    def seeds_of(self, paper: int) -> tuple[int, ...]:
        return self.seeds or tuple(range(SMOKE_SEEDS if self.smoke else paper))

    def steps_of(self, paper: int) -> int:
        return self.steps or (SMOKE_STEPS if self.smoke else paper)

    def some(self, values: Sequence[T], few: Sequence[T]) -> Sequence[T]:
        return few if self.smoke else values

    def tasks(self, tasks: Sequence[str]) -> list[str]:
        """For a smoke test the same few in all experiments: what is compiled for one serves the others."""
        return list(dict.fromkeys(_stand_in(task) for task in tasks)) if self.smoke else list(tasks)


def settings(algo: str, smoke: bool) -> dict[str, Any]:
    """Beside the preset's."""
    if not smoke:
        return {}
    return {**SMOKE, "n": SMOKE_MEMBERS} if algo in ENSEMBLES else dict(SMOKE)


def compile_quickly() -> None:
    """With few of LLVM's optimisations: two thirds of the time. Call it before anything is compiled."""
    os.environ["XLA_FLAGS"] = f"{os.environ.get('XLA_FLAGS', '')} --xla_backend_optimization_level=1"


def _stand_in(task: str) -> str:
    """Both cheetahs have 17 observations and 6 actions: one compiled program serves them."""
    if names.is_suite(task):
        return f"{names.SUITE}cheetah-run"
    return task if task.startswith("Humanoid") else "HalfCheetah-v4"
