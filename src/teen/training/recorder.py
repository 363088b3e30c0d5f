"""Subscribers of the engine: what it reports goes to the run folders, the display and the curves."""

import math
import time
from collections.abc import Callable, Collection, Sequence
from functools import partial
from typing import Any, Literal

import numpy as np

from ..config.job import Job
from ..disk import circumstances, logs
from ..disk.folder import RunFolder
from ..disk.lock import Lock
from ..engine.evaluate import Episode
from ..engine.log import Log
from ..engine.tally import LENGTH, RETURN
from ..errors import notice
from ..report.runs import evaluations_of
from ..snapshot import Snapshot
from ..spec import Tables
from . import machine
from .callbacks import Callback, Event, Silence
from .progress import Progress
from .timing import Timing

REPLOT_SECONDS = 60


class CurvePlotter:
    """Plots a variant's learning curve, again from time to time as evaluations come in."""

    def __init__(self, folder: RunFolder):
        self.folder = folder
        self.episodes: list[Episode] = []
        self._plotted = time.monotonic()

    def evaluated(self, episodes: list[Episode]) -> None:
        self.episodes += episodes
        if time.monotonic() - self._plotted > REPLOT_SECONDS:
            self.plot()

    def plot(self) -> None:
        from ..report.curve import plot  # imports matplotlib, which takes a second

        evaluations = evaluations_of((e.seed, e.step, e.policy, e.score) for e in self.episodes)
        settings = self.folder.settings
        plot(evaluations, self.folder.path / "curve.png", f"{settings.algo} on {settings.env}")
        self._plotted = time.monotonic()


