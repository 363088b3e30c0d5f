"""The training episodes of each lane: their returns and lengths, added up from one row of train.csv to the next."""

import numpy as np

from ..snapshot import Snapshot, filled
from .replay import Layout

RETURN, LENGTH = "episode_return", "episode_length"  # columns of train.csv
TOGETHER = 100  # chunks that are added up at once: one by one, each would take as long as some steps


class Tally:
    """Adds up what the collector hands over. Sums go from step to step and from episode to episode: they do not depend
    on how steps fall into chunks."""

    def __init__(self, layout: Layout, lanes: int):
        self._columns = [layout.ended, layout.own_reward]
        self._lanes = np.arange(lanes)
        self._chunks: list[np.ndarray] = []  # (step, lane, column), yet to be added up
        # Each is (lane,). A running episode whose beginning is not known has a return of NaN, and will not count.
        self._running = {RETURN: np.zeros(lanes), LENGTH: np.zeros(lanes)}
        self._sums = {RETURN: np.zeros(lanes), LENGTH: np.zeros(lanes)}  # of those that ended
        self._count = np.zeros(lanes, np.int64)  # of those that ended
        self._episodes = np.zeros(lanes, np.int64)  # that ended since the run began, as the collector counts them

    def add(self, packed: np.ndarray) -> None:
        """Take a chunk of transitions: (step, lane, layout.packed)."""
        self._chunks.append(packed[:, :, self._columns])
        if len(self._chunks) == TOGETHER:
            self._add_up()

    def _add_up(self) -> None:
        if not self._chunks:
            return
        rows, self._chunks = np.concatenate(self._chunks), []
        ended, own_reward = rows[:, :, 0] != 0, rows[:, :, 1]
        ends = ended.sum(0)
        slots = int(ends.max()) + 1  # for the episodes of one lane; the running one comes after those that ended
        firsts = self._lanes * slots
        places = (firsts + np.cumsum(ended, 0) - ended).ravel()
        values = {RETURN: own_reward.ravel(), LENGTH: np.ones(ended.size)}
        episodes = {
            name: _summed(firsts, self._running[name], places, values[name], slots * len(ends)).reshape(-1, slots)
            for name in values
        }
        counted = (np.arange(slots) < ends[:, None]) & ~np.isnan(episodes[RETURN])
        lanes = np.nonzero(counted)[0]
        for name, of_lanes in episodes.items():
            self._running[name] = of_lanes[self._lanes, ends]
            self._sums[name] = _summed(self._lanes, self._sums[name], lanes, of_lanes[counted], len(ends))
        self._count += counted.sum(1)
        self._episodes += ends

    def take(self) -> dict[str, np.ndarray]:
        """Return the mean of the episodes that ended since this was called before, (lane,) by name: NaN where none
        did."""
        self._add_up()
        with np.errstate(divide="ignore", invalid="ignore"):
            means = {name: total / self._count for name, total in self._sums.items()}
        self._sums = {name: np.zeros_like(total) for name, total in self._sums.items()}
        self._count = np.zeros_like(self._count)
        return means

    def snapshot(self) -> Snapshot:
        self._add_up()
        return Snapshot(self._arrays(), {})

    def restore(self, snapshot: Snapshot | None, episodes: np.ndarray) -> None:
        """Go on from a snapshot. `episodes` are the collector's: where they differ, an episode had to begin again.
        Older checkpoints have no snapshot: there the episode under way does not count."""
        if snapshot is None:
            self._running[RETURN] = np.full(len(self._lanes), np.nan)
        else:
            saved = filled(self._arrays(), snapshot.arrays)
            again = saved["episodes"] != episodes
            for name in (RETURN, LENGTH):
                self._running[name] = np.where(again, 0.0, saved[f"running.{name}"])
                self._sums[name] = saved[f"sum.{name}"].copy()
            self._count = saved["count"].copy()
        self._episodes = episodes.astype(np.int64)

    def _arrays(self) -> dict[str, np.ndarray]:
        running = {f"running.{name}": values for name, values in self._running.items()}
        sums = {f"sum.{name}": values for name, values in self._sums.items()}
        return {**running, **sums, "count": self._count, "episodes": self._episodes}


def _summed(firsts: np.ndarray, before: np.ndarray, places: np.ndarray, values: np.ndarray, size: int) -> np.ndarray:
    """Return (size,) sums: of what was at the first places before, and of the values at theirs, in this order.
    `bincount` adds one number after another in double precision."""
    return np.bincount(np.concatenate([firsts, places]), np.concatenate([before, values]), size)
