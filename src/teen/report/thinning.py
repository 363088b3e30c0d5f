"""Thin out the learning curves of very large runs: a page holds, and a browser draws, a bounded number of numbers."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from .compare import Pools
from .runs import Run

MOST_NUMBERS = 500_000  # of all curves together; one of ten seeds and a million steps has 3,400
MOST_POINTS = 10_000  # of one curve
STATISTICS = 7  # numbers at each evaluation, beside the seeds' returns


def most_numbers(pools: Pools) -> int:
    """Return how many numbers a curve may have: an equal share, if not all can be shown as they are."""
    sizes = [_width(runs) * len(_steps(runs)) for pool in pools.values() for runs in pool.values()]
    return MOST_NUMBERS if sum(sizes) <= MOST_NUMBERS else MOST_NUMBERS // len(sizes)


def shown(runs: Sequence[Run], most: int) -> np.ndarray:
    """Return the steps at which the curve of these runs, which are one label's, is shown."""
    return chosen(_steps(runs), max(1, min(MOST_POINTS, most // _width(runs))))


def chosen(steps: np.ndarray, most: int) -> np.ndarray:
    """Return at most as many of these steps, evenly chosen, the last among them."""
    return steps if len(steps) <= most else steps[np.linspace(len(steps) - 1, 0, most).astype(int)[::-1]]


def note(runs: Sequence[Run], names: Mapping[Path, str], most: int) -> str:
    """Say which runs have more evaluations than their curve shows; nothing where it shows all."""
    every, some = len(_steps(runs)), len(shown(runs, most))
    if some == every:
        return ""
    others = f" and {len(runs) - 1} more with the same settings" if len(runs) > 1 else ""
    seeds = sum(len(run.seeds) for run in runs)
    what = f"{seeds:,} seed{'s' if seeds > 1 else ''} and {every:,} evaluations"
    return f"{names[runs[0].path]}{others}: {what}; the curve shows {some:,} of them"


def _width(runs: Sequence[Run]) -> int:
    return sum(len(run.seeds) for run in runs) + STATISTICS


def _steps(runs: Sequence[Run]) -> np.ndarray:
    return np.unique(np.concatenate([run.steps for run in runs]))
