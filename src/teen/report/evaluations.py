"""Tables of evaluations: from episodes in any order to (seed, evaluation) arrays."""

from array import array
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from ..disk.logs import MOST_MEMBERS, TooLarge, bounded

HEADLINE = "mean"  # the policy of the learning curve
LARGEST_RETURN = 1e100  # beyond it, sums and squares soon overflow

# Ten seeds of a million steps have 2,000 evaluations, and with ten members 20,000 returns of theirs.
MOST_SEEDS = 10_000  # as many as one may train
MOST_EVALUATIONS = 100_000  # steps at which a run was evaluated
MOST_CELLS = 4_000_000  # seeds times evaluations, or times members at each evaluation


Piece = tuple[Iterable[int], Iterable[int], Sequence[str], Iterable[float]]  # episodes: seeds, steps, policies, returns


class Evaluations(NamedTuple):
    """The content of eval.csv."""

    seeds: list[int]
    steps: np.ndarray  # (evaluation,)
    returns: np.ndarray  # (seed, evaluation): mean over episodes; NaN where a seed has none, or one is not finite
    episodes: np.ndarray  # (seed, evaluation) how many
    members: dict[int, np.ndarray]  # step: (seed, member) returns, NaN where missing


class Episodes(NamedTuple):
    """The rows of eval.csv, as columns."""

    seeds: np.ndarray
    steps: np.ndarray
    members: np.ndarray  # -1: the policy of the learning curve
    scores: np.ndarray


def as_columns(pieces: Iterable[Piece]) -> Episodes:
    """Return episodes as columns, which take a tenth of the memory. A policy is HEADLINE or the number of a member;
    another one is a ValueError. A return that is not finite, or absurdly large, counts as missing."""
    seeds, steps, members, scores = array("q"), array("q"), array("q"), array("d")
    for piece in pieces:
        numbers = {policy: -1 if policy == HEADLINE else bounded(policy, MOST_MEMBERS) for policy in set(piece[2])}
        seeds.extend(piece[0])
        steps.extend(piece[1])
        members.extend(map(numbers.__getitem__, piece[2]))
        scores.extend(piece[3])
    table = Episodes(*map(np.array, (seeds, steps, members, scores)))
    return table._replace(scores=np.where(np.abs(table.scores) <= LARGEST_RETURN, table.scores, np.nan))


def check_size(episodes: Episodes) -> None:
    """Refuse episodes whose tables would be too large."""
    headline = episodes.members < 0
    steps, places = np.unique(episodes.steps, return_inverse=True)
    seeds, evaluated = (len(np.unique(column[headline])) for column in episodes[:2])
    members = np.zeros(len(steps), int)
    np.maximum.at(members, places, episodes.members + 1)
    for count, most, what in (
        (seeds, MOST_SEEDS, "seeds"),
        (len(steps), MOST_EVALUATIONS, "evaluations"),
        (seeds * evaluated, MOST_CELLS, "seeds times evaluations"),
        (seeds * int(members.sum()), MOST_CELLS, "returns of members"),
    ):
        if count > most:
            raise TooLarge(f"it has {count:,} {what}, and at most {most:,} are read")


def tabulated(episodes: Episodes) -> Evaluations:
    """Return the evaluations that consist of these episodes."""
    headline = episodes.members < 0
    seeds, rows = np.unique(episodes.seeds[headline], return_inverse=True)
    steps, columns = np.unique(episodes.steps[headline], return_inverse=True)
    shape = len(seeds), len(steps)
    returns, counts = _means(rows * len(steps) + columns, episodes.scores[headline], len(seeds) * len(steps))
    members = Episodes(*(column[~headline] for column in episodes))
    return Evaluations(seeds.tolist(), steps, returns.reshape(shape), counts.reshape(shape), _by_step(members, seeds))


def _means(cells: np.ndarray, scores: np.ndarray, size: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the mean of the scores in each cell, NaN where there is none, and how many there are."""
    counts = np.bincount(cells, minlength=size)
    first = np.cumsum(counts) - counts
    ordered = scores[np.argsort(cells, kind="stable")]
    means = np.full(size, np.nan)
    for count in set(counts.tolist()) - {0}:
        here = counts == count
        means[here] = ordered[first[here][:, None] + np.arange(count)].mean(1)
    return means, counts


def _by_step(episodes: Episodes, seeds: np.ndarray) -> dict[int, np.ndarray]:
    """Return the (seed, member) returns of each step. Of a member's episodes the last one counts."""
    order = np.argsort(episodes.steps, kind="stable")
    ordered = Episodes(*(column[order] for column in episodes))
    steps, first = np.unique(ordered.steps, return_index=True)
    known, rows = np.isin(ordered.seeds, seeds), np.searchsorted(seeds, ordered.seeds)
    tables = {}
    for step, ends in zip(steps.tolist(), pairwise([*first.tolist(), len(order)]), strict=True):
        here = slice(*ends)
        table = np.full((len(seeds), 1 + int(ordered.members[here].max())), np.nan)
        table[rows[here][known[here]], ordered.members[here][known[here]]] = ordered.scores[here][known[here]]
        tables[step] = table
    return tables
