"""Write what tells how far jobs are: the ledger, and the markers of each. `disk.jobs` reads them."""

import json
import os
import platform
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from ..disk.jobs import DONE, FAILED, FORMAT, LEDGER, MOST_ERROR, RUNNING, done_step, marker, read_ledger
from ..errors import UserError, one_line
from ..training.pace import Pace
from .place import Place
from .planned import PlannedJob

PERIOD = 10.0  # seconds between two heartbeats
TRIES = 5  # at the ledger, which others may write as well
WAITS = (1.0, 5.0)  # seconds after which what must succeed is tried again
LINES = 20  # of an error that are kept


def write(place: Place, path: str, values: Mapping[str, Any]) -> None:
    place.write(path, (json.dumps(values, indent=1) + "\n").encode())


def is_done(place: Place, job: PlannedJob) -> bool:
    return done_step(place, job.name, job.settings) is not None


def write_done(place: Place, job: PlannedJob, step: int, seconds: float) -> None:
    """Write that a job is done. Storage on a network fails now and then, and hours of work hang on this file."""
    values = {"step": step, "seconds": round(seconds, 3), "settings": dict(job.settings)}
    for wait in WAITS:
        with suppress(OSError):
            return write(place, f"{job.name}/{DONE}", values)
        time.sleep(wait)
    write(place, f"{job.name}/{DONE}", values)


def write_failed(place: Place, name: str, error: str) -> None:
    """Write why a job failed. Where even that cannot be written, its result still says so."""
    with suppress(Exception):  # of the file system, whichever that is
        write(place, f"{name}/{FAILED}", {"error": last_lines(error), "when": time.time()})


def remove_failed(place: Place, name: str) -> None:
    place.remove(f"{name}/{FAILED}")


def remove_running(place: Place, name: str, process: int) -> None:
    """Remove what a process of this machine left that was killed."""
    there = marker(place, f"{name}/{RUNNING}") or {}
    if (there.get("host"), there.get("pid")) == (platform.node(), process):
        with suppress(Exception):
            place.remove(f"{name}/{RUNNING}")


def last_lines(text: str) -> str:
    return "\n".join(text.strip().splitlines()[-LINES:])[-MOST_ERROR:]


def planned(place: Place) -> list[PlannedJob]:
    """Return the jobs of the ledger."""
    return [PlannedJob(job["name"], job["settings"], job.get("study")) for job in _listed(place)]


def _listed(place: Place) -> list[dict[str, Any]]:
    """Return the entries of the ledger. One that cannot be read just now is not empty: who took it for that would
    write it anew without the jobs of others."""
    for wait in WAITS:
        with suppress(OSError, ValueError):
            return read_ledger(place) or []
        time.sleep(wait)
    try:
        return read_ledger(place) or []
    except (OSError, ValueError) as error:
        said = error.strerror if isinstance(error, OSError) and error.strerror else one_line(error)
        raise UserError(f"{place}/{LEDGER} cannot be read: {said}; move it away to list jobs anew") from None


def add_to_ledger(place: Place, jobs: Sequence[PlannedJob]) -> None:
    """Add jobs to the ledger; those of the same name are replaced. Several launchers may do so at once: who finds that
    its jobs are not there writes again."""
    ours = {job.name: json.loads(json.dumps(job._asdict())) for job in jobs}
    for attempt in range(TRIES):
        there = {job["name"]: job for job in _listed(place)}
        if all(there.get(name) == job for name, job in ours.items()):
            return
        if attempt:
            time.sleep(0.1 * attempt)
        values = {"format": FORMAT, "jobs": list({**there, **ours}.values())}
        place.write(LEDGER, json.dumps(values, separators=(",", ":")).encode())
    if not ours.keys() <= {job["name"] for job in _listed(place)}:
        raise UserError(f"{place}/{LEDGER} is written by others all the time: try again")


class Heartbeat:
    """Says every few seconds that a process works on a job, and how far it is. As a training callback, it is told the
    steps. What cannot be written does not keep anybody from training."""

    def __init__(self, place: Place, name: str, period: float = PERIOD):
        self.place, self.path, self.period = place, f"{name}/{RUNNING}", period
        self.began = time.time()
        self.step, self.pace = 0, Pace(0, 0)
        self._who = {"host": platform.node(), "pid": os.getpid(), "began": self.began}
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._repeat, daemon=True, name="heartbeat")

    def __enter__(self) -> "Heartbeat":
        with suppress(Exception):
            self.beat()
        self._thread.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self._over.set()
        self._thread.join(self.period)  # a write that hangs must not keep the process
        with suppress(Exception):
            there = marker(self.place, self.path) or {}
            if all(there.get(key) == value for key, value in self._who.items()):  # not another's, who took over
                self.place.remove(self.path)

    def __call__(self, event: Any) -> None:
        """Take a training event. An evaluation is told late: it says nothing about where training is now."""
        if event.kind == "log":
            self.step = event.step
            self.pace.stepped(event.step)

    def plan(self, steps: int, warmup: int, start: int) -> None:
        """Take what is to be done, once it is known."""
        self.step, self.pace = start, Pace(steps, warmup, start)

    def beat(self) -> None:
        pace = self.pace
        values = {"step": self.step, "steps": pace.steps, "rate": pace.rate, "left": pace.left, "updated": time.time()}
        write(self.place, self.path, {**self._who, **values})

    def _repeat(self) -> None:
        while not self._over.wait(self.period):
            with suppress(Exception):
                self.beat()
