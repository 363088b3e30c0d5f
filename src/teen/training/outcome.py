"""What a program leaves."""

import signal
from pathlib import Path
from typing import NamedTuple

from ..disk.agent import Agent
from ..engine.evaluate import Episode
from .scores import counted, mean_and_std, seed_means

SHOWN = 3  # variants in its short form


class Outcome(NamedTuple):
    """What a program leaves: one folder and one agent per variant."""

    folders: list[Path]
    agents: list[Agent]
    episodes: list[list[Episode]]  # of the last evaluation, per variant
    step: int
    stopped_by: int | None  # the signal that ended it early

    def __repr__(self) -> str:
        """Return a line without weights and single episodes: a notebook shows it."""
        hidden = len(self.folders) - SHOWN
        more = f" and {hidden} more" if hidden > 0 else ""
        means = [seed_means(rows) for rows in self.episodes[:SHOWN]]
        words = [f"{mean_and_std(row)} over {counted(len(row), 'seed')}" if row else "not known" for row in means]
        parts = [
            f"step={self.step}",
            f"folders={[str(folder) for folder in self.folders[:SHOWN]]}{more}",
            f"mean return {'; '.join(words)}{more}",
            *([] if self.stopped_by is None else [f"stopped by {signal.Signals(self.stopped_by).name}"]),
        ]
        return f"Outcome({', '.join(parts)})"
