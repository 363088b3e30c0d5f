"""Carry a study out: ask for trials, train them as lanes of programs, tell what they show; from wherever it stands."""

import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from ..config.job import MOST_LANES, resolve
from ..disk import lock
from ..errors import UserError
from ..jobs import markers, packing, tasks
from ..jobs.launch import SIGNALLED
from ..jobs.packing import ANYWHERE, Most
from ..jobs.place import Folder, Place
from ..jobs.planned import PlannedJob
from ..jobs.study import Handle, needed
from ..report.terminal import say
from . import batches, kinds, results, summary
from .batches import SAME_AS
from .file import StudyFile
from .space import Space, space_of
from .study import Kept, begun_study

if TYPE_CHECKING:
    from optuna import Study
    from optuna.trial import FrozenTrial

AGAIN = 60.0  # seconds after which the picture is drawn again

Launch = Callable[[Sequence[PlannedJob]], int]  # jobs → exit code, as `jobs.launch.launch` gives it


def tune(file: StudyFile, place: Place, launch: Launch, most: Most = ANYWHERE) -> int:
    """Carry out the study of a file, and return an exit code. Whoever was stopped goes on by the same call. `most` is
    what a program comes to where the file does not say how many trials it has."""
    needed()
    space = space_of(file)
    file = file._replace(lanes=_lanes(file, space, most))
    with _alone(place):
        kept = begun_study(file, space, place)
        code = _carry_out(file, space, kept, place, launch)
        handle = kept.opened()
        summary.write(handle, file, space, place)
        summary.show(handle, file, space, place)
    return code


def _lanes(file: StudyFile, space: Space, most: Most) -> int:
    """Return the trials of one program. A task that cannot be made is found here, before a study begins."""
    job = resolve(space.settings)
    spec, seeds = tasks.spec(job), len(job.settings.seeds)
    if file.lanes * seeds > MOST_LANES:
        raise UserError(
            f"study file {file.path}: lanes = {file.lanes} trials of {seeds} seeds are more than the {MOST_LANES:,} "
            "lanes of a program"
        )
    return file.lanes or max(1, packing.lanes_per_job(job, spec, most) // seeds)


@contextmanager
def _alone(place: Place) -> Iterator[None]:
    """Let nobody else ask for trials of the same jobs. At a URL there is no lock: the user has to see to it."""
    if isinstance(place, Folder):
        with lock.locked(place.root):
            yield
    else:
        yield


def _carry_out(file: StudyFile, space: Space, kept: Kept, place: Place, launch: Launch) -> int:
    """Ask, launch and tell until there are enough trials. Trials that were under way come first."""
    handle = kept.opened()
    results.settle(handle, place, batches.owner(markers.planned(place), file.name), file.last, failures=False)
    written = time.monotonic()
    while True:
        jobs = list(_due(handle, file, space, kept, place))
        if not jobs:
            results.settle(handle, place, {}, file.last)  # twins of what is finished
            left = _left(handle, file, space)
            if left <= 0 and not _running(handle):
                return 0
            asking = _asking(handle, file, space)
            for _ in range(min(left, file.asked)):
                asking.ask(space.distributions)
            continue
        say(_begin_line(jobs, handle, file))
        begun = [trial.number for trial in _running(handle)]
        code = launch(jobs)
        results.settle(handle, place, batches.owner(jobs, file.name), file.last)
        if time.monotonic() - written > AGAIN:
            summary.write(handle, file, space, place)
            written = time.monotonic()
        if code > SIGNALLED:
            return code
        if not any(handle.trial(number).state.name in ("COMPLETE", "PRUNED") for number in begun):
            say(
                "no program of this batch has come to an end: the study stops here; the same command goes on",
                sys.stderr,
            )
            return code or 1


def _due(handle: Handle, file: StudyFile, space: Space, kept: Kept, place: Place) -> Iterator[PlannedJob]:
    """Yield the jobs of all trials under way: those that are listed, and new ones for trials that nobody has."""
    listed = batches.owner(markers.planned(place), file.name)
    if any(not space.distributions.keys() <= trial.params.keys() for trial in _running(handle)):
        batches.completed(handle, _asking(handle, file, space), space)
    batches.mark_twins(handle, space, listed)
    loose, seen = [], set()
    for trial in _running(handle):
        if trial.user_attrs.get(SAME_AS) is not None:
            continue
        if (job := listed.get(trial.number)) is None:
            loose += [trial] if batches.can_be_trained(handle, trial, space) else []
        elif job.name not in seen:
            seen.add(job.name)
            yield job._replace(study={**dict(job.study or {}), **kept._asdict()})  # its folder may have been moved
    yield from batches.planned(loose, space, file.lanes, kept._asdict())


def _asking(handle: Handle, file: StudyFile, space: Space) -> "Study":
    """Return the study with the file's sampler, made for what the study holds by now."""
    return handle.asking(kinds.sampler(file, space, len(handle.study.get_trials(deepcopy=False))))


def _running(handle: Handle) -> "list[FrozenTrial]":
    from optuna.trial import TrialState

    return handle.study.get_trials(deepcopy=False, states=[TrialState.RUNNING])


def _left(handle: Handle, file: StudyFile, space: Space) -> int:
    """Return how many trials are still to be asked for. Failed ones do not count, but a grid has no others."""
    trials = handle.study.get_trials(deepcopy=False)
    counted = sum(trial.state.name != "FAIL" for trial in trials)
    return min(file.trials - counted, kinds.most_trials(file, space) - len(trials))


def _begin_line(jobs: Sequence[PlannedJob], handle: Handle, file: StudyFile) -> str:
    """Say which trials begin, and what is the best so far."""
    numbers = sorted(number for number, _ in batches.owner(jobs, file.name).items())
    best = summary.best_trial(handle)
    so_far = f"; best so far {best.value:.6g}, trial {best.number}" if best and best.value is not None else ""
    which = f"trial {numbers[0]}" if len(numbers) == 1 else f"{len(numbers)} trials, {numbers[0]} to {numbers[-1]}"
    return f"{which}, of {file.trials}, in {len(jobs)} {'program' if len(jobs) == 1 else 'programs'}{so_far}"
