"""Measure what launching a job on Ray costs beyond Ray itself: 500 jobs that only write their markers, through all that
`teen sweep --on ray` does, against as many empty tasks of Ray's with the same options, in turns on the same cluster."""

import os
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks import row
from teen.jobs import cluster, launch, on_ray
from teen.jobs.place import place
from teen.jobs.planned import PlannedJob

JOBS, TURNS = 500, 10  # the machine may have other work: in turns, both meet the same


def measure() -> dict[str, Any]:
    ours, theirs = [], []
    on_ray.attempt = only_mark
    with cluster.connected(None) as ray, tempfile.TemporaryDirectory() as folder:
        ray.cloudpickle.register_pickle_by_value(sys.modules[__name__])  # workers need not import what measures
        _empty(ray, 4)  # its first workers
        for turn in range(TURNS):
            jobs = [PlannedJob(f"{turn}/{i}", {"steps": 1, "seeds": [i]}) for i in range(JOBS // TURNS)]
            theirs.append(_seconds(partial(_empty, ray, len(jobs))))
            ours.append(_seconds(partial(_launched, jobs, Path(folder))))
            alone, launched = (1000 * seconds / len(jobs) for seconds in (theirs[-1], ours[-1]))
            print(f"  {len(jobs)} tasks: Ray alone {alone:.0f} ms each, with teen {launched:.0f} ms", flush=True)
    each = JOBS / TURNS / 1000  # from seconds of a turn to milliseconds of a job
    extra = median((our - their) / each for our, their in zip(ours, theirs, strict=True))
    values = {"launcher": extra, "launcher.ray": median(theirs) / each}
    return {"values": values, "jobs": JOBS, "seconds": {"ray": theirs, "teen": ours}}


def _seconds(work: Callable[[], object]) -> float:
    begin = time.perf_counter()
    work()
    return time.perf_counter() - begin


def _empty(ray: Any, number: int) -> None:
    task = ray.remote(num_cpus=1, num_gpus=0, max_retries=3, retry_exceptions=False, max_calls=1)(lambda order: order)
    waiting = [task.remote({}) for _ in range(number)]
    while waiting:
        ready, waiting = ray.wait(waiting)
        ray.get(ready)


def _launched(jobs: list[PlannedJob], folder: Path) -> None:
    code = launch.launch(jobs, place(folder), on="ray", show=False)
    if code or len(list(folder.glob(f"{jobs[0].name.partition('/')[0]}/*/done.json"))) != len(jobs):
        raise RuntimeError(f"not all jobs were done: exit code {code}")


def only_mark(order: dict[str, Any]) -> dict[str, Any]:
    """Do what `on_ray.attempt` does for a job whose training takes no time."""
    os.environ.update(order["environment"])
    os.chdir(order["folder"])
    import teen.jobs.carry_out  # noqa: F401  what it takes to import this counts
    from teen.jobs import markers
    from teen.jobs.on_ray import _wait_until_free
    from teen.jobs.place import Folder, place
    from teen.jobs.planned import PlannedJob, Result

    job, where = PlannedJob(**order["job"]), place(order["place"])
    assert isinstance(where, Folder)
    _wait_until_free(where, job.name)
    with markers.Heartbeat(where, job.name):
        markers.write_done(where, job, 1, 0.0)
    return Result(job.name, "done", 1)._asdict()


if __name__ == "__main__":
    row.main(__file__, measure)
