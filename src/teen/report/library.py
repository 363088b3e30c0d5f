"""The runs below one folder, as they are at this moment: the list of them, and what a page shows of some."""

import hashlib
import os
import threading
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from pathlib import Path
from typing import Any, NamedTuple

from ..disk.jobs import LEDGER, JobState, listed, names_in
from ..disk.lock import holder
from ..disk.place import Folder
from ..errors import UserError
from .data import collect, plain
from .metrics import mean
from .page import as_json
from .runs import MOST_TOGETHER, Run, find
from .shelf import Shelf, Stamp, most_bytes, stamp_of

MOST_ANSWERS = 8  # kept for pages that ask again
READERS = 2  # threads that read runs for the list
PATIENCE = 5.0  # seconds that the list waits for them


class RunSummary(NamedTuple):
    """A line of the list of runs."""

    name: str = ""
    changed: float = 0.0  # seconds since 1970
    writing: bool = False
    algo: str = ""
    env: str = ""
    seeds: int = 0
    step: int | None = None
    planned: int | None = None
    score: float | None = None
    error: str = ""


UNREAD = RunSummary(error="it is still being read")


class Answer:
    """What a page shows. The first who asks for it makes it; others wait for it."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.stamps: list[Stamp] | None = None
        self.text, self.tag = "", ""


class Library:
    def __init__(self, root: Path):
        if not os.path.isdir(root):
            raise UserError(f"{root} is not a folder")
        self.root = Path(os.path.realpath(root))
        self._shelf = Shelf()
        self._guard = threading.Lock()  # of what follows; nobody reads files while holding it
        self._summaries: dict[Path, tuple[Stamp, RunSummary]] = {}
        self._pending: dict[Path, Future[None]] = {}  # summaries that are being made
        self._answers: dict[tuple[str, ...], Answer] = {}  # by the runs' names; the newest last
        self._readers = ThreadPoolExecutor(READERS)

    def close(self) -> None:
        """Read no further runs for the list."""
        self._readers.shutdown(wait=False, cancel_futures=True)

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

    def jobs(self) -> list[JobState]:
        """Return the jobs that are listed in this folder, and in those directly inside it."""
        inside = names_in(Folder(self.root), "")
        folders = [self.root, *(p for p in (self.root / name for name in inside) if p.is_dir() and not p.is_symlink())]
        return [
            job._replace(name=str((folder / job.name).relative_to(self.root)))
            for folder in folders
            for job in listed(Folder(folder))
        ]

    def summaries(self) -> list[RunSummary]:
        """Return all runs, newest first. One that takes long to read is shown as it was before, or as unread."""
        folders = self.folders()
        stamps = {path: stamp_of(path) for path in folders.values()}
        self._shelf.forget_all_but(stamps)
        with self._guard:
            self._summaries = {path: kept for path, kept in self._summaries.items() if path in stamps}
            changed = [path for path in stamps if self._summaries.get(path, (None,))[0] != stamps[path]]
            changed.sort(key=lambda path: most_bytes(stamps[path]))  # the small ones first
            for path in changed:
                if path not in self._pending:
                    self._pending[path] = self._readers.submit(self._summarise, path)
            pending = [self._pending[path] for path in changed]
        wait(pending, PATIENCE)
        with self._guard:
            lines = {name: self._summaries.get(path, (None, UNREAD))[1] for name, path in folders.items()}
        shown = [self._as_of_now(line, name, folders[name], stamps[folders[name]]) for name, line in lines.items()]
        return sorted(shown, key=lambda run: run.changed, reverse=True)

    def _summarise(self, path: Path) -> None:
        try:
            stamp, run = self._shelf.read(path)
            summary = stamp, _summary(run)
        finally:
            with self._guard:
                del self._pending[path]
        with self._guard:
            self._summaries[path] = summary

    def _as_of_now(self, summary: RunSummary, name: str, path: Path, stamp: Stamp) -> RunSummary:
        alone = path == self.root or (path.parent / LEDGER).is_file()  # a job has a lock of its own
        places = (path,) if alone else (path, path.parent)  # variants are locked as a whole
        changed = max((time for _, time, _ in stamp), default=0) / 1e9
        return summary._replace(name=name, changed=changed, writing=any(map(holder, places)))

    def data(self, names: Sequence[str]) -> tuple[str, str]:
        """Return what the page shows of these runs as JSON, and a tag that changes with it. KeyError: there is no such
        run."""
        key = tuple(dict.fromkeys(names))
        folders = self.folders()
        paths = [folders[name] for name in key]
        with self._guard:
            answer = self._answers[key] = self._answers.pop(key, Answer())
            for oldest in list(self._answers)[:-MOST_ANSWERS]:
                del self._answers[oldest]
        with answer.lock:
            stamps = [stamp_of(path) for path in paths]
            if answer.stamps != stamps:
                answer.text = as_json(self._collected(paths))
                answer.tag = f'"{hashlib.sha256(answer.text.encode()).hexdigest()[:32]}"'
                answer.stamps = stamps
            return answer.text, answer.tag

    def _collected(self, paths: Sequence[Path]) -> dict[str, Any]:
        try:
            return collect(self._read(paths))
        except UserError as error:
            return {"error": str(error)}
        except Exception as error:  # files can be damaged in ways that were not thought of
            return {"error": f"these runs cannot be shown: {type(error).__name__}: {error}"}

    def _read(self, paths: Sequence[Path]) -> list[Run]:
        runs: list[Run] = []
        for path in paths:
            _, run = self._shelf.read(path)
            if isinstance(run, str):
                raise UserError(run)
            runs.append(run)
            if sum(run.numbers for run in runs) > MOST_TOGETHER:
                raise UserError("these runs are too large to be shown together: choose fewer of them")
        return runs


def _summary(run: Run | str) -> RunSummary:
    if isinstance(run, str):
        return RunSummary(error=run)
    step, score = (int(run.steps[-1]), plain(mean(run.returns[:, -1]))) if run.steps.size else (None, None)
    planned = run.settings.get("steps")
    return RunSummary(
        algo=run.algo,
        env=run.env,
        seeds=len(run.seeds),
        step=step,
        planned=planned if isinstance(planned, int) else None,
        score=score,
    )
