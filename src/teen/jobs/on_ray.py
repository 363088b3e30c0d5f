"""Carry out jobs on a Ray cluster, as its tasks, each in a process of its own.

Ray begins a task again where a worker or a node was lost, elsewhere if need be, and the job goes on from its
checkpoint. An error of the job's own is its result. Only settings and results pass through Ray's object store.
"""

import os
import time
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

from ..disk import lock
from ..errors import notice
from ..training.stopping import StopRequest, stop_requests
from . import cluster, markers
from .place import Folder, Place
from .place import address as address_of
from .place import place as place_of
from .planned import PlannedJob, Resources, Result

Told = Callable[[Result], None]
Order = dict[str, Any]  # plain values: what to do, and where

MOST_SUBMITTED = 1000  # the rest waits here: every task that waits costs Ray memory and time
POLL = 0.5  # seconds between two looks at whether somebody asks to stop
PATIENCE = 60.0  # seconds for a process that lost its node to leave a job's folder


def run(
    jobs: Sequence[PlannedJob],
    place: Place,
    told: Told,
    resources: Resources | None = None,
    retries: int = 3,
    address: str | None = None,
    begin: Callable[[], None] = lambda: None,
) -> int | None:
    """Carry out jobs, and tell the result of each. Return the signal that ended it early. `begin` is called when
    nothing stands in their way: there is a cluster, and a job fits on one of its machines."""
    with cluster.connected(address, retries) as ray:
        crew = Crew(ray, place, resources, retries)
        cluster.check_fits(ray.nodes(), crew.amounts)
        begin()
        if not crew.amounts["GPU"] and any(node["Resources"].get("GPU") for node in ray.nodes() if node["Alive"]):
            notice("there are GPUs, and the jobs ask for none: --gpus 1 gives each one of its own")
        with stop_requests() as stop:
            crew.carry_out(jobs, told, stop)
        return stop.signal


class Crew:
    """Tasks of one kind on a cluster."""

    def __init__(self, ray: Any, place: Place, given: Resources | None, retries: int):
        self.ray, self.place, self.retries = ray, place, retries
        resources = given or Resources()
        self.amounts = {"CPU": resources.cores, "GPU": resources.gpus, "memory": float(resources.memory)}
        options = {
            "num_cpus": resources.cores, "num_gpus": resources.gpus, "memory": resources.memory or None,
            "max_retries": retries, "retry_exceptions": False, "max_calls": 1,
        }  # fmt: skip
        self.task = ray.remote(**options)(attempt)
        self.order = {"place": _absolute(place), "folder": os.getcwd(), "environment": _environment(given)}
        self._running: dict[Any, PlannedJob] = {}  # by Ray's reference
        self._stopped: dict[str, int] = {}  # how often a job was stopped, and nobody had asked here

    def carry_out(self, jobs: Sequence[PlannedJob], told: Told, stop: StopRequest) -> None:
        waiting = deque(jobs)
        while (waiting or self._running) and not stop.made():
            while waiting and len(self._running) < MOST_SUBMITTED:
                self._submit(waiting.popleft())
            for job, result in self._ended():
                if result.state == "stopped" and not stop.made() and self._may_go_on(job):
                    waiting.append(job)
                else:
                    told(result if result.state != "stopped" or stop.made() else self._given_up(job, result))
        for reference in self._running:
            self.ray.cancel(reference, force=False)  # as Ctrl-C in its process; one that waits never begins
        while self._running:
            for _, result in self._ended():
                told(result)

    def _submit(self, job: PlannedJob) -> None:
        reference = self.task.options(name=job.name).remote({**self.order, "job": job._asdict()})
        self._running[reference] = job

    def _ended(self) -> list[tuple[PlannedJob, Result]]:
        """Return jobs that have ended since the last call, after a short time at most."""
        ready, _ = self.ray.wait(list(self._running), timeout=POLL)
        ended = [(job := self._running.pop(reference), self._result(job, reference)) for reference in ready]
        return [(job, result) for job, result in ended if result]

    def _result(self, job: PlannedJob, reference: Any) -> Result | None:
        """Return how a job ended; None if it was cancelled before it began."""
        errors = self.ray.exceptions
        try:
            return Result(**self.ray.get(reference))
        except errors.TaskCancelledError:
            return None
        except errors.RayTaskError as error:  # it never came to the job: teen is not installed there, for example
            text = str(error.cause or error)
        except errors.RayError as error:  # a worker, node or its memory, more often than it may be tried
            text = f"its process was lost {self.retries + 1} times: {next(iter(str(error).splitlines()), '')}"
        markers.write_failed(self.place, job.name, text)
        return Result(job.name, "failed", error=markers.last_lines(text))

    def _given_up(self, job: PlannedJob, result: Result) -> Result:
        text = f"it was stopped from outside {self._stopped[job.name]} times, after {result.step:,} steps the last time"
        markers.write_failed(self.place, job.name, text)
        return Result(job.name, "failed", result.step, text)

    def _may_go_on(self, job: PlannedJob) -> bool:
        """Return whether to begin a job again that was stopped from outside, as a machine does that is shut down."""
        self._stopped[job.name] = self._stopped.get(job.name, 0) + 1
        return self._stopped[job.name] <= self.retries


def attempt(order: Order) -> dict[str, Any]:
    """Carry out a job in this process, which is a worker's: its first work and its last."""
    os.environ.update(order["environment"])  # JAX is not imported yet
    with suppress(OSError):  # another machine may not have it
        os.chdir(order["folder"])
    from .carry_out import carry_out

    job, place = PlannedJob(**order["job"]), place_of(order["place"])
    if isinstance(place, Folder):
        _wait_until_free(place, job.name)
    return carry_out(job, place)._asdict()


def _wait_until_free(place: Folder, name: str) -> None:
    """Wait for a process that trains there. If its node was lost, it ends within seconds."""
    end = time.monotonic() + PATIENCE
    while lock.holder(place.root / name) and time.monotonic() < end:
        time.sleep(POLL)


def _absolute(place: Place) -> str:
    return str(place.root.absolute()) if isinstance(place, Folder) else address_of(place)


def _environment(given: Resources | None) -> dict[str, str]:
    """Return the variables that the process of a job needs beside those of its machine."""
    from ..config.modules import VARIABLE  # brings JAX, which no worker may import before its variables are set

    trusted = {VARIABLE: os.environ[VARIABLE]} if VARIABLE in os.environ else {}
    if given is None:
        return trusted
    from .packing import environment

    return {**trusted, **environment(given)}
