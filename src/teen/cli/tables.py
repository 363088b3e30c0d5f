"""Tables of numbers on the terminal."""

from collections.abc import Sequence

import numpy as np
from rich.table import Table

from ..engine.evaluate import HEADLINE, Episode
from ..report import terminal
from ..training.scores import counted, mean_and_std, seed_means


def show(table: Table) -> None:
    """Print a table, whatever texts are in it."""
    terminal.show(table)


def show_episodes(title: str, episodes: Sequence[Episode], members: bool = False) -> None:
    """Print the returns and lengths of each seed's policy, and of its members too where asked for; then the mean over
    the seeds."""
    if not episodes:
        return
    table = Table(title=title, title_justify="left")
    for column in ("seed", *(["policy"] if members else []), "episodes", "return", "length"):
        table.add_column(column, justify="right")
    policies: dict[tuple[int, str], list[Episode]] = {}
    for row in episodes:
        if members or row.policy == HEADLINE:
            policies.setdefault((row.seed, row.policy), []).append(row)
    for (seed, policy), rows in policies.items():
        length = np.mean([row.length for row in rows])
        scores = mean_and_std([row.score for row in rows])
        table.add_row(str(seed), *([policy] if members else []), str(len(rows)), scores, f"{length:.0f}")
    means = seed_means(episodes)
    table.caption = f"mean over {counted(len(means), 'seed')}: {mean_and_std(means)}"
    show(table)
