"""From the numbers of each seed to rows: one of each seed, and one with mean and spread over seeds."""

import math
from collections.abc import Mapping, Sequence

from ..engine.evaluate import HEADLINE, Episode, headline_mean
from .base import Row


def rows_of(
    variant: str, step: int, seeds: Mapping[int, Mapping[str, float]], together: Mapping[str, float] | None = None
) -> list[Row]:
    """Return the rows of a variant. NaN stands for a value that there is not: it is left out, and does not count.
    `together` are values that no seed has for itself."""
    known = {seed: {name: x for name, x in values.items() if not math.isnan(x)} for seed, values in seeds.items()}
    each = [Row(variant, seed, step, values) for seed, values in known.items() if values]
    columns: dict[str, list[float]] = {}
    for row in each:
        for name, value in row.values.items():
            columns.setdefault(name, []).append(value)
    summary = dict(together or {})
    for name, numbers in columns.items():
        summary[name] = mean = sum(numbers) / len(numbers)
        if len(numbers) > 1:
            summary[f"{name}_std"] = math.sqrt(sum((x - mean) * (x - mean) for x in numbers) / (len(numbers) - 1))
    return [*each, Row(variant, None, step, summary)] if each else []


def evaluation(episodes: Sequence[Episode]) -> dict[str, float]:
    """Return the means of a seed's evaluation: of the evaluated policy, and of all members if they have played too."""
    lengths = [e.length for e in episodes if e.policy == HEADLINE]
    members = [e.score for e in episodes if e.policy != HEADLINE]
    if not lengths:  # it was not evaluated
        return {}
    values = {"eval/return": headline_mean(episodes), "eval/length": sum(lengths) / len(lengths)}
    return {**values, "eval/members_return": sum(members) / len(members)} if members else values
