"""Compare runs: scores of each label on each environment, how likely one label beats another, and by how much."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ..disk.logs import csv_table
from ..errors import UserError
from . import statistics
from .labels import labels
from .runs import Run
from .statistics import Interval, sample_std

MILESTONES = (300_000, 500_000, 1_000_000)  # steps at which papers report scores
ALL = "all"  # in place of one environment's name
MOST_SEEDS = 10_000  # that are compared at once
MOST_LABELS = 100  # of which each is compared with each
IMPROVEMENT = (
    *("env", "environments", "step", "label", "over"),
    *("probability", "low", "high", "best_probability", "best_low", "best_high"),
    *("difference", "difference_low", "difference_high"),  # of means, on one environment
    *("gain", "gain_low", "gain_high"),  # as a share: of one environment, or on average over all of them
)

Row = dict[str, Any]  # a value of None is unknown


class Comparison(NamedTuple):
    reference: str  # the label whose mean is 1 in normalised scores
    scores: list[Row]  # per environment, step and label
    improvement: list[Row]  # per environment, or all that two labels share, and step and pair of labels
    normalised: list[Row]  # per step and label, over environments
    notes: list[str]  # what was left out, and why


class Scores(NamedTuple):
    """The scores of one label's seeds that are left at a step. A quarantined seed is left out from then on."""

    last: np.ndarray  # (seed,)
    best: np.ndarray  # (seed,)
    missing: int  # seeds that began and have no score


Pools = dict[str, dict[str, list[Run]]]  # by environment and label: runs that differ in their seeds alone
Tasks = Mapping[str, Mapping[str, Scores]]  # by label and environment


@np.errstate(over="ignore", invalid="ignore", divide="ignore")  # returns may be as large as they like
def compare(
    runs: Sequence[Run], steps: Sequence[int] | None = None, reference: str | None = None, also: Sequence[int] = ()
) -> Comparison:
    """Compare at these steps; by default where the runs of an environment end together, at milestones they reach, and
    at `also`.

    Columns that end in `_std` are standard deviations of the sample of seeds (n − 1), None for a single seed. Columns
    that begin with `best_` are of each seed's best evaluation so far; the others are of the last evaluations' means.
    """
    begun = [run for run in runs if run.steps.size]
    notes = [f"{run.path} has no evaluation yet: it is left out" for run in runs if not run.steps.size]
    if not begun:
        raise UserError("no run has an evaluation yet: there is nothing to compare")
    pools = pooled(begun)
    names = list(dict.fromkeys(label for pool in pools.values() for label in pool))
    if reference is not None and reference not in names:
        raise UserError(f"--reference {reference!r} is none of the labels here: {', '.join(names)}")
    reference = reference or ("td3" if "td3" in names else names[0])
    comparison = Comparison(reference, [], [], [], notes)
    notes += _what_is_large(pools, names)
    steps = sorted(set(steps or ()))
    for env, pool in pools.items():
        for step in steps or _default_steps([run for members in pool.values() for run in members], also):
            by_label = scores_at(pool, step)
            comparison.scores.extend(_score_row(env, step, label, scores) for label, scores in by_label.items())
            task = {label: {env: scores} for label, scores in by_label.items()}
            comparison.improvement.extend(_improvement_rows(env, step, task) if len(names) <= MOST_LABELS else ())
    for step in (steps or _default_steps(begun, also)) if len(pools) > 1 else ():
        by_env = {env: scores_at(pool, step) for env, pool in pools.items()}
        tasks = {name: {env: by_env[env][name] for env in by_env if name in by_env[env]} for name in names}
        comparison.improvement.extend(_improvement_rows(ALL, step, tasks) if len(names) <= MOST_LABELS else ())
        comparison.normalised.extend(_normalised_rows(step, tasks, reference, notes))
    for step in (*steps, *also):
        if not any(row["step"] == step for row in comparison.scores):
            first, last = min(run.steps[0] for run in begun), max(run.steps[-1] for run in begun)
            raise UserError(f"no run has a score at step {step}: they were evaluated from {first} to {last}")
    return comparison


def pooled(runs: Sequence[Run]) -> Pools:
    """Group runs by environment and label. Their seeds may be split over several runs; none may occur twice."""
    pools: Pools = {}
    for run, label in zip(runs, labels(runs), strict=True):
        pool = pools.setdefault(run.env, {}).setdefault(label, [])
        for other in pool:
            for seed in sorted(_seeds(run) & _seeds(other)):
                raise UserError(f"seed {seed} of {label} on {run.env} occurs twice: in {other.path} and in {run.path}")
        pool.append(run)
    if (count := sum(map(len, map(_seeds, runs)))) > MOST_SEEDS:
        raise UserError(f"these runs have {count:,} seeds, and at most {MOST_SEEDS:,} are compared: name fewer runs")
    return pools


def _what_is_large(pools: Pools, names: Sequence[str]) -> Iterator[str]:
    """Yield notes on what is computed otherwise, or left out, because there is so much."""
    for env, pool in pools.items():
        for label, runs in pool.items():
            seeds = sum(len(run.seeds) for run in runs)
            if (resamples := statistics.resamples_of(seeds)) < statistics.RESAMPLES:
                yield f"{label} on {env} has {seeds:,} seeds: its intervals are of {resamples:,} resamples"
    if len(names) > MOST_LABELS:
        yield f"there are {len(names):,} labels: beyond {MOST_LABELS}, none is compared with each other one"


