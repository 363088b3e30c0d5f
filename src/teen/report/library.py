"""The runs below one folder, as they are at this moment. A run is read again only when its files have changed."""

import hashlib
import json
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from ..disk.lock import holder
from ..disk.logs import CONFUSION, DIAGNOSTICS, EVAL, TRAIN
from ..errors import UserError
from .data import collect, plain
from .metrics import mean
from .runs import Run, find, read

LOGS = (EVAL, TRAIN, DIAGNOSTICS, CONFUSION)
FILES = ("config.toml", *LOGS, *(f"{name}.gz" for name in LOGS))  # that are read of a run
MOST_ANSWERS = 8  # kept for pages that ask again

Stamp = tuple[tuple[str, int, int], ...]  # names, times and sizes of a run's files


class RunSummary(NamedTuple):
    """A line of the list of runs."""

    name: str
    changed: float  # seconds since 1970
    writing: bool
    algo: str = ""
    env: str = ""
    seeds: int = 0
    step: int | None = None
    planned: int | None = None
    score: float | None = None
    error: str = ""


class Library:
    def __init__(self, root: Path):
        if not root.is_dir():
            raise UserError(f"{root} is not a folder")
        self.root = root.resolve()
        self._lock = threading.Lock()  # one request reads at a time; those that wait then use what it read
        self._runs: dict[Path, tuple[Stamp, Run | str]] = {}  # a run, or what is wrong with it
        self._answers: dict[tuple[str, ...], tuple[list[Stamp], str, str]] = {}  # by names: stamps, text, tag

    def folders(self) -> dict[str, Path]:
        """Return run folders by name. A requested name is looked up here and never made into a path."""
        try:
            paths = find([self.root], links=False)
        except UserError:  # there is none yet
            return {}
        folders = {str(path.relative_to(self.root)): path for path in paths}
        if "." in folders and self.root.name not in folders:
            folders[self.root.name] = folders.pop(".")
        return folders

    def summaries(self) -> list[RunSummary]:
        """Return all runs, newest first."""
        with self._lock:
            folders = self.folders()
            summaries = [self._summary(name, path) for name, path in folders.items()]
            self._runs = {path: self._runs[path] for path in folders.values()}  # forget those that are gone
        return sorted(summaries, key=lambda run: run.changed, reverse=True)

    def data(self, names: Sequence[str]) -> tuple[str, str]:
        """Return what the page shows of these runs as JSON, and a tag that changes with it. KeyError: there is no such
        run."""
        key = tuple(dict.fromkeys(names))
        with self._lock:
            folders = self.folders()
            paths = [folders[name] for name in key]
            stamps = [_stamp(path) for path in paths]
            earlier, text, tag = self._answers.pop(key, (None, "", ""))
            if earlier != stamps:
                text = json.dumps(self._collected(paths), allow_nan=False)
                tag = f'"{hashlib.sha256(text.encode()).hexdigest()[:32]}"'
            self._answers[key] = stamps, text, tag
            for oldest in list(self._answers)[:-MOST_ANSWERS]:
                del self._answers[oldest]
            return text, tag

    def _collected(self, paths: Sequence[Path]) -> dict[str, Any]:
        try:
            return collect([self._read(path) for path in paths])
        except UserError as error:
            return {"error": str(error)}
        except Exception as error:  # files can be damaged in ways that were not thought of
            return {"error": f"these runs cannot be shown: {type(error).__name__}: {error}"}

    def _read(self, path: Path) -> Run:
        stamp = _stamp(path)
        if path not in self._runs or self._runs[path][0] != stamp:
            self._runs[path] = stamp, self._read_again(path)
        run = self._runs[path][1]
        if isinstance(run, str):
            raise UserError(run)
        return run

    def _read_again(self, path: Path) -> Run | str:
        for name in FILES:
            if not (path / name).resolve().is_relative_to(self.root):
                return f"{path / name} leads out of {self.root}"
        if not (path / "config.toml").is_file():
            return f"{path / 'config.toml'} is not a file"
        try:
            return read(path)
        except UserError as error:
            return str(error)
        except Exception as error:
            return f"{path} cannot be read: {type(error).__name__}: {error}"

    def _summary(self, name: str, path: Path) -> RunSummary:
        changed = max((time for _, time, _ in _stamp(path)), default=0) / 1e9
        places = (path,) if path == self.root else (path, path.parent)  # a sweep is locked as a whole
        writing = any(map(holder, places))
        try:
            run = self._read(path)
        except UserError as error:
            return RunSummary(name, changed, writing, error=str(error))
        step, score = (int(run.steps[-1]), plain(mean(run.returns[:, -1]))) if run.steps.size else (None, None)
        planned = run.settings.get("steps")
        planned = planned if isinstance(planned, int) else None
        return RunSummary(name, changed, writing, run.algo, run.env, len(run.seeds), step, planned, score)


def _stamp(path: Path) -> Stamp:
    stamps = []
    for name in FILES:
        try:
            status = (path / name).stat()
        except OSError:
            continue
        stamps.append((name, status.st_mtime_ns, status.st_size))
    return tuple(stamps)
