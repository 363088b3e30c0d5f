"""Whose weights act in which lane, from one hand-over of weights to the next."""

import numpy as np

from ..snapshot import filled


class Slots:
    """Weights come in two slots: of the member that acts now, and of the one that acts from the next end of an episode
    on. So an episode may end without waiting for the learner.

    Weights are asked for a chunk before they are used, when nobody knows whether the lane will have changed to its last
    slot by then. So the same two members are asked for again, until it has; only then a new one is drawn for the last
    slot. If further episodes end meanwhile, the member that acts keeps acting. Who acts thus depends on steps and
    episodes alone, not on how fast the learner is, and a compiled chunk needs no more than two slots.
    """

    def __init__(self, episodes: np.ndarray):
        """`episodes` are those that each lane has finished."""
        self.restart(episodes)

    def restart(self, episodes: np.ndarray) -> None:
        """Let the running episodes be acted by the members that were drawn for them."""
        self.numbers = np.stack([episodes, episodes + 1])  # (slot, lane): the episodes whose members are in use
        self.spent = np.zeros(len(episodes), bool)  # lanes that act with the last slot
        self._asked = self.numbers
        self.locked = self.spent  # lanes that acted with the last slot when weights were asked for
        self.since = episodes.copy()  # as it was then

    def ask(self, episodes: np.ndarray) -> np.ndarray:
        """Return the episodes whose members' weights are needed next, (slot, lane)."""
        acting = np.where(self.spent, self.numbers[1], self.numbers[0])
        after = np.where(self.spent, episodes + 1, self.numbers[1])
        self._asked, self.locked, self.since = np.stack([acting, after]), self.spent.copy(), episodes.copy()
        return self._asked

    def renew(self, episodes: np.ndarray) -> np.ndarray:
        """Use what was asked for. Return the lanes that act with the last slot: their episode has ended meanwhile, and
        they changed to its member then."""
        self.numbers, self.spent = self._asked, (episodes > self.since) & ~self.locked
        return self.spent

    def arrays(self) -> dict[str, np.ndarray]:
        """Return what a snapshot keeps, when all that was asked for has come."""
        return {"numbers": self.numbers, "spent": self.spent}

    def restore(self, arrays: dict[str, np.ndarray], episodes: np.ndarray) -> None:
        saved = filled(self.arrays(), arrays)
        self.restart(episodes)
        self.numbers, self.spent = saved["numbers"], saved["spent"].copy()
        self._asked = self.numbers
