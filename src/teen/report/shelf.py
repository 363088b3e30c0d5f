"""Runs that have been read. One is read again only when its files have changed, and by one thread at a time; a large
one keeps nobody waiting but those who ask for it."""

import threading
from collections.abc import Container
from pathlib import Path

from ..config.toml import CONFIG
from ..disk.logs import CONFUSION, DIAGNOSTICS, EVAL, TRAIN
from ..errors import UserError
from .runs import Run, read

LOGS = (EVAL, TRAIN, DIAGNOSTICS, CONFUSION)
FILES = (CONFIG, *LOGS, *(f"{name}.gz" for name in LOGS))  # that are read of a run
MOST_NUMBERS = 32_000_000  # of runs that are kept

Stamp = tuple[tuple[str, int, int], ...]  # names, times and sizes of a run's files


def stamp_of(path: Path) -> Stamp:
    """Return what changes when a run does."""
    stamps = []
    for name in FILES:
        try:
            status = (path / name).lstat()
        except OSError:
            continue
        stamps.append((name, status.st_mtime_ns, status.st_size))
    return tuple(stamps)


def most_bytes(stamp: Stamp) -> int:
    """Return how much there may be to read: a compressed file may have a thousand times its size."""
    return sum(1000 * size if name.endswith(".gz") else size for name, _, size in stamp)


class Shelf:
    def __init__(self) -> None:
        self._guard = threading.Lock()  # of what follows; nobody reads files while holding it
        self._locks: dict[Path, threading.Lock] = {}
        self._runs: dict[Path, tuple[Stamp, Run | str]] = {}  # the newest last

    def read(self, path: Path) -> tuple[Stamp, Run | str]:
        """Return a run, or what is wrong with it, and the stamp that its files had."""
        with self._guard:
            lock = self._locks.setdefault(path, threading.Lock())
        with lock:
            stamp = stamp_of(path)
            with self._guard:
                earlier, run = self._runs.get(path, (None, ""))
            if earlier != stamp:
                run = _read(path)
                self._keep(path, stamp, run)
        return stamp, run

    def _keep(self, path: Path, stamp: Stamp, run: Run | str) -> None:
        """Keep a run, and forget the oldest if they are too large together."""
        with self._guard:
            self._runs.pop(path, None)
            self._runs[path] = stamp, run
            numbers = {path: run.numbers for path, (_, run) in self._runs.items() if isinstance(run, Run)}
            excess = sum(numbers.values()) - MOST_NUMBERS
            for oldest in list(numbers)[:-1]:
                if excess > 0:
                    excess -= numbers[oldest]
                    del self._runs[oldest]

    def forget_all_but(self, paths: Container[Path]) -> None:
        with self._guard:
            self._locks = {path: lock for path, lock in self._locks.items() if path in paths}
            self._runs = {path: kept for path, kept in self._runs.items() if path in paths}


def _read(path: Path) -> Run | str:
    try:
        return read(path)
    except UserError as error:
        return str(error)
    except Exception as error:  # files can be damaged in ways that were not thought of
        return f"{path} cannot be read: {type(error).__name__}: {error}"
