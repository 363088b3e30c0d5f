"""Training metrics and diagnostics over steps: means over seeds, with no more points than a screen can show."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ..disk.logs import CONFUSION, DIAGNOSTICS, LARGEST_STEP, MOST_MEMBERS, bounded, read_log
from .runs import Run

MOST_POINTS = 400
LARGEST_MATRIX = 40  # members


class Curve(NamedTuple):
    steps: np.ndarray
    mean: np.ndarray  # over seeds, at each step
    std: np.ndarray  # of the sample of seeds (n − 1); NaN where there is one


def mean(values: np.ndarray) -> np.ndarray:
    """Return the mean of finite values over the first axis; NaN where none is finite."""
    finite = np.isfinite(values)
    counts = finite.sum(0)
    return np.where(counts > 0, np.where(finite, values, 0.0).sum(0) / np.maximum(counts, 1), np.nan)


def mean_and_std(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return mean and sample standard deviation (n − 1) over seeds of (seed, point) values that are finite. The mean
    of none and the deviation of one are NaN."""
    points = np.broadcast_to(np.arange(values.shape[1]), values.shape)
    return _by_point(points.ravel(), values.ravel(), values.shape[1])


def _by_point(points: np.ndarray, values: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Do the same with values in any order; `points` has each value's point."""
    finite = np.isfinite(values)
    points, values = points[finite], values[finite]
    counts = np.bincount(points, minlength=count)
    middle = np.where(counts > 0, np.bincount(points, values, count) / np.maximum(counts, 1), np.nan)
    with np.errstate(over="ignore", invalid="ignore"):  # a loss may have diverged
        squares = np.bincount(points, (values - middle[points]) ** 2, count)
    return middle, np.where(counts > 1, np.sqrt(squares / np.maximum(counts - 1, 1)), np.nan)


def training(runs: Sequence[Run]) -> dict[str, Curve]:
    """Return the metrics of train.csv by name. The runs have other seeds of the same settings."""
    points: dict[str, list[np.ndarray]] = {}  # (step and value, row) by metric
    for run in runs:
        for name in run.training:
            if name not in ("seed", "step"):
                points.setdefault(name, []).append(np.stack([run.training["step"], run.training[name]]))
    return {name: _over_seeds(*np.concatenate(tables, axis=1)) for name, tables in points.items()}


def diagnostics(runs: Sequence[Run]) -> dict[str, Curve]:
    """Return the quantities of diagnostics.csv by name; the file has a row for each number."""
    points: dict[str, list[tuple[int, float]]] = {}  # (step, value) by quantity
    for run in runs:
        with read_log(run.path, DIAGNOSTICS) as rows:
            for row in rows:
                point = bounded(row["step"], LARGEST_STEP), float(row["value"])
                points.setdefault(row["quantity"], []).append(point)
    return {quantity: _over_seeds(*np.array(pairs).T) for quantity, pairs in points.items()}


def confusion(runs: Sequence[Run]) -> tuple[int, np.ndarray] | None:
    """Return the newest step of confusion.csv and its (member, guess) shares, means over seeds. None where there are
    none, or too many members to be shown."""
    shares: dict[int, dict[tuple[int, int], list[float]]] = {}
    for run in runs:
        with read_log(run.path, CONFUSION) as rows:
            for row in rows:
                step = bounded(row["step"], LARGEST_STEP)
                pair = bounded(row["member"], MOST_MEMBERS), bounded(row["guess"], MOST_MEMBERS)
                shares.setdefault(step, {}).setdefault(pair, []).append(float(row["share"]))
    if not shares:
        return None
    step = max(shares)
    numbers = {number for pair in shares[step] for number in pair}
    if numbers != set(range(len(numbers))) or len(numbers) > LARGEST_MATRIX:
        return None
    table = np.full((len(numbers), len(numbers)), np.nan)
    for pair, values in shares[step].items():
        table[pair] = mean(np.array(values))
    return step, table


def _over_seeds(steps: np.ndarray, values: np.ndarray) -> Curve:
    """Return the curve of values that all seeds have at these steps, in any order. Neighbouring points are averaged so
    that at most MOST_POINTS are left, each at its last neighbour's step."""
    distinct, points = np.unique(steps, return_inverse=True)
    curve = Curve(distinct.astype(int), *_by_point(points, values, len(distinct)))
    size = -(-len(distinct) // MOST_POINTS)
    if size <= 1:
        return curve
    blocks = [slice(first, first + size) for first in range(0, len(distinct), size)]
    last = np.array([curve.steps[block][-1] for block in blocks])
    return Curve(last, *(np.array([mean(numbers[block]) for block in blocks]) for numbers in curve[1:]))
