"""Theorem 1 and Lemma 3 of the paper in numbers, and what its target does to errors that are not independent.

`python -m teen.paper.theorems` prints the tables of docs/theory.md. Errors have mean 0 and variance 1 throughout.
Integrals are computed, not sampled.
"""

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

from scipy.integrate import quad
from scipy.special import ndtri

Quantile = Callable[[float], float]  # u in (0, 1) -> x(u), the inverse of the distribution function


def gaussian(u: float) -> float:
    return float(ndtri(u))


def uniform(u: float) -> float:
    return math.sqrt(3) * (2 * u - 1)


def laplace(u: float) -> float:
    return math.copysign(math.log(1 - abs(2 * u - 1)) / math.sqrt(2), u - 0.5)


def exponential(u: float) -> float:
    """Skewed upwards."""
    return -math.log1p(-u) - 1


def reversed_exponential(u: float) -> float:
    """Skewed downwards."""
    return math.log(u) + 1


def extremal(n: int) -> Quantile:
    """The distribution whose expected minimum of n is the bound itself: where Cauchy and Schwarz have equality."""
    return lambda u: (1 - n * (1 - u) ** (n - 1)) * math.sqrt(2 * n - 1) / (n - 1)


ERRORS: dict[str, Quantile] = {
    "uniform": uniform,
    "Gaussian": gaussian,
    "Laplace": laplace,
    "exponential": exponential,
    "exponential, reversed": reversed_exponential,
}


def integral(function: Callable[[float], float]) -> float:
    """Over (0, 1). Cut in the middle, where a quantile function may have a corner."""
    parts = ((0, 0.01), (0.01, 0.5), (0.5, 0.99), (0.99, 1))
    return float(sum(quad(function, low, high, limit=200, epsabs=1e-10)[0] for low, high in parts))


def minimum_density(n: int, u: float) -> float:
    """N (1 − u)^(N−1): how likely the smallest of n lies at level u, Lemma 3 (ii)."""
    return float(n * (1 - u) ** (n - 1))


def expected_minimum(error: Quantile, n: int, power: int = 1) -> float:
    """E[X_{1:N}], or that of its power, by the integral of Lemma 3 (iii)."""
    return integral(lambda u: error(u) ** power * minimum_density(n, u))


def bound(n: int) -> float:
    """−(N − 1) / √(2N − 1): no expected minimum is lower, Theorem 1 (i)."""
    return -(n - 1) / math.sqrt(2 * n - 1)


class Minimum(NamedTuple):
    errors: str
    n: int
    expected: float
    bound: float


def minimum_rows(ns: Sequence[int] = (2, 3, 5, 10)) -> list[Minimum]:
    """Theorem 1 (i)."""
    rows = [Minimum(name, n, expected_minimum(error, n), bound(n)) for name, error in ERRORS.items() for n in ns]
    return rows + [Minimum("extremal for this N", n, expected_minimum(extremal(n), n), bound(n)) for n in ns]


class Square(NamedTuple):
    """The second factor of the Cauchy–Schwarz inequality in the proof of Lemma 3 (iii)."""

    n: int
    integral: float  # of (N (1 − u)^(N−1))²
    closed: float  # N² / (2N − 1)
    centred: float  # the integral of (N (1 − u)^(N−1) − 1)²
    paper: float  # (N − 1)² / (2N − 1), which the paper sets equal to the first


def square_rows(ns: Sequence[int] = (2, 3, 5, 10)) -> list[Square]:
    def row(n: int) -> Square:
        plain = integral(lambda u: minimum_density(n, u) ** 2)
        centred = integral(lambda u: (minimum_density(n, u) - 1) ** 2)
        return Square(n, plain, n**2 / (2 * n - 1), centred, (n - 1) ** 2 / (2 * n - 1))

    return [row(n) for n in ns]


def mean_variance(n: int, correlation: float = 0.0) -> float:
    """Of the mean of n errors: 1/N where they are independent, Theorem 1 (ii), and no less than their correlation."""
    return (1 + (n - 1) * correlation) / n


class Mean(NamedTuple):
    correlation: float
    n: int
    variance: float


def mean_rows(correlations: Sequence[float] = (0, 0.5, 0.9), ns: Sequence[int] = (2, 5, 10)) -> list[Mean]:
    return [Mean(r, n, mean_variance(n, r)) for r in correlations for n in ns]


class Target(NamedTuple):
    """min over M critics of the mean over N actions, of Gaussian errors of variance 1."""

    common: float  # correlation of two critics' errors, whatever the actions
    offset: float  # what a critic's errors on two actions share beyond that
    m: int
    n: int
    bias: float
    std: float


def target(m: int, n: int, common: float = 0.0, offset: float = 0.0) -> Target:
    """Errors e_ij = √common · G + √offset · C_i + √rest · E_ij of critic i on action j. The mean over j leaves
    √common · G + √(offset + rest/N) · (a normal number of critic i's own), and only the latter feels the minimum."""
    own = offset + (1 - common - offset) / n
    lowest = expected_minimum(gaussian, m)
    variance = expected_minimum(gaussian, m, 2) - lowest**2
    return Target(common, offset, m, n, lowest * math.sqrt(own), math.sqrt(common + variance * own))


def target_rows(
    pairs: Sequence[tuple[float, float]] = ((0, 0), (0.9, 0), (0, 0.9), (0.5, 0.45)),
    ms: Sequence[int] = (1, 2, 5),
    ns: Sequence[int] = (1, 10),
) -> list[Target]:
    return [target(m, n, common, offset) for common, offset in pairs for m in ms for n in ns]


def table(rows: Sequence[NamedTuple]) -> str:
    """Markdown."""
    lines = [rows[0]._fields, ["---"] * len(rows[0])]
    lines += [[cell if isinstance(cell, str) else f"{round(cell, 9) + 0:.4g}" for cell in row] for row in rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def main() -> None:
    for rows in (minimum_rows(), square_rows(), mean_rows(), target_rows()):
        print(table(rows), end="\n\n")


if __name__ == "__main__":
    main()
