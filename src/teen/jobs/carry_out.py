"""Carry out one job, wherever: go on from its newest whole checkpoint, and say last that it is done. So a retry, a
requeue and a rerun are one path. JAX is imported only where there is something to train."""

import signal
import time
import traceback
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, NamedTuple

from ..disk import files, lock
from ..disk.aside import holds_leftovers, set_aside
from ..disk.jobs import LEDGER, SET_ASIDE, done_step
from ..errors import EnvironmentFault, InUse, LearnerFault, StorageFault, TakenOver, UserError, notice, one_line
from . import markers
from .markers import Heartbeat
from .place import Folder, Place
from .planned import PlannedJob, Result

if TYPE_CHECKING:
    from ..config.job import Job
    from ..training.callbacks import Callback
    from ..training.outcome import Outcome

TOLD = (UserError, EnvironmentFault, LearnerFault, StorageFault, OSError)  # their one line says all


class Workshop(NamedTuple):
    """Where a job trains."""

    folder: Path
    aside: Path | None  # for leftovers; None where the folder is a copy that ends with the attempt
    hooks: dict[str, Any]  # further arguments of `train_job` and `resume`
    finish: Callable[[int], None]  # is told the last step when the folder is whole, before the job counts as done


def carry_out(job: PlannedJob, place: Place, show: bool = False) -> Result:
    """Train a job until it is done, fails or is stopped. A job that is done already takes no time."""
    if (step := done_step(place, job.name, job.settings)) is not None:
        return Result(job.name, "done", step)
    began = time.monotonic()
    try:
        with _workshop(job, place) as work:
            if process := lock.holder(work.folder):
                raise InUse(work.folder, process)
            markers.remove_failed(place, job.name)
            with Heartbeat(place, job.name) as beat:
                outcome = _trained(job, place, work, beat, show)
                work.finish(outcome.step)
                if outcome.stopped_by is not None:
                    return Result(job.name, "stopped", outcome.step, signal=outcome.stopped_by)
                markers.write_done(place, job, outcome.step, _seconds(outcome) or time.monotonic() - began)
                return Result(job.name, "done", outcome.step)
    except KeyboardInterrupt as stop:  # before training listens for it, or a second one
        number = stop.args[0] if stop.args and isinstance(stop.args[0], int) else signal.SIGINT
        return Result(job.name, "stopped", signal=int(number))
    except (InUse, TakenOver) as taken:  # the work of another, who says how it goes
        return Result(job.name, "taken", error=str(taken))
    except Exception as error:
        lines = one_line(error) if isinstance(error, TOLD) else "".join(traceback.format_exception(error))
        markers.write_failed(place, job.name, lines or type(error).__name__)
        return Result(job.name, "failed", error=markers.last_lines(lines) or type(error).__name__)


@contextmanager
def _workshop(job: PlannedJob, place: Place) -> Iterator[Workshop]:
    """Give the folder in which a job trains: its own, or a copy of what is at a URL."""
    if isinstance(place, Folder):
        yield Workshop(place.root / job.name, place.root / SET_ASIDE, {}, lambda step: None)
        return
    from .mirror import Mirror
    from .remote import Remote

    assert isinstance(place, Remote)
    with TemporaryDirectory(prefix="teen-", ignore_cleanup_errors=True) as scratch:
        copy = Mirror(place, job.name, Path(scratch) / "run")
        copy.fetch()
        yield Workshop(copy.folder, None, {"kept": copy.kept}, copy.finish)


def _trained(job: PlannedJob, place: Place, work: Workshop, beat: Heartbeat, show: bool) -> "Outcome":
    """Go on from the newest whole checkpoint, or begin."""
    from ..config import modules
    from ..config.facts import CHANGEABLE
    from ..config.job import resolve
    from ..disk import checkpoint
    from ..training import run

    modules.admit(job.settings, Path(f"{place}/{LEDGER}"))
    whole = resolve(job.settings)
    plan, folder = whole.settings.plan, work.folder
    hooks: dict[str, Any] = {"show": show, "callback": _callbacks(job, beat), **work.hooks}
    saved = checkpoint.latest(folder / "checkpoint")
    why = "has no checkpoint to go on from"
    if saved is not None and (planned := _planned_steps(folder, whole)) is None:
        why = "is no run with these settings"
    elif saved is not None:
        changes = {name: job.settings[name] for name in CHANGEABLE if name in job.settings}
        steps = max(plan.steps, planned or 0)  # a run that goes on is not made shorter
        beat.plan(steps, plan.warmup, saved)
        _say_what_stays(folder / whole.variants[0].name, whole, job.settings)
        try:
            return run.resume(folder, **{**hooks, **changes, "steps": steps})
        except checkpoint.NoneWhole as damage:
            why = f"cannot go on: {damage}"
    if holds_leftovers(folder):
        kept = f"it is now in {set_aside(folder, work.aside)}, and " if work.aside else ""
        notice(f"what there was of {job.name} {why}: {kept}the job begins anew")
        files.remove(folder)
    beat.plan(plan.steps, plan.warmup, 0)
    return run.train_job(whole, folder, **hooks)


def _callbacks(job: PlannedJob, beat: Heartbeat) -> "list[Callback]":
    if job.study is None:
        return [beat]
    from .trials import reporter

    return [beat, reporter(job)]


def _planned_steps(folder: Path, job: "Job") -> int | None:
    """Return the steps for which the run in a folder was planned; None if it is another job's."""
    from ..disk import agreement

    settled, _ = job.settled()
    try:
        had = [agreement.read_config(folder / variant.name) for variant in job.variants]
        agreement.check_job(folder, settled, settled.flat(), folder)
    except (UserError, FileNotFoundError):
        return None
    alike = all(config.get("seeds") == list(job.settings.seeds) for config in had)
    steps = [config.get("steps") for config in had]
    return max(n if type(n) is int else 0 for n in steps) if alike else None


def _say_what_stays(folder: Path, job: "Job", asked: Mapping[str, Any]) -> None:
    """Name what was asked for otherwise than a run began with, where that cannot change any more."""
    from ..config.facts import BOOKKEEPING, CHANGEABLE
    from ..disk import agreement

    had, now = agreement.read_config(folder), job.flat()
    for name in sorted(BOOKKEEPING - {*CHANGEABLE, "seeds"}):
        if name in asked and now[name] not in ("auto", had.get(name)) and name in had:
            notice(f"{name} stays {had[name]}: the run in {folder} began with it")


def _seconds(outcome: "Outcome") -> float:
    """Return how long training took, over all attempts."""
    from ..disk import circumstances

    return circumstances.cut_timing(outcome.folders[0], outcome.step)
