"""How far every job is, by the ledger and the markers; without a ledger, by the folders that are there."""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TypeVar

from ..disk import lock
from ..disk.jobs import CHECKPOINTS, DONE, FAILED, RUNNING, SET_ASIDE, JobState, is_name, ledger, state_of
from ..errors import UserError
from .place import Folder, Place

A = TypeVar("A")
B = TypeVar("B")

ASKED_AT_ONCE = 16  # where every file is a request to a server
DEEPEST = 4  # folders inside each other in which jobs are looked for
INNER = (SET_ASIDE, CHECKPOINTS, "agent", "agent-best", "files")  # folders that hold no jobs
FILES = (".csv", ".json", ".toml", ".png", ".gz", ".part", ".db", ".html", ".pdf", ".md", ".npz", ".safetensors")


def each(place: Place, of: Callable[[A], B], items: Sequence[A]) -> list[B]:
    """Return what is asked of a place about each item, in order."""
    if isinstance(place, Folder):
        return list(map(of, items))
    with ThreadPoolExecutor(ASKED_AT_ONCE) as pool:
        return list(pool.map(of, items))


def states(place: Place) -> list[JobState]:
    """Return all jobs, in the order in which they were planned. Where there is no ledger: folders with markers, then
    runs without any."""
    jobs = ledger(place)
    if jobs is not None:
        return each(place, lambda job: state_of(place, job["name"], job["settings"]), jobs)
    marked = list(_marked(place, "", DEEPEST))
    found = each(place, lambda name: state_of(place, name), marked)
    return found + (_runs(place.root, marked) if isinstance(place, Folder) else [])


def _marked(place: Place, folder: str, deep: int) -> Iterator[str]:
    """Yield the folders that have a marker."""
    names = place.names(folder)
    if folder and {RUNNING, DONE, FAILED} & set(names):
        yield folder
    elif deep:
        for name in names:
            if name not in INNER and is_name(name) and Path(name).suffix not in FILES:
                yield from _marked(place, f"{folder}/{name}".lstrip("/"), deep - 1)


def _runs(root: Path, but: Sequence[str]) -> list[JobState]:
    """Return the runs below a folder that belong to none of these jobs."""
    from ..report import runs

    try:
        paths = runs.find([root], links=False)
    except UserError:  # there is none
        return []
    inside = [root / name for name in (*but, SET_ASIDE)]
    return [_run(root, path) for path in paths if not any(path.is_relative_to(folder) for folder in inside)]


def _run(root: Path, path: Path) -> JobState:
    """Return how far a run is that nobody marked: one that `teen train` or `teen paper` began."""
    from ..report import runs

    name = str(path.relative_to(root))
    try:
        run = runs.read(path)
    except UserError as error:
        return JobState(name, "failed", error=str(error))
    step, steps = int(run.steps[-1]) if run.steps.size else 0, run.settings.get("steps")
    planned = steps if isinstance(steps, int) else None
    if any(map(lock.holder, (path, path.parent))):
        return JobState(name, "running", step, planned)
    over = planned is not None and step >= planned
    return JobState(name, "done" if over else "stopped" if step else "waiting", step, planned)
