"""Theorem 1 and Lemma 3 of the paper in numbers, and what its target does to errors that are not independent.

`python -m teen.paper.theorems` prints the tables of docs/theory.md. Errors have mean 0 and variance 1 throughout.
Integrals are computed, not sampled.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from scipy.integrate import quad
from scipy.special import ndtri

Quantile = Callable[[float], float]  # u in (0, 1) -> x(u), the inverse of the distribution function


def gaussian(u: float) -> float:
    return float(ndtri(u))


def uniform(u: float) -> float:
    return math.sqrt(3) * (2 * u - 1)


def exponential(u: float) -> float:
    return -math.log1p(-u) - 1


def extremal(n: int) -> Quantile:
    """Return the distribution whose expected minimum of n equals the bound: Cauchy–Schwarz holds with equality."""
    return lambda u: (1 - n * (1 - u) ** (n - 1)) * math.sqrt(2 * n - 1) / (n - 1)


ERRORS: dict[str, Quantile] = {
    "uniform": uniform,
    "Gaussian": gaussian,
    "Laplace": lambda u: math.copysign(math.log(1 - abs(2 * u - 1)) / math.sqrt(2), u - 0.5),
    "exponential": exponential,  # skewed upwards
    "exponential, reversed": lambda u: math.log(u) + 1,  # skewed downwards
}


def integral(function: Callable[[float], float]) -> float:
    """Integrate over (0, 1), split in the middle, where a quantile function may have a corner."""
    parts = ((0, 0.01), (0.01, 0.5), (0.5, 0.99), (0.99, 1))
    return float(sum(quad(function, low, high, limit=200, epsabs=1e-10)[0] for low, high in parts))


def minimum_density(n: int, u: float) -> float:
    """Return N (1 − u)^(N−1), the density of the smallest of n at level u, Lemma 3 (ii)."""
    return float(n * (1 - u) ** (n - 1))


def expected_minimum(error: Quantile, n: int, power: int = 1) -> float:
    """Return E[X_{1:N}], or that of its power, by the integral of Lemma 3 (iii)."""
    return integral(lambda u: error(u) ** power * minimum_density(n, u))


def bound(n: int) -> float:
    """Return −(N − 1) / √(2N − 1), the lower bound of every expected minimum, Theorem 1 (i)."""
    return -(n - 1) / math.sqrt(2 * n - 1)


class Minimum(NamedTuple):
    errors: str
    n: int
    expected: float
    bound: float


def minimum_rows(ns: Sequence[int] = (2, 3, 5, 10)) -> list[Minimum]:
    """Return expected minima and their bounds, Theorem 1 (i)."""
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
    """Return the variance of the mean of n errors: 1/N where they are independent, Theorem 1 (ii), and never less than
    their correlation."""
    return (1 + (n - 1) * correlation) / n


class Mean(NamedTuple):
    correlation: float
    n: int
    variance: float


def mean_rows() -> list[Mean]:
    return [Mean(correlation, n, mean_variance(n, correlation)) for correlation in (0, 0.5, 0.9) for n in (2, 5, 10)]


class Target(NamedTuple):
    """Minimum over M critics of the mean over N actions, of Gaussian errors of variance 1."""

    common: float  # correlation of two critics' errors, whatever the actions
    offset: float  # what a critic's errors on two actions share beyond that
    m: int
    n: int
    bias: float
    std: float


def target(m: int, n: int, common: float = 0.0, offset: float = 0.0) -> Target:
    """Return bias and deviation for errors e_ij = √common · G + √offset · C_i + √rest · E_ij of critic i on action j.
    The mean over j leaves √common · G + √(offset + rest/N) · (a normal number of critic i), and the minimum acts only
    on the second term."""
    apart = offset + (1 - common - offset) / n  # variance that critics do not share
    lowest = expected_minimum(gaussian, m)
    variance = expected_minimum(gaussian, m, 2) - lowest**2
    return Target(common, offset, m, n, lowest * math.sqrt(apart), math.sqrt(common + variance * apart))


def target_rows() -> list[Target]:
    pairs = (0, 0), (0.9, 0), (0, 0.9), (0.5, 0.45)  # common and offset
    return [target(m, n, *pair) for pair in pairs for m in (1, 2, 5) for n in (1, 10)]


def tables() -> dict[str, Sequence[Any]]:
    """Return the rows of each table, named tuples, by what it is about."""
    return {"minimum": minimum_rows(), "square": square_rows(), "mean": mean_rows(), "target": target_rows()}


def texts(row: NamedTuple) -> list[str]:
    """Return the cells of a row with four digits."""
    return [cell if isinstance(cell, str) else f"{round(cell, 9) + 0:.4g}" for cell in row]  # + 0: no minus zero


def main() -> None:
    """Print the tables in Markdown."""
    for rows in tables().values():
        for line in (rows[0]._fields, ["---"] * len(rows[0]), *map(texts, rows)):
            print("| " + " | ".join(line) + " |")
        print()


if __name__ == "__main__":
    main()