def _seeds(run: Run) -> set[int]:
    """Return the run's seeds, also those that were quarantined before their first evaluation."""
    planned = run.settings.get("seeds")
    return {*run.seeds, *(seed for seed in (planned if isinstance(planned, list) else ()) if type(seed) is int)}


def _default_steps(runs: Sequence[Run], also: Sequence[int]) -> list[int]:
    ends = [int(run.steps[-1]) for run in runs]
    return sorted({min(ends), *(step for step in (*MILESTONES, *also) if step <= max(ends))})


def scores_at(pool: Mapping[str, Sequence[Run]], step: int) -> dict[str, Scores]:
    """Return the scores of the labels that have any seed left at this step."""
    by_label = {}
    for label, runs in pool.items():
        last, best = np.empty(0), np.empty(0)
        for run in runs:
            if run.steps[-1] >= step:
                left = ~np.isnan(statistics.point(run, step))
                last = np.append(last, statistics.last_mean(run, step)[left])
                best = np.append(best, statistics.best_so_far(run, step)[left])
        if last.size:
            by_label[label] = Scores(last, best, sum(len(_seeds(run)) for run in runs) - last.size)
    return by_label


def _score_row(env: str, step: int, label: str, scores: Scores) -> Row:
    return {
        "env": env,
        "step": step,
        "label": label,
        "seeds": scores.last.size,
        "missing": scores.missing,
        "last_mean": float(scores.last.mean()),
        "last_std": sample_std(scores.last),
        "best_mean": float(scores.best.mean()),
        "best_std": sample_std(scores.best),
        **_iqm_columns([scores.last]),
        **{f"best_{name}": value for name, value in _iqm_columns([scores.best]).items()},
    }


def _iqm_columns(scores: Sequence[np.ndarray]) -> Row:
    return dict(zip(("iqm", "iqm_low", "iqm_high"), statistics.iqm_interval(scores), strict=True))


def _improvement_rows(env: str, step: int, tasks: Tasks) -> list[Row]:
    """Compare each label with each other one, on the environments that both have. Returns are not added up over
    environments, so that there a difference is unknown."""
    rows = []
    for one, other in combinations(tasks, 2):
        common = [name for name in tasks[one] if name in tasks[other]]
        if not common or (env == ALL and len(common) < 2):
            continue
        pairs = [(tasks[one][name], tasks[other][name]) for name in common]
        last = statistics.probability_of_improvement([x.last for x, _ in pairs], [y.last for _, y in pairs])
        best = statistics.probability_of_improvement([x.best for x, _ in pairs], [y.best for _, y in pairs])
        both = (one, other, *last, *best), (other, one, *_reverse(last), *_reverse(best))
        for first, second, *columns in both:
            x, y = ([tasks[label][name].last for name in common] for label in (first, second))
            difference = statistics.UNKNOWN if env == ALL else statistics.difference(*x, *y)
            amounts = *_known(difference), *_known(statistics.average_gain(x, y))
            values = env, len(common), step, first, second, *columns, *amounts
            rows.append(dict(zip(IMPROVEMENT, values, strict=True)))
    return rows


def _known(interval: Interval) -> tuple[float | None, ...]:
    """Return an interval, or three unknown values: also where returns are so large that it has no ends."""
    return tuple(interval) if np.isfinite(interval).all() else (None, None, None)


def _reverse(p: Interval) -> Interval:
    return Interval(1 - p.value, 1 - p.high, 1 - p.low)


def _normalised_rows(step: int, tasks: Tasks, reference: str, notes: list[str]) -> list[Row]:
    """Divide last means by the reference's mean, which is taken as exact: intervals are of the label's own seeds.
    Environments where that mean is not positive are left out: dividing by it would reverse the order of scores."""
    means = {env: float(scores.last.mean()) for env, scores in tasks[reference].items()}
    if any(len(envs) > 1 for envs in tasks.values()):  # otherwise there is nothing to normalise
        for env in dict.fromkeys(env for envs in tasks.values() for env in envs):
            if means.get(env, 0) <= 0:
                why = f"the mean of {reference} there is not positive"
                why = why if env in means else f"{reference} has no score there"
                notes.append(f"{env} is not in the normalised scores at step {step}: {why}")
    rows = []
    for label, envs in tasks.items():
        ratios = [scores.last / means[env] for env, scores in envs.items() if means.get(env, 0) > 0]
        if len(ratios) < 2:
            continue
        rows.append(
            {
                "step": step,
                "label": label,
                "reference": reference,
                "environments": len(ratios),
                "mean": float(np.mean([ratio.mean() for ratio in ratios])),
                **_iqm_columns(ratios),
            }
        )
    return rows


def to_csv(rows: Sequence[Row], path: Path) -> None:
    """Write rows to a file. Without rows, remove a file that is there: it would be taken for theirs."""
    try:
        if rows:
            path.write_bytes(csv_table(rows).encode())
        else:
            path.unlink(missing_ok=True)
    except OSError as error:
        raise UserError(f"{path} cannot be written: {error.strerror}") from None
