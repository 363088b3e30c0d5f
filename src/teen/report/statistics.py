"""Scores of runs, and statistics for few seeds: interquartile means and probabilities of improvement, with intervals
from a bootstrap that resamples the seeds of each task by themselves (Agarwal et al. 2021), and differences of means and
gains, with intervals of Welch's.

A seed without a score, because it was quarantined, has NaN. `last_mean`, `best_so_far` and `point` return it; the
intervals drop the NaNs of each task, and are NaN where a task has no seed left: an aggregate never covers fewer tasks
than it was asked for.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.special import stdtrit

from .runs import Run

LAST = 50_000  # environment steps whose evaluations make up a final score
ENDS = 0.025, 0.975  # quantiles between which 95 % lie
TRIMMED = 0.25  # of the scores, on each side of an interquartile mean
RESAMPLES = 2000  # of which an interval is made, and
MOST_DRAWS = 4_000_000  # scores in all of them: beyond 2,000 seeds there are fewer resamples
CLEAR = 2.0  # standard errors that a mean is above 0, at the least, where it is part of a gain
BLOCK = 2**20  # pairs of scores that are compared at once


class Interval(NamedTuple):
    value: float
    low: float
    high: float


UNKNOWN = Interval(np.nan, np.nan, np.nan)


def last_mean(run: Run, step: int) -> np.ndarray:
    """Return each seed's mean of the evaluations in (step - LAST, step], or the last one before if these are further
    apart; NaN for a seed without any."""
    until = run.returns[:, run.steps <= step]
    inside = int(((run.steps > step - LAST) & (run.steps <= step)).sum())
    recent = until[:, -max(1, inside) :]
    count = (~np.isnan(recent)).sum(1)
    return np.where(count > 0, np.nansum(recent, 1) / np.maximum(count, 1), np.nan)


def best_so_far(run: Run, step: int) -> np.ndarray:
    """Return each seed's largest evaluation up to this step; NaN for a seed without any."""
    return np.asarray(np.fmax.reduce(run.returns[:, run.steps <= step], axis=1, initial=np.nan))


def point(run: Run, step: int) -> np.ndarray:
    """Return each seed's evaluation at the run's last evaluated step up to this one; NaN for a seed without it."""
    until = run.returns[:, run.steps <= step]
    return until[:, -1] if until.shape[1] else np.full(len(until), np.nan)


def sample_std(scores: np.ndarray) -> float | None:
    """Return the standard deviation of a sample (n − 1); None for fewer than two scores."""
    return float(scores.std(ddof=1)) if scores.size > 1 else None


def iqm(scores: np.ndarray) -> float:
    """Return the mean of all entries but the lowest and the highest quarter, each rounded down to whole entries."""
    return float(_iqm(np.ravel(scores))) if np.size(scores) else np.nan


