"""Tables of numbers on the terminal."""

from collections.abc import Sequence

import numpy as np
from rich.table import Table

from ..engine.evaluate import HEADLINE, Episode
from ..report import terminal

NONE = "–"  # in place of the standard deviation of a single value


def show(table: Table) -> None:
    """Print a table, whatever texts are in it."""
    terminal.show(table)


@np.errstate(over="ignore", invalid="ignore")  # returns may be as large as they like
def std(values: Sequence[float], digits: str) -> str:
    """Return the sample standard deviation (n - 1)."""
    return format(np.std(values, ddof=1), digits) if len(values) > 1 else NONE


@np.errstate(over="ignore", invalid="ignore")
def mean_and_std(values: Sequence[float]) -> str:
    return f"{np.mean(values):.1f}" + (f" ± {std(values, '.1f')}" if len(values) > 1 else "")


def show_episodes(title: str, episodes: Sequence[Episode]) -> None:
    """Print the returns and lengths of each seed's policies, and the mean over the seeds."""
    if not episodes:
        return
    table = Table(title=title, title_justify="left")
    for column in ("seed", "policy", "episodes", "return", "length"):
        table.add_column(column, justify="right")
    policies: dict[tuple[int, str], list[Episode]] = {}
    for row in episodes:
        policies.setdefault((row.seed, row.policy), []).append(row)
    for (seed, policy), rows in policies.items():
        length = np.mean([row.length for row in rows])
        scores = mean_and_std([row.score for row in rows])
        table.add_row(str(seed), policy, str(len(rows)), scores, f"{length:.0f}")
    means = [
        float(np.mean([row.score for row in rows])) for (_, policy), rows in policies.items() if policy == HEADLINE
    ]
    table.caption = f"over {len(means)} seeds: {mean_and_std(means)}"
    show(table)