class Recorder(Log):
    """Sends the engine's reports to the folder of the right variant, and to the display. Before it writes, it checks
    that the folders are still those of this run."""

    def __init__(
        self,
        job: Job,
        folders: list[RunFolder],
        progress: Progress,
        lock: Lock,
        callbacks: Sequence[Callback] = (),
        command: str = machine.PYTHON,
        origin: dict[str, Any] | None = None,
    ):
        """`command` is the line that began the run, `origin` says which agent it begins with."""
        self.seeds, self.folders, self.progress = list(job.settings.seeds), folders, progress
        self.variants, self.callbacks = [variant.name for variant in job.variants], callbacks
        self._untold: list[int] = []  # steps of evaluations that no callback has been told of yet
        self._enough = False
        self.plan, self.lock, self.command = job.settings.plan, lock, command
        self.origin = origin
        self.step, self.timing = 0, Timing()
        self.curves = [CurvePlotter(folder) for folder in folders]
        self.last: list[list[Episode]] = [[] for _ in folders]  # evaluation of each variant
        self.missing: set[int] = set()  # lanes in quarantine
        self.silenced: dict[int, int] = {}  # lanes of which nobody wants to hear any more: the step from which on

    def stepped(self, step: int) -> None:
        self.step = step
        self.progress.stepped(step)
        if step < self.plan.steps and (step % self.plan.log_every == 0 or step % self.plan.eval_every == 0):
            self._mark()

    def ended(self, step: int) -> None:
        self._mark()

    def trained(self, step: int, metrics: dict[str, np.ndarray]) -> None:
        self.lock.check()
        for variant, folder in enumerate(self.folders):
            folder.log_training(step, [(self._seed(i), _cells(metrics, i)) for i in self._lanes(variant, step - 1)])
        lanes = [lane for variant in range(len(self.folders)) for lane in self._lanes(variant, step - 1)]
        self.progress.trained({name: values[lanes] for name, values in metrics.items()})
        self._tell("log", step, partial(self._training, step, metrics, lanes), step)

    def evaluated(self, step: int, episodes: list[list[Episode]]) -> None:
        self.lock.check()
        for variant, folder in enumerate(self.folders):
            rows = [episode for lane in self._lanes(variant, step) for episode in episodes[lane]]
            if variant * len(self.seeds) not in self.silenced:  # of which the last that was heard counts
                self.last[variant] = rows
            folder.log_evaluation(rows)
            self.curves[variant].evaluated(rows)
        self.progress.evaluated(step, episodes)
        self._untold.append(step)

    def settled(self, step: int) -> None:
        while self._untold and self._untold[0] < step:
            told = self._untold.pop(0)
            self._tell("evaluation", told, partial(self._evaluation, told), step)

    def may_end(self) -> bool:
        left = set(range(len(self.variants) * len(self.seeds))) - self.missing - self.silenced.keys()
        return self._enough or (bool(self.silenced) and not left)

    def silent(self) -> Collection[int]:
        return self.silenced.keys()

    def diagnosed(self, step: int, lanes: list[Tables]) -> None:
        self.lock.check()
        for variant, folder in enumerate(self.folders):
            logs.write_diagnosis(folder.path, step, [(self._seed(i), lanes[i]) for i in self._lanes(variant, step)])

    def quarantined(self, lane: int, step: int, quantity: str) -> None:
        self.lock.check()
        self.missing.add(lane)
        folder, seed = self.folders[lane // len(self.seeds)], self._seed(lane)
        folder.log_quarantine(seed, step, quantity)
        notice(f"by step {step} {quantity} of seed {seed} is not finite: it no longer counts ({folder.path})")

    def restarted(self, lines: list[str]) -> None:
        if lines:
            notice(lines[0] + (f", and {len(lines) - 1} more lanes" if len(lines) > 1 else ""))

    def plot_curves(self) -> None:
        self.lock.check()
        for curve in self.curves:
            curve.plot()

    def snapshot(self) -> Snapshot:
        """Return where each log ends."""
        self.lock.check()
        self._mark()  # where a resume goes on counting seconds
        facts: dict[str, Any] = {"missing": sorted(self.missing), "untold": self._untold}
        facts |= {"silenced": sorted(self.silenced.items())} if self.silenced else {}
        return Snapshot({}, {"logs": [folder.positions() for folder in self.folders], **facts})

    def sync(self) -> None:
        """Wait until the logs are on disk, at least as far as the last snapshot knows them. For another thread."""
        self.lock.check()
        for folder in self.folders:
            folder.sync()

    def begin(self) -> None:
        """Write the first files of a new run."""
        for folder in self.folders:
            folder.begin()
        self._start(0, 0.0)

    def check(self, snapshot: Snapshot) -> None:
        """Compare the logs of all variants with a snapshot. Changes nothing."""
        _lanes_of(snapshot)
        _untold_in(snapshot)
        _silenced_in(snapshot, range(len(self.variants) * len(self.seeds)))
        for folder, positions in zip(self.folders, snapshot.facts["logs"], strict=True):
            folder.check(dict(positions))

    def restore(self, snapshot: Snapshot, step: int) -> None:
        """Take the logs back to a snapshot that has been checked."""
        self.missing = _lanes_of(snapshot)
        self._untold = _untold_in(snapshot)
        self.silenced = _silenced_in(snapshot, range(len(self.variants) * len(self.seeds)))
        for folder, positions in zip(self.folders, snapshot.facts["logs"], strict=True):
            folder.cut(dict(positions), step)
        for variant, curve in enumerate(self.curves):
            curve.episodes = self.folders[variant].episodes()
            self.last[variant] = [e for e in curve.episodes if e.step == curve.episodes[-1].step]
        self._start(step, max(circumstances.cut_timing(folder.path, step) for folder in self.folders))

    def _start(self, step: int, seconds: float) -> None:
        """Write where training goes on from a step, and let its clock go on from these seconds."""
        facts = {**machine.facts(self.command, step), **({"from": self.origin} if self.origin else {})}
        for folder in self.folders:
            circumstances.log_start(folder.path, facts)
        self.step, self.timing = step, Timing(step, seconds)

    def _mark(self) -> None:
        """Write when this step was reached."""
        if mark := self.timing.mark(self.step):
            self.lock.check()
            for folder in self.folders:
                circumstances.log_timing(folder.path, *mark)

    def _tell(
        self, kind: Literal["evaluation", "log"], step: int, rows: Callable[[], list[dict[str, Any]]], now: int
    ) -> None:
        """Tell all callbacks of a step. What they silence is silent from the step `now` on."""
        for callback in self.callbacks:
            answer = callback(Event(kind, step, rows()))
            if isinstance(answer, Silence):
                lanes = [i for i in range(len(self.variants) * len(self.seeds)) if self._variant(i) in answer.variants]
                self.silenced = dict.fromkeys(lanes, now) | self.silenced
            else:
                self._enough |= answer is not None and not answer

    def _training(self, step: int, metrics: dict[str, np.ndarray], lanes: list[int]) -> list[dict[str, Any]]:
        """Return the rows of train.csv of a step; NaN where the file has an empty cell."""
        return [
            {"variant": self._variant(i), "seed": self._seed(i), "step": step}
            | {name: float(values[i]) for name, values in metrics.items()}
            for i in lanes
        ]

    def _evaluation(self, step: int) -> list[dict[str, Any]]:
        """Return the rows of eval.csv of an evaluation."""
        return [
            {"variant": name, **dict(zip(logs.COLUMNS[logs.EVAL], episode, strict=True))}
            for name, curve in zip(self.variants, self.curves, strict=True)
            for episode in curve.episodes
            if episode.step == step
        ]

    def _lanes(self, variant: int, step: int) -> list[int]:
        """Return the lanes of a variant that are not in quarantine, and not silent at this step. Lanes are ordered by
        variant, then seed."""
        first = variant * len(self.seeds)
        heard = [i for i in range(first, first + len(self.seeds)) if step < self.silenced.get(i, math.inf)]
        return [lane for lane in heard if lane not in self.missing]

    def _variant(self, lane: int) -> str:
        return self.variants[lane // len(self.seeds)]

    def _seed(self, lane: int) -> int:
        return self.seeds[lane % len(self.seeds)]


def _cells(metrics: dict[str, np.ndarray], lane: int) -> dict[str, float | None]:
    """Return a lane's metrics. Where no episode has ended there is none: the cell stays empty."""
    cells = {name: float(values[lane]) for name, values in metrics.items()}
    return {name: None if name in (RETURN, LENGTH) and math.isnan(value) else value for name, value in cells.items()}


def _untold_in(snapshot: Snapshot) -> list[int]:
    """Return the steps of evaluations that no callback has been told of; checkpoints without callbacks have none."""
    return [int(step) for step in snapshot.facts.get("untold", [])]


def _lanes_of(snapshot: Snapshot) -> set[int]:
    """Return the lanes in quarantine."""
    return {int(lane) for lane in snapshot.facts["missing"]}


def _silenced_in(snapshot: Snapshot, lanes: range) -> dict[int, int]:
    """Return the lanes that are silent, and since when; checkpoints in which all are heard do not say so."""
    found = {int(lane): int(step) for lane, step in snapshot.facts.get("silenced", [])}
    if not found.keys() <= set(lanes):
        raise ValueError(f"there are no lanes {sorted(found)}")
    return found
