"""Training metrics and diagnostics over steps: means over seeds, no finer than a screen can show."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from . import runs as reading
from .runs import Run

MOST_POINTS = 400
MOST_MEMBERS = 40  # rows of a matrix


class Curve(NamedTuple):
    steps: np.ndarray
    mean: np.ndarray  # over seeds, at each step
    std: np.ndarray


Curves = dict[str, Curve]  # by quantity


def mean(values: np.ndarray) -> np.ndarray:
    """Over the first axis, of what is finite; NaN where nothing is."""
    finite = np.isfinite(values)
    counts = finite.sum(0)
    return np.where(counts > 0, np.where(finite, values, 0.0).sum(0) / np.maximum(counts, 1), np.nan)


def mean_and_std(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Over the first axis, of what is finite."""
    middle = mean(values)
    return middle, np.sqrt(mean((values - middle) ** 2))


def training(runs: Sequence[Run]) -> Curves:
    """Of train.csv. The runs have other seeds of the same settings."""
    tables = [run.training for run in runs if run.training]
    names = dict.fromkeys(name for table in tables for name in table if name not in ("seed", "step"))
    return {name: _over_seeds([(table["step"], table[name]) for table in tables if name in table]) for name in names}


def diagnostics(runs: Sequence[Run]) -> Curves:
    """Of diagnostics.csv, which has a row per number: seed, step, quantity, value."""
    points: dict[str, list[tuple[int, float]]] = {}
    for run in runs:
        with reading.log(run.path, "diagnostics.csv") as rows:
            for row in rows:
                step = reading.whole(row["step"], reading.LARGEST_STEP)
                points.setdefault(row["quantity"], []).append((step, float(row["value"])))
    return {quantity: _over_seeds([tuple(np.array(own).T)]) for quantity, own in points.items()}


def confusion(runs: Sequence[Run]) -> tuple[int, np.ndarray] | None:
    """Of confusion.csv, at its newest step: (member, guess) shares, means over seeds. None where there are none, or too
    many members to be shown."""
    shares: dict[int, dict[tuple[int, int], list[float]]] = {}
    for run in runs:
        with reading.log(run.path, "confusion.csv") as rows:
            for row in rows:
                step = reading.whole(row["step"], reading.LARGEST_STEP)
                pair = (
                    reading.whole(row["member"], reading.MOST_MEMBERS),
                    reading.whole(row["guess"], reading.MOST_MEMBERS),
                )
                shares.setdefault(step, {}).setdefault(pair, []).append(float(row["share"]))
    if not shares:
        return None
    step = max(shares)
    numbers = {number for pair in shares[step] for number in pair}
    if numbers != set(range(len(numbers))) or len(numbers) > MOST_MEMBERS:
        return None
    table = np.full((len(numbers), len(numbers)), np.nan)
    for pair, values in shares[step].items():
        table[pair] = mean(np.array(values))
    return step, table


def _over_seeds(parts: Sequence[tuple[np.ndarray, ...]]) -> Curve:
    every_step, values = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
    steps, place = np.unique(every_step, return_inverse=True)
    known = np.isfinite(values)
    counts = np.bincount(place[known], minlength=len(steps))

    def average(numbers: np.ndarray) -> np.ndarray:
        sums = np.bincount(place[known], numbers[known], len(steps))
        return np.where(counts > 0, sums / np.maximum(counts, 1), np.nan)

    middle = average(values)
    with np.errstate(over="ignore", invalid="ignore"):  # a loss may have run away
        std = np.sqrt(average((values - middle[place]) ** 2))
    return _thinned(Curve(steps.astype(int), middle, std))


def _thinned(curve: Curve) -> Curve:
    """Each point is the mean of so many neighbours that there are at most MOST_POINTS, at the last one's step."""
    size = -(-len(curve.steps) // MOST_POINTS)
    if size <= 1:
        return curve
    blocks = [slice(first, first + size) for first in range(0, len(curve.steps), size)]
    steps = np.array([curve.steps[block][-1] for block in blocks])
    return Curve(steps, *(np.array([mean(values[block]) for block in blocks]) for values in curve[1:]))
