"""From jobs to trials: what a job has reached is told to the study."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from ..disk.jobs import JobState, state_of
from ..errors import NONE_LEFT
from ..jobs.place import Place
from ..jobs.planned import PlannedJob
from ..jobs.study import Handle
from ..jobs.trials import DIVERGED, PRUNED_AT, WHY
from .batches import SAME_AS

if TYPE_CHECKING:
    from optuna.trial import FrozenTrial

LONGEST_ERROR = 500  # characters that a trial keeps


def value_of(trial: "FrozenTrial", last: int) -> float | None:
    """Return a trial's value: the mean of its last evaluations, each of which is a mean over seeds."""
    steps = sorted(trial.intermediate_values)[-last:]
    return float(np.mean([trial.intermediate_values[step] for step in steps])) if steps else None


def settle(handle: Handle, place: Place, owned: Mapping[int, PlannedJob], last: int, failures: bool = True) -> None:
    """Tell the study of trials whose jobs are over. Without `failures`, jobs that failed are left: they will be tried
    again."""
    from optuna.trial import TrialState

    running = handle.study.get_trials(deepcopy=False, states=[TrialState.RUNNING])
    states: dict[str, JobState] = {}
    for trial in running:
        if (job := owned.get(trial.number)) is None:
            continue
        if job.name not in states:
            states[job.name] = state_of(place, job.name, job.settings)
        state = states[job.name]
        if state.state == "done":
            _complete(handle, trial, last)
        elif state.state == "failed" and failures:
            _fail(handle, trial, state.error)
    _settle_twins(handle)


def _complete(handle: Handle, trial: "FrozenTrial", last: int) -> None:
    from optuna.trial import TrialState

    value = value_of(trial, last)
    if value is None or np.isnan(value):
        _fail(handle, trial, "it has no evaluation")
    else:
        handle.study.tell(trial.number, value, TrialState.COMPLETE, skip_if_finished=True)


def _fail(handle: Handle, trial: "FrozenTrial", error: str) -> None:
    """Tell of a trial without a value. One whose learners diverged has shown something: it counts as pruned."""
    from optuna.trial import TrialState

    diverged = NONE_LEFT in error
    handle.note(trial.number, WHY, DIVERGED if diverged else error[-LONGEST_ERROR:])
    if diverged:
        handle.note(trial.number, PRUNED_AT, trial.last_step or 0)
    handle.study.tell(trial.number, state=TrialState.PRUNED if diverged else TrialState.FAIL, skip_if_finished=True)


def _settle_twins(handle: Handle) -> None:
    """Tell of trials that have the settings of another one what that one has shown."""
    from optuna.trial import TrialState

    for trial in handle.study.get_trials(deepcopy=False, states=[TrialState.RUNNING]):
        if (number := trial.user_attrs.get(SAME_AS)) is None or not (
            original := handle.trial(number)
        ).state.is_finished():
            continue
        if original.state == TrialState.FAIL:
            handle.note(trial.number, SAME_AS, None)  # then it is trained itself
            continue
        for step, shown in original.intermediate_values.items():
            handle.storage.set_trial_intermediate_value(handle.trial_id(trial.number), step, shown)
        if original.state == TrialState.PRUNED:
            handle.study.tell(trial.number, state=TrialState.PRUNED, skip_if_finished=True)
        else:
            handle.study.tell(trial.number, original.value, TrialState.COMPLETE, skip_if_finished=True)
