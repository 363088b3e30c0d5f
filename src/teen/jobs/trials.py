"""A job whose variants are trials of an Optuna study: each evaluation is reported, and a pruned variant is silenced.

A job may be carried out in several attempts, and each tells the evaluations after its checkpoint again. So what the
study knows already counts: a value is reported once, and what has been decided at a step is decided the same again.
"""

import math
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from ..errors import StorageFault, one_line
from ..training.callbacks import Callback, Event, Silence
from . import study
from .planned import PlannedJob

if TYPE_CHECKING:
    from optuna.trial import FrozenTrial

T = TypeVar("T")

PRUNED_AT, WHY = "pruned_at", "why"  # what a trial's attributes say beside Optuna's own
DIVERGED = "the numbers of a seed are no longer finite"
TRIES = 6  # at a storage that does not answer
PAUSE = 0.5  # seconds before the second try; each further one doubles it


def reporter(job: PlannedJob) -> Callback:
    """Return the callback of a job whose `study` says where its study is kept (`storage`, `name`), which of its
    variants are which trials (`trials`: name → number), and what prunes them (`pruner`: see `jobs.study.made`)."""
    return Reporter(job)


class Reporter:
    """Reports to each trial the mean over seeds of its evaluations, and asks whether to prune it. A trial with a seed
    in quarantine is pruned: the mean of the others would make it look better than it is."""

    def __init__(self, job: PlannedJob):
        from ..config.job import resolve  # brings JAX, which is there when this is called

        facts: dict[str, Any] = dict(job.study or {})
        settings = resolve(job.settings).settings
        self.seeds, self.steps = len(settings.seeds), settings.plan.steps
        self.trials = {str(variant): int(number) for variant, number in dict(facts["trials"]).items()}
        self.handle = study.opened(facts["storage"], facts["name"], facts["pruner"])
        self.ids = {variant: self.handle.trial_id(number) for variant, number in self.trials.items()}
        self.shown = f"study {facts['name']!r} in {study.hidden(facts['storage'])}"

    def __call__(self, event: Event) -> Silence | None:
        if event.kind != "evaluation":
            return None
        scores: dict[str, list[float]] = {variant: [] for variant in self.trials}
        for (variant, _), score in event.returns().items():
            scores[variant].append(score)
        return Silence(self._patiently(lambda: self._answer(event.step, scores)))

    def _answer(self, step: int, scores: dict[str, list[float]]) -> frozenset[str]:
        """Report an evaluation of all variants, and return those that are pruned. All are reported before the first is
        judged: they are compared with each other."""
        for variant in self.trials:
            trial, value = self.handle.storage.get_trial(self.ids[variant]), self._value(scores[variant])
            if value is not None and not trial.state.is_finished() and step not in trial.intermediate_values:
                self.handle.storage.set_trial_intermediate_value(self.ids[variant], step, value)
        return frozenset(variant for variant in self.trials if self._pruned(variant, step, scores[variant]))

    def _pruned(self, variant: str, step: int, scores: list[float]) -> bool:
        """Return whether a trial is pruned by what this evaluation showed, or was before."""
        from optuna.trial import TrialState

        number, trial = self.trials[variant], self.handle.storage.get_trial(self.ids[variant])
        if trial.state.is_finished():
            return trial.state == TrialState.PRUNED and step >= trial.user_attrs.get(PRUNED_AT, 0)
        why = ""
        if self._value(scores) is None:
            why = DIVERGED
        elif (
            step < self.steps
            and not _was_judged(trial, step)
            and self.handle.study.pruner.prune(self.handle.study, trial)
        ):
            why = f"by the pruner, after the evaluation at step {step}"
        if why:
            self.handle.note(number, PRUNED_AT, step)
            self.handle.note(number, WHY, why)
            self.handle.study.tell(number, state=TrialState.PRUNED, skip_if_finished=True)
        return bool(why)

    def _value(self, scores: list[float]) -> float | None:
        """Return the mean over seeds; None where one is missing."""
        with np.errstate(over="ignore", invalid="ignore"):
            mean = float(np.mean(scores)) if len(scores) == self.seeds else math.nan
        return None if math.isnan(mean) else mean

    def _patiently(self, work: Callable[[], T]) -> T:
        """Do what may be done twice, several times if the storage does not answer."""
        from optuna.exceptions import StorageInternalError, UpdateFinishedTrialError

        for attempt in range(TRIES):
            try:
                return work()
            except (StorageInternalError, UpdateFinishedTrialError, OSError) as error:  # the second: another attempt
                if attempt == TRIES - 1:
                    raise StorageFault(f"{self.shown} cannot be written: {one_line(error)[:300]}") from error
                time.sleep(PAUSE * 2**attempt)
        raise AssertionError


def _was_judged(trial: "FrozenTrial", step: int) -> bool:
    """Return whether an earlier attempt has gone on after this step."""
    return any(later > step for later in trial.intermediate_values)
