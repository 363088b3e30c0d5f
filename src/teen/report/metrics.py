"""Training metrics and diagnostics over steps: means over seeds, no finer than a screen can show."""

from collections.abc import Sequence

import numpy as np

from ..analysis import runs as reading
from ..analysis.runs import Run
from ..errors import UserError

MOST_POINTS = 400

Curves = dict[str, tuple[np.ndarray, np.ndarray]]  # by quantity: steps, and its mean over seeds at each


def mean(values: np.ndarray) -> np.ndarray:
    """Over the first axis, of what is finite; NaN where nothing is."""
    finite = np.isfinite(values)
    counts = finite.sum(0)
    return np.where(counts > 0, np.where(finite, values, 0.0).sum(0) / np.maximum(counts, 1), np.nan)


def training(runs: Sequence[Run]) -> Curves:
    """Of train.csv. The runs have other seeds of the same settings."""
    tables = [run.training for run in runs if run.training]
    names = dict.fromkeys(name for table in tables for name in table if name not in ("seed", "step"))
    return {name: _over_seeds([(table["step"], table[name]) for table in tables if name in table]) for name in names}


def diagnostics(runs: Sequence[Run]) -> Curves:
    """Of diagnostics.csv, which has a row per number: seed, step, quantity, value."""
    points: dict[str, list[tuple[float, float]]] = {}
    for run in runs:
        try:
            for row in reading._rows(run.path, "diagnostics.csv"):
                points.setdefault(row["quantity"], []).append((float(row["step"]), float(row["value"])))
        except (KeyError, TypeError, ValueError) as error:
            raise UserError(f"{run.path / 'diagnostics.csv'} is damaged: {error}") from None
    return {quantity: _over_seeds([tuple(np.array(own).T)]) for quantity, own in points.items()}


def _over_seeds(parts: Sequence[tuple[np.ndarray, ...]]) -> tuple[np.ndarray, np.ndarray]:
    every_step, values = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
    steps, place = np.unique(every_step, return_inverse=True)
    known = np.isfinite(values)
    sums = np.bincount(place[known], values[known], len(steps))
    counts = np.bincount(place[known], minlength=len(steps))
    return _thinned(steps.astype(int), np.where(counts > 0, sums / np.maximum(counts, 1), np.nan))


def _thinned(steps: np.ndarray, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Each point is the mean of so many neighbours that there are at most MOST_POINTS, at the last one's step."""
    size = -(-len(steps) // MOST_POINTS)
    if size <= 1:
        return steps, values
    blocks = [slice(first, first + size) for first in range(0, len(steps), size)]
    return np.array([steps[block][-1] for block in blocks]), np.array([mean(values[block]) for block in blocks])
