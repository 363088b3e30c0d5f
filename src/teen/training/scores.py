"""Returns in words: of a seed, and over seeds."""

from collections.abc import Sequence

import numpy as np

from ..engine.evaluate import HEADLINE, Episode, headline_mean

NONE = "–"  # in place of the standard deviation of a single value, and of a return that there is not yet


def seed_means(episodes: Sequence[Episode]) -> list[float]:
    """Return the mean return of each seed's evaluated policy."""
    seeds = dict.fromkeys(e.seed for e in episodes if e.policy == HEADLINE)
    return [headline_mean([e for e in episodes if e.seed == seed]) for seed in seeds]


@np.errstate(over="ignore", invalid="ignore")  # returns may be as large as they like
def std(values: Sequence[float], digits: str) -> str:
    """Return the sample standard deviation (n - 1)."""
    return format(np.std(values, ddof=1), digits) if len(values) > 1 else NONE


@np.errstate(over="ignore", invalid="ignore")
def mean_and_std(values: Sequence[float]) -> str:
    """Return the mean with the deviation, which a single value does not have."""
    if not values:
        return NONE
    return f"{np.mean(values):.1f}" + (f" ± {std(values, '.1f')}" if len(values) > 1 else "")


def counted(number: int, thing: str) -> str:
    return f"{number} {thing}" if number == 1 else f"{number} {thing}s"
