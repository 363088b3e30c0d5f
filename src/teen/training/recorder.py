"""Where a run's reports go: logs, display and checkpoints."""

import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from ..config import job as config
from ..config.job import Job
from ..disk import diagnostics
from ..disk import folder as rundir
from ..disk.checkpoint import Checkpoints
from ..disk.diagnostics import Tables
from ..engine.evaluate import Episode
from ..errors import printable
from ..snapshot import Blocks, Record, joined
from .progress import Progress


class Recorder:
    """Sends what the engine reports to the right variant's folder, and to the display."""

    def __init__(self, job: Job, folders: list[rundir.RunDir], progress: Progress):
        self.seeds, self.folders, self.progress = list(job.run.seeds), folders, progress
        self.last: list[list[Episode]] = [[] for _ in folders]
        self.missing: set[int] = set()  # lanes that no longer count

    def stepped(self, step: int) -> None:
        self.progress.stepped(step)

    def trained(self, step: int, metrics: dict[str, np.ndarray]) -> None:
        for i, folder in enumerate(self.folders):
            own = [(self._seed(lane), {name: float(m[lane]) for name, m in metrics.items()}) for lane in self._own(i)]
            folder.log_training(step, own)
        left = [lane for lane in range(self.lanes) if lane not in self.missing]
        self.progress.trained({name: m[left] for name, m in metrics.items()})

    def evaluated(self, step: int, episodes: list[list[Episode]]) -> None:
        for i, folder in enumerate(self.folders):
            self.last[i] = [episode for lane in self._own(i) for episode in episodes[lane]]
            folder.log_evaluation(self.last[i])
        self.progress.evaluated(step, episodes)

    def diagnosed(self, step: int, lanes: list[Tables]) -> None:
        for i, folder in enumerate(self.folders):
            diagnostics.write(folder.path, step, [(self._seed(lane), lanes[lane]) for lane in self._own(i)])

    def quarantined(self, lane: int, step: int, quantity: str) -> None:
        self.missing.add(lane)
        folder, seed = self.folders[lane // len(self.seeds)], self._seed(lane)
        folder.log_quarantine(seed, step, quantity)
        notice(f"by step {step} {quantity} of seed {seed} is not finite: it no longer counts ({folder.path})")

    def begun_again(self, lines: list[str]) -> None:
        for line in lines[:1]:
            others = f", and {len(lines) - 1} more lanes" if len(lines) > 1 else ""
            notice(f"{line}{others}")

    def record(self) -> Record:
        """Where each log ends."""
        return Record({}, {"logs": [folder.positions() for folder in self.folders], "missing": sorted(self.missing)})

    def recall(self, record: Record, step: int) -> None:
        logs = record.facts["logs"]
        for folder, positions in zip(self.folders, logs, strict=True):
            folder.go_on(dict(positions), step)
        self.last = [folder.last_evaluation() for folder in self.folders]
        self.missing = {int(lane) for lane in record.facts["missing"]}

    @property
    def lanes(self) -> int:
        return len(self.folders) * len(self.seeds)

    def _own(self, variant: int) -> list[int]:
        """The lanes of a variant that count. Lanes are ordered by variant, then seed."""
        first = variant * len(self.seeds)
        return [lane for lane in range(first, first + len(self.seeds)) if lane not in self.missing]

    def _seed(self, lane: int) -> int:
        return self.seeds[lane % len(self.seeds)]


def notice(line: str) -> None:
    print(f"notice: {printable(line)}", file=sys.stderr, flush=True)


class Keeper:
    """Writes checkpoints. One that cannot be written is no reason to stop: the one before is still there."""

    def __init__(self, checkpoints: Checkpoints, recorder: Recorder, settings: dict[str, Any]):
        self.checkpoints, self.recorder, self.settings = checkpoints, recorder, settings
        self.failure = ""  # of the newest

    def __call__(self, step: int, record: Record, rows: Callable[[int, int], Blocks]) -> bool:
        facts = Record({}, {"settings": self.settings, "versions": config.versions()})
        try:
            whole = joined({"engine": record, "run": facts, "recorder": self.recorder.record()})
            self.checkpoints.save(step, whole, rows)
            self.failure = ""
        except OSError as error:
            self.failure = f"the checkpoint of step {step} could not be written: {error.strerror}; {self.kept()}"
            notice(self.failure)
        return not self.failure

    def kept(self) -> str:
        newest = self.checkpoints.newest
        if newest is None:
            return "there is no checkpoint yet"
        go_on = f"teen train --resume {self.checkpoints.folder.parent}"
        return f"the checkpoint of step {newest} is whole: {go_on} goes on from it"
