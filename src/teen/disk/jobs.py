"""What the files of many jobs say: the ledger lists them, and markers in the folder of each tell how far it is.

    jobs.json            {"format": 1, "jobs": [{"name", "settings", "study"}, …]}
    NAME/running.json    while a process trains, written again every few seconds
    NAME/done.json       written last
    NAME/failed.json     the last lines of its error
    NAME/checkpoint/     of the run, or NAME/state-STEP-ATTEMPT.json where the place of all jobs is a URL

Files may be torn or a stranger's: one that is no JSON object counts as absent. Needs no JAX.
"""

import json
import re
import time
from collections.abc import Iterable, Mapping
from typing import Any, Literal, NamedTuple, Protocol

from ..config.facts import BOOKKEEPING, CHANGEABLE

LEDGER, FORMAT = "jobs.json", 1
RUNNING, DONE, FAILED = "running.json", "done.json", "failed.json"
SILENT = 60.0  # seconds after which a process that writes nothing counts as gone
CHECKPOINTS, SET_ASIDE = "checkpoint", "set-aside"
MOST_ERROR = 8_000  # characters of an error that are shown

State = Literal["waiting", "running", "stopped", "done", "failed"]
STATES: tuple[State, ...] = ("running", "failed", "stopped", "waiting", "done")  # as they are listed


class Reader(Protocol):
    """What is needed of a place to read it."""

    def read(self, path: str) -> bytes | None: ...  # None where there is no such file
    def names(self, path: str) -> list[str]: ...  # of files and folders in a folder; none where there is no such folder


class JobState(NamedTuple):
    """How far a job is."""

    name: str
    state: State
    step: int = 0
    steps: int | None = None  # planned
    left: float | None = None  # seconds, of a running one, once they are known
    rate: float | None = None  # steps per second, of a running one
    host: str = ""  # where it runs
    error: str = ""  # of a failed one: its last lines


def marker(place: Reader, path: str) -> dict[str, Any] | None:
    """Return the JSON object in a file. One that is torn, or cannot be read, counts as absent."""
    try:
        data = place.read(path)
        values = None if data is None else json.loads(data)
    except (OSError, ValueError, RecursionError):
        return None
    return values if isinstance(values, dict) else None


def ledger(place: Reader) -> list[dict[str, Any]] | None:
    """Return the jobs that are listed, those whose entry makes sense; None where there is no list to be read."""
    try:
        return read_ledger(place)
    except (OSError, ValueError):
        return None


def read_ledger(place: Reader) -> list[dict[str, Any]] | None:
    """Do the same for who writes the list: None only where there is no such file. What cannot be read is an OSError,
    and what is torn a ValueError."""
    if (data := place.read(LEDGER)) is None:
        return None
    try:
        jobs = json.loads(data)["jobs"]
    except (ValueError, KeyError, TypeError, RecursionError):
        jobs = None
    if not isinstance(jobs, list):
        raise ValueError("it is torn")
    return [job for job in jobs if is_job(job)]


def listed(place: Reader) -> list[JobState]:
    """Return how far the jobs of the ledger are."""
    return [state_of(place, job["name"], job["settings"]) for job in ledger(place) or ()]


def is_job(entry: Any) -> bool:
    if not (isinstance(entry, dict) and is_name(entry.get("name")) and isinstance(entry.get("settings"), dict)):
        return False
    return entry.get("study") is None or _is_study(entry["study"])


def _is_study(study: Any) -> bool:
    """Return whether this says which trials a job trains."""
    trials = study.get("trials") if isinstance(study, dict) else None
    return isinstance(trials, dict) and all(whole(number) is not None for number in trials.values())


def is_name(name: Any) -> bool:
    """Return whether this names something below a folder, wherever that is: as UTF-8, too."""
    if not isinstance(name, str) or "\0" in name or any(part in ("", ".", "..") for part in name.split("/")):
        return False
    try:
        name.encode()
    except UnicodeEncodeError:  # half of a pair, which JSON can have
        return False
    return True


def done_step(place: Reader, name: str, settings: Mapping[str, Any]) -> int | None:
    """Return the step that a job with these settings has reached, if it is done."""
    done = marker(place, f"{name}/{DONE}")
    if done is None or not isinstance(done.get("settings"), dict):
        return None
    had, step = done["settings"], whole(done.get("step"))
    if learning(had) != learning(settings) or step is None:
        return None
    if had.get("steps") == settings.get("steps"):  # a study may have ended it before its last step
        return step
    return step if (whole(settings.get("steps")) or step + 1) <= step else None


def learning(settings: Mapping[str, Any]) -> Any:
    """Return the settings that decide what is learnt, as JSON has them: not for how long, and how closely it is
    watched."""
    watched = (BOOKKEEPING | {*CHANGEABLE}) - {"seeds"}
    return json.loads(json.dumps({k: v for k, v in settings.items() if k not in watched}, sort_keys=True))


def state_of(place: Reader, name: str, settings: Mapping[str, Any] | None = None, now: float | None = None) -> JobState:
    """Return how far a job is. Without settings, those in its marker count."""
    there = names_in(place, name)
    steps = whole((settings or {}).get("steps"))
    if DONE in there:
        own = settings if settings is not None else (marker(place, f"{name}/{DONE}") or {}).get("settings", {})
        if (step := done_step(place, name, own)) is not None:
            return JobState(name, "done", step, steps or step)
    kept = _kept_step(place, name, there)
    failed = (marker(place, f"{name}/{FAILED}") or {}) if FAILED in there else {}
    if RUNNING in there and (running := marker(place, f"{name}/{RUNNING}")):
        updated = number(running.get("updated"))
        lost = updated is not None and updated <= (number(failed.get("when")) or 0)  # what a killed process left
        if updated is not None and not lost and (time.time() if now is None else now) - updated < SILENT:
            step, planned = whole(running.get("step")) or 0, steps or whole(running.get("steps"))
            left, rate = number(running.get("left")), number(running.get("rate"))
            return JobState(name, "running", step, planned, left, rate, str(running.get("host", ""))[:200])
    if failed:
        return JobState(name, "failed", kept or 0, steps, error=str(failed.get("error", ""))[-MOST_ERROR:])
    return JobState(name, "waiting" if kept is None else "stopped", kept or 0, steps)


def names_in(place: Reader, path: str) -> list[str]:
    """Return the names in a folder; none where it cannot be read, or the path is none."""
    try:
        return place.names(path)
    except (OSError, ValueError):
        return []


def _kept_step(place: Reader, name: str, there: Iterable[str]) -> int | None:
    """Return the step of the newest checkpoint, whole or not."""
    uploaded = [int(m[1]) for file in there if (m := re.fullmatch(r"state-([0-9]{1,15})-.*\.json", file))]
    inside = names_in(place, f"{name}/{CHECKPOINTS}") if CHECKPOINTS in there else []
    written = [int(m[1]) for file in inside if (m := re.fullmatch(r"step-([0-9]{12})", file))]
    return max(uploaded + written, default=None)


def whole(value: Any) -> int | None:
    return value if type(value) is int and 0 <= value < 2**62 else None


def number(value: Any) -> float | None:
    return float(value) if type(value) in (int, float) and abs(value) < 1e15 else None
