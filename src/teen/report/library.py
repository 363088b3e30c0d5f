"""The runs below one folder, as they are at this moment: read again only when their files have changed."""

import hashlib
import json
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from ..disk.lock import holder
from ..errors import UserError
from . import runs as reading
from .data import collect, plain
from .metrics import mean
from .runs import Run

LOGS = ("eval.csv", "train.csv", "diagnostics.csv", "confusion.csv")
READ = ("config.toml", *LOGS, *(f"{name}.gz" for name in LOGS))
MOST_ANSWERS = 8  # kept for pages that ask again

Stamp = tuple[tuple[str, int, int], ...]  # names, times and sizes of a run's files


class Entry(NamedTuple):
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


class Answer(NamedTuple):
    stamps: tuple[Stamp, ...]
    text: str
    tag: str


class Library:
    def __init__(self, root: Path):
        if not root.is_dir():
            raise UserError(f"{root} is not a folder")
        self.root = root.resolve()
        self._lock = threading.Lock()  # one reader at a time: requests that wait find its work done
        self._runs: dict[Path, tuple[Stamp, Run | str]] = {}  # or what is wrong with one
        self._answers: dict[tuple[str, ...], Answer] = {}

    def folders(self) -> dict[str, Path]:
        """Run folders by name. A name is looked up here and never made into a path."""
        try:
            found = reading.find([self.root], links=False)
        except UserError:  # there is none yet
            return {}
        named = {str(path.relative_to(self.root)): path for path in found}
        if "." in named and self.root.name not in named:
            named[self.root.name] = named.pop(".")
        return named

    def entries(self) -> list[Entry]:
        """Newest first."""
        with self._lock:
            folders = self.folders()
            found = [self._entry(name, path) for name, path in folders.items()]
            self._runs = {path: self._runs[path] for path in folders.values()}  # those that are gone are forgotten
        return sorted(found, key=lambda entry: entry.changed, reverse=True)

    def data(self, names: Sequence[str]) -> tuple[str, str]:
        """What the page shows of these runs as JSON, and a tag that changes with it. KeyError: there is no such run."""
        key = tuple(dict.fromkeys(names))
        with self._lock:
            folders = self.folders()
            paths = [folders[name] for name in key]
            stamps = tuple(map(_stamp, paths))
            answer = self._answers.pop(key, None)
            if answer is None or answer.stamps != stamps:
                text = json.dumps(self._collected(paths), allow_nan=False)
                answer = Answer(stamps, text, f'"{hashlib.sha256(text.encode()).hexdigest()[:32]}"')
            self._answers[key] = answer
            for oldest in list(self._answers)[:-MOST_ANSWERS]:
                del self._answers[oldest]
            return answer.text, answer.tag

    def _collected(self, paths: Sequence[Path]) -> dict[str, Any]:
        try:
            return collect([self._read(path) for path in paths])
        except UserError as error:
            return {"error": str(error)}
        except Exception as error:  # files can be wrong in more ways than anybody thinks of
            return {"error": f"these runs cannot be shown: {type(error).__name__}: {error}"}

    def _read(self, path: Path) -> Run:
        stamp = _stamp(path)
        known = self._runs.get(path)
        if known is None or known[0] != stamp:
            known = self._runs[path] = stamp, self._read_again(path)
        if isinstance(known[1], str):
            raise UserError(known[1])
        return known[1]

    def _read_again(self, path: Path) -> Run | str:
        for name in READ:
            if not (path / name).resolve().is_relative_to(self.root):
                return f"{path / name} leads out of {self.root}"
        if not (path / "config.toml").is_file():
            return f"{path / 'config.toml'} is not a file"
        try:
            return reading.read(path)
        except UserError as error:
            return str(error)
        except Exception as error:
            return f"{path} cannot be read: {type(error).__name__}: {error}"

    def _entry(self, name: str, path: Path) -> Entry:
        changed = max((time for _, time, _ in _stamp(path)), default=0) / 1e9
        places = (path,) if path == self.root else (path, path.parent)  # a sweep is locked as a whole
        writing = any(map(holder, places))
        try:
            run = self._read(path)
        except UserError as error:
            return Entry(name, changed, writing, error=str(error))
        begun = run.steps.size > 0
        planned = run.settings.get("steps")
        return Entry(
            name,
            changed,
            writing,
            run.algo,
            run.env,
            len(run.seeds),
            int(run.steps[-1]) if begun else None,
            planned if isinstance(planned, int) else None,
            plain(mean(run.returns[:, -1])) if begun else None,
        )


def _stamp(path: Path) -> Stamp:
    found = []
    for name in READ:
        try:
            status = (path / name).stat()
        except OSError:
            continue
        found.append((name, status.st_mtime_ns, status.st_size))
    return tuple(found)
