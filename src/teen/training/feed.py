"""A subscriber of the engine: what it reports goes to the loggers that the user asked for."""

import re
import secrets
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Self

import numpy as np

from ..config.job import Job
from ..disk import files
from ..disk.folder import RunFolder
from ..engine.evaluate import Episode
from ..engine.log import Log
from ..loggers import background
from ..loggers.background import Background
from ..loggers.base import Logger, Run, Variant
from ..loggers.rows import evaluation, rows_of
from ..settings import flat
from .timing import Timing

IDENTITY = "logger-id"  # a file of a run folder


class Feed(Log):
    """Makes rows of the engine's reports, and hands them to loggers, which work in threads. A lane in quarantine has
    no rows. The end of a run waits for the loggers, for a while; an exit at once does not."""

    def __init__(self, job: Job, folders: Sequence[RunFolder], loggers: Mapping[str, Logger]):
        self.job, self.folders, self.loggers = job, folders, loggers
        self._threads: list[Background] = []
        self._missing: set[int] = set()
        self._silent: Callable[[], Collection[int]] = tuple
        self._timing = Timing()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        background.close(self._threads, wait=kind is None or issubclass(kind, Exception))

    def begin(self, step: int, missing: Iterable[int], silent: Callable[[], Collection[int]] = tuple) -> None:
        """Start the loggers, once the run folders are there, at this step, with these lanes in quarantine. `silent`
        says of which lanes nobody wants to hear."""
        self._missing, self._silent, self._timing = set(missing), silent, Timing(step)
        if self.loggers:
            run = self._run(step)
            self._threads = [Background(name, logger, run) for name, logger in self.loggers.items()]

    def trained(self, step: int, metrics: dict[str, np.ndarray]) -> None:
        mark = self._timing.mark(step)
        seeds = {
            lane: {f"train/{name}": float(values[lane]) for name, values in metrics.items()} for lane in self._lanes()
        }
        self._put(step, seeds, {"time/steps_per_second": mark.rate} if mark else {})

    def evaluated(self, step: int, episodes: list[list[Episode]]) -> None:
        self._put(step, {lane: evaluation(episodes[lane]) for lane in self._lanes()}, {})

    def quarantined(self, lane: int, step: int, quantity: str) -> None:
        self._missing.add(lane)

    def _put(self, step: int, lanes: dict[int, dict[str, float]], together: dict[str, float]) -> None:
        """Hand over the values of each lane, and those of all lanes together. Lanes are ordered by variant, then
        seed."""
        rows, seeds = [], self.job.settings.seeds
        for number, variant in enumerate(self.job.variants):
            of_seeds = {seed: lanes[lane] for lane, seed in enumerate(seeds, number * len(seeds)) if lane in lanes}
            rows += rows_of(variant.name, step, of_seeds, together)
        for thread in self._threads if rows else ():
            thread.put(rows)

    def _lanes(self) -> list[int]:
        """Return the lanes that anybody is told of."""
        unheard = self._missing.union(self._silent())
        return [lane for lane in range(len(self.job.lane_seeds)) if self._threads and lane not in unheard]

    def _run(self, step: int) -> Run:
        """Return a run as loggers know it."""
        settings = {**flat(self.job.settings), "seeds": list(self.job.settings.seeds)}
        variants = [
            Variant(variant.name, folder.path, identity(folder.path), {**settings, **flat(variant.config)})
            for variant, folder in zip(self.job.variants, self.folders, strict=True)
        ]
        first = variants[0]
        return Run(first.folder.parent if first.name else first.folder, step, tuple(variants))


def identity(folder: Path) -> str:
    """Return what other people's tools know a run by: drawn at random, and kept in its folder."""
    with suppress(OSError):
        known = files.read(folder, IDENTITY, 100).decode(errors="replace").strip()
        if re.fullmatch("[0-9a-f]{16}", known):
            return known
    drawn = secrets.token_hex(8)
    with suppress(OSError):  # then a resume begins a new run there
        files.write_atomically(folder / IDENTITY, f"{drawn}\n".encode())
    return drawn
