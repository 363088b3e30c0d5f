"""Where training reports to, and what keeps its checkpoints."""

from collections.abc import Callable, Collection
from typing import Protocol

import numpy as np

from ..snapshot import Blocks, Snapshot
from ..spec import Tables
from .evaluate import Episode


class Log:
    """What the engine tells as it goes. This log does nothing; others override what is of interest to them."""

    def stepped(self, step: int) -> None: ...
    def trained(self, step: int, metrics: dict[str, np.ndarray]) -> None: ...  # with the means of `Tally.take`
    def evaluated(self, step: int, episodes: list[list[Episode]]) -> None: ...
    def settled(self, step: int) -> None:
        """All evaluations before this step have been told."""

    def may_end(self) -> bool:
        """Return whether training may end, because what was told is all that somebody wanted."""
        return False

    def silent(self) -> Collection[int]:
        """Return the lanes of which nobody wants to hear any more. They are trained on, but no longer evaluated."""
        return ()

    def diagnosed(self, step: int, lanes: list[Tables]) -> None: ...
    def quarantined(self, lane: int, step: int, quantity: str) -> None: ...
    def restarted(self, lines: list[str]) -> None: ...
    def ended(self, step: int) -> None: ...  # as planned, or because somebody asked to stop


class Several(Log):
    """Tells several logs the same, one after the other. Training may end if one of them says so."""

    def __init__(self, *logs: Log):
        self.logs = logs

    def stepped(self, step: int) -> None:
        for log in self.logs:
            log.stepped(step)

    def trained(self, step: int, metrics: dict[str, np.ndarray]) -> None:
        for log in self.logs:
            log.trained(step, metrics)

    def evaluated(self, step: int, episodes: list[list[Episode]]) -> None:
        for log in self.logs:
            log.evaluated(step, episodes)

    def settled(self, step: int) -> None:
        for log in self.logs:
            log.settled(step)

    def may_end(self) -> bool:
        return any(log.may_end() for log in self.logs)

    def silent(self) -> Collection[int]:
        return {lane for log in self.logs for lane in log.silent()}

    def diagnosed(self, step: int, lanes: list[Tables]) -> None:
        for log in self.logs:
            log.diagnosed(step, lanes)

    def quarantined(self, lane: int, step: int, quantity: str) -> None:
        for log in self.logs:
            log.quarantined(lane, step, quantity)

    def restarted(self, lines: list[str]) -> None:
        for log in self.logs:
            log.restarted(lines)

    def ended(self, step: int) -> None:
        for log in self.logs:
            log.ended(step)


class Keep(Protocol):
    """Keeps checkpoints. It may write them while training goes on."""

    def __call__(self, step: int, snapshot: Snapshot, rows: Callable[[int, int], Blocks]) -> None:
        """Take all but the replay, and what yields the replay's rows between two steps. Both may be views of what
        training changes as soon as this returns."""
        ...

    def written(self) -> int | None:
        """Wait until nothing is left to write, and return the step of the newest checkpoint on disk."""
        ...
