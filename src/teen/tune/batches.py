"""From trials to jobs: trials that differ in per-lane numbers alone are variants of one program."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ..config.job import resolve
from ..config.variants import KEY
from ..errors import UserError
from ..jobs.planned import PlannedJob
from ..jobs.study import Handle
from ..jobs.trials import WHY
from .space import Space, job_of

if TYPE_CHECKING:
    from optuna import Study
    from optuna.trial import FrozenTrial, Trial

SAME_AS = "same_as"  # an attribute of a trial: the number of an earlier one with the same settings


def owner(jobs: Iterable[PlannedJob], name: str) -> dict[int, PlannedJob]:
    """Return which job trains each trial of a study."""
    ours = (job for job in jobs if job.study and job.study.get("name") == name)
    return {int(number): job for job in ours for number in dict(job.study or {})["trials"].values()}


def completed(handle: Handle, asking: "Study", space: Space) -> None:
    """Give the trials that somebody was killed in the middle of asking for what they lack. `asking` is the study with a
    sampler."""
    from optuna.trial import Trial, TrialState

    for trial in asking.get_trials(deepcopy=False, states=[TrialState.RUNNING]):
        if not space.distributions.keys() <= trial.params.keys():
            asked = Trial(asking, handle.trial_id(trial.number))
            for name, distribution in space.distributions.items():
                _suggest(asked, name, distribution)


def _suggest(trial: "Trial", name: str, limits: Any) -> None:
    """Draw a number of a trial, as `Study.ask` does; one that it has is kept."""
    from optuna.distributions import CategoricalDistribution, IntDistribution

    if isinstance(limits, CategoricalDistribution):
        trial.suggest_categorical(name, limits.choices)
    elif isinstance(limits, IntDistribution):
        trial.suggest_int(name, limits.low, limits.high, step=limits.step, log=limits.log)
    else:
        trial.suggest_float(name, limits.low, limits.high, step=limits.step, log=limits.log)


def mark_twins(handle: Handle, space: Space, owned: Mapping[int, PlannedJob]) -> None:
    """Note which trials that nobody trains yet have the settings of an earlier one: its values are theirs, too, as the
    seeds are the same."""
    from optuna.trial import TrialState

    first: dict[str, int] = {}
    for trial in handle.study.get_trials(deepcopy=False):
        if trial.state == TrialState.FAIL or not space.distributions.keys() <= trial.params.keys():
            continue
        if trial.user_attrs.get(SAME_AS) is not None:
            continue
        original = first.setdefault(json.dumps(space.of(trial.params)), trial.number)
        if original != trial.number and trial.state == TrialState.RUNNING and trial.number not in owned:
            handle.note(trial.number, SAME_AS, original)


def can_be_trained(handle: Handle, trial: "FrozenTrial", space: Space) -> bool:
    """Return whether the settings of a trial go together, each of which is allowed by itself. If not it is pruned: so
    the sampler learns to leave them."""
    from optuna.trial import TrialState

    try:
        job_of(space, space.of(trial.params)).check_learns()
    except UserError as error:
        handle.note(trial.number, WHY, str(error))
        handle.study.tell(trial.number, state=TrialState.PRUNED, skip_if_finished=True)
        return False
    return True


def planned(
    trials: Sequence["FrozenTrial"], space: Space, lanes: int, study: Mapping[str, Any]
) -> Iterator[PlannedJob]:
    """Yield the jobs that train these trials, at most `lanes` in one. `study` says where they report to."""
    groups: dict[str, list[FrozenTrial]] = {}
    for trial in trials:
        static = {name: value for name, value in space.of(trial.params).items() if name not in space.per_lane}
        groups.setdefault(json.dumps(static), []).append(trial)
    for static_text, group in groups.items():
        for first in range(0, len(group), lanes):
            yield _job(group[first : first + lanes], space, json.loads(static_text), study)


def _job(trials: Sequence["FrozenTrial"], space: Space, static: dict[str, Any], study: Mapping[str, Any]) -> PlannedJob:
    own = [{k: v for k, v in space.of(trial.params).items() if k in space.per_lane} for trial in trials]
    settings = {**space.settings, **static, **(own[0] if len(own) == 1 else {KEY: own})}
    numbers = [trial.number for trial in trials]
    job = resolve(settings)
    of_variant = dict(zip([variant.name for variant in job.variants], numbers, strict=True))
    # The first trial is in no other job: the name is this job's alone.
    name = f"trial-{numbers[0]:05}" if len(numbers) == 1 else f"trials-{numbers[0]:05}-{numbers[-1]:05}"
    return PlannedJob(name, settings, {**study, "trials": of_variant})