def resamples_of(seeds: int, wanted: int = RESAMPLES) -> int:
    """Return of how many resamples the interval of this many seeds is made."""
    return max(1, min(wanted, MOST_DRAWS // seeds))


def iqm_interval(scores: Sequence[np.ndarray], resamples: int = RESAMPLES, seed: int = 0) -> Interval:
    """Return the IQM over the seeds of all tasks together. `scores` has one (seed,) array per task."""
    tasks = _without_nan(scores)
    if tasks is None:
        return UNKNOWN
    rng = np.random.default_rng(seed)
    resamples = resamples_of(sum(map(len, tasks)), resamples)
    resampled = [task[rng.integers(len(task), size=(resamples, len(task)))] for task in tasks]  # (resample, seed) each
    return _interval(iqm(np.concatenate(tasks)), _iqm(np.concatenate(resampled, axis=1)))


def iqm_curve(returns: np.ndarray, resamples: int = 500, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the IQM of (seed, evaluation) returns at each evaluation, and both ends of its interval: of the seeds
    that have a return there, and NaN where none has.

    Which ranks a resample keeps depends on the number of scores alone. So one draw of ranks serves all evaluations with
    the same number of seeds, and each resample is a weighted sum of sorted scores.
    """
    ascending = np.sort(returns, axis=0)  # NaNs last
    counts = (~np.isnan(returns)).sum(0)
    curve, low, high = np.full((3, returns.shape[1]), np.nan)
    for count in set(counts.tolist()) - {0}:
        here = counts == count
        values = ascending[:count, here]
        kept = _middle(count)
        drawn = _drawn(np.random.default_rng(seed), count, resamples_of(count, resamples))
        until = np.clip(np.cumsum(drawn, axis=1), kept.start, kept.stop)  # of the drawn ranks that are kept
        weights = np.diff(until, axis=1, prepend=kept.start) / (kept.stop - kept.start)
        curve[here] = values[kept].mean(0)
        low[here], high[here] = np.quantile(weights @ values, ENDS, axis=0)
    return curve, low, high


def probability_of_improvement(
    x: Sequence[np.ndarray], y: Sequence[np.ndarray], resamples: int = RESAMPLES, seed: int = 0
) -> Interval:
    """Return how likely a seed of x beats one of y, a tie counting half, averaged over tasks. Each has one (seed,)
    array per task."""
    x_tasks, y_tasks = _without_nan(x), _without_nan(y)
    if x_tasks is None or y_tasks is None:
        return UNKNOWN
    rng = np.random.default_rng(seed)
    resamples = resamples_of(max(sum(map(len, tasks)) for tasks in (x_tasks, y_tasks)), resamples)
    values, resampled = [], []
    for one, other in zip(x_tasks, y_tasks, strict=True):
        shares, others = (_drawn(rng, len(task), resamples) / len(task) for task in (one, other))
        size = max(1, BLOCK // len(other))
        total, against = 0.0, np.zeros_like(others)  # against: how often a resample of x beats each of y
        for block in (slice(first, first + size) for first in range(0, len(one), size)):
            wins = (one[block, None] > other) + (one[block, None] == other) / 2
            total += wins.sum()
            against += shares[:, block] @ wins
        values.append(total / (len(one) * len(other)))
        resampled.append((against * others).sum(1))
    return _interval(float(np.mean(values)), np.mean(resampled, axis=0))


def difference(x: np.ndarray, y: np.ndarray) -> Interval:
    """Return how much higher the mean of x is than that of y, with Welch's interval; unknown for a single seed."""
    samples = _without_nan([x, y], least=2)
    if samples is None:
        return UNKNOWN
    return _welch(samples[0].mean() - samples[1].mean(), samples, 1.0)


def average_gain(x: Sequence[np.ndarray], y: Sequence[np.ndarray]) -> Interval:
    """Return how much more x has than y on average over tasks, as a share: the gain whose logarithm is the mean of
    log(mean of x / mean of y). So each task counts the same, and twice as much cancels half as much. Each has one
    (seed,) array per task. Unknown where it is on one of the tasks: see `has_gain`.

    The variance of log(mean) is taken as that of the mean over its square.
    """
    pairs = list(zip(x, y, strict=True))
    if not pairs or not all(has_gain(*pair) for pair in pairs):
        return UNKNOWN
    samples = _without_nan([sample for pair in pairs for sample in pair]) or []
    means = np.array([sample.mean() for sample in samples])
    logarithm = np.log(means[::2] / means[1::2]).mean()
    return Interval(*np.expm1(_welch(logarithm, samples, 1 / (len(pairs) * means))).tolist())


def has_gain(x: np.ndarray, y: np.ndarray) -> bool:
    """Return whether a ratio of means says anything: both have two seeds and a mean that is at least twice its standard
    error above 0. A mean nearer to 0 may as well be below it."""
    samples = _without_nan([x, y], least=2)
    return samples is not None and all(
        0 < sample.mean() >= CLEAR * sample.std(ddof=1) / np.sqrt(sample.size) for sample in samples
    )


def _welch(value: float, samples: Sequence[np.ndarray], weights: np.ndarray | float) -> Interval:
    """Return a value with Student's interval. Its variance is that of the samples' means, each times its weight, the
    degrees of freedom are Satterthwaite's."""
    variances = np.array([sample.var(ddof=1) / sample.size for sample in samples]) * np.square(weights)
    if not (total := variances.sum()):
        return Interval(float(value), float(value), float(value))
    freedom = 1 / ((variances / total) ** 2 / [sample.size - 1 for sample in samples]).sum()
    half = stdtrit(freedom, ENDS[1]) * np.sqrt(total)
    return Interval(float(value), float(value - half), float(value + half))


def _without_nan(scores: Sequence[np.ndarray], least: int = 1) -> list[np.ndarray] | None:
    """Drop NaNs; None where a task has fewer other scores than `least`, or there is no task."""
    tasks = [task[~np.isnan(task)] for task in (np.asarray(task, float) for task in scores)]
    return tasks if tasks and all(task.size >= least for task in tasks) else None


def _drawn(rng: np.random.Generator, count: int, resamples: int) -> np.ndarray:
    """Return (resample, entry): how often a resample of `count` entries has each of them."""
    drawn = rng.integers(count, size=(resamples, count)) + count * np.arange(resamples)[:, None]
    return np.bincount(drawn.ravel(), minlength=resamples * count).reshape(resamples, count)


def _middle(count: int) -> slice:
    cut = int(TRIMMED * count)
    return slice(cut, count - cut)


def _iqm(scores: np.ndarray) -> np.ndarray:
    """Return the IQM over the last axis."""
    return np.asarray(np.sort(scores, axis=-1)[..., _middle(scores.shape[-1])].mean(-1))


def _interval(value: float, resampled: np.ndarray) -> Interval:
    low, high = np.quantile(resampled, ENDS)
    return Interval(value, float(low), float(high))
