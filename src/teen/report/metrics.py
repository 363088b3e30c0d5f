"""Training metrics and diagnostics over steps: means over seeds, with no more points than a screen can show."""

from array import array
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ..disk.logs import (
    CONFUSION,
    DIAGNOSTICS,
    LARGEST_STEP,
    LONGEST_NAME,
    MOST_MEMBERS,
    TooLarge,
    read_columns,
    whole_numbers,
)
from .runs import Run

MOST_POINTS = 400
MOST_QUANTITIES = 256  # in diagnostics.csv; ours are 32
LARGEST_MATRIX = 40  # members


class Curve(NamedTuple):
    steps: np.ndarray
    mean: np.ndarray  # over seeds, at each step
    std: np.ndarray  # of the sample of seeds (n − 1); NaN where there is one


def mean(values: np.ndarray) -> np.ndarray:
    """Return the mean of finite values over the first axis; NaN where none is finite."""
    finite = np.isfinite(values)
    counts = finite.sum(0)
    with np.errstate(over="ignore", invalid="ignore"):  # a loss may have diverged
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
    points: dict[str, tuple[array[int], array[float]]] = {}  # steps and values by quantity
    for run in runs:
        with read_columns(run.path, DIAGNOSTICS) as pieces:
            for piece in pieces:
                steps, values = whole_numbers(piece["step"], LARGEST_STEP), map(float, piece["value"])
                for quantity, step, value in zip(piece["quantity"], steps, values, strict=True):
                    columns = points.setdefault(quantity, (array("q"), array("d")))
                    columns[0].append(step)
                    columns[1].append(value)
                if len(points) > MOST_QUANTITIES or any(len(quantity) > LONGEST_NAME for quantity in points):
                    raise TooLarge(
                        f"it has more than {MOST_QUANTITIES} quantities, or a name beyond {LONGEST_NAME} letters"
                    )
    return {quantity: _over_seeds(*map(np.array, columns)) for quantity, columns in points.items()}


def confusion(runs: Sequence[Run]) -> tuple[int, np.ndarray] | None:
    """Return the newest step of confusion.csv and its (member, guess) shares, means over seeds. None where there are
    none, or too many members to be shown."""
    newest, numbers = -1, set[int]()  # the step, and its members
    shares: dict[tuple[int, int], array[float]] = {}  # of that step, if they may be shown
    for run in runs:
        with read_columns(run.path, CONFUSION) as pieces:
            for piece in pieces:
                steps = whole_numbers(piece["step"], LARGEST_STEP)
                members, guesses = (whole_numbers(piece[name], MOST_MEMBERS) for name in ("member", "guess"))
                if max(steps) > newest:
                    newest, numbers, shares = max(steps), set(), {}
                pairs = zip(members, guesses, strict=True)
                for step, pair, share in zip(steps, pairs, map(float, piece["share"]), strict=True):
                    if step == newest:
                        numbers.update(pair)
                        if max(pair) < LARGEST_MATRIX:
                            shares.setdefault(pair, array("d")).append(share)
    if not numbers or numbers != set(range(len(numbers))) or len(numbers) > LARGEST_MATRIX:
        return None
    table = np.full((len(numbers), len(numbers)), np.nan)
    for pair, values in shares.items():
        table[pair] = mean(np.array(values))
    return newest, table


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
