"""Collect everything a report shows, as one dict that JSON can hold."""

import os
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from . import metrics, statistics, thinning
from .compare import Comparison, compare, pooled
from .quantities import MEANING
from .runs import Run

DIGITS = 7  # significant ones, of computed numbers


def collect(runs: Sequence[Run], steps: Sequence[int] = ()) -> dict[str, Any]:
    """Return environments in the order in which they come, each with its curves, members and metrics; and tables over
    all, at these steps among others.

    Runs without an evaluation are named in the notes and left out of the rest.
    """
    begun = [run for run in runs if run.steps.size]
    comparison = compare(begun, also=steps) if begun else Comparison("", [], [], [], [])
    pools = pooled(begun)
    names = dict(zip((run.path for run in runs), _names(runs), strict=True))
    most = thinning.most_numbers(pools)
    remarks = [thinning.note(members, names, most) for pool in pools.values() for members in pool.values()]
    remarks += [_unfinished(run, names[run.path]) for run in runs]
    labels = {run.path: label for pool in pools.values() for label, members in pool.items() for run in members}
    return {
        "labels": list(dict.fromkeys(label for pool in pools.values() for label in pool)),
        "environments": [_environment(env, pool, most) for env, pool in pools.items()],
        "scores": plain(comparison.scores),
        "improvement": plain(comparison.improvement),
        "normalised": plain(comparison.normalised),
        "reference": comparison.reference,
        "meaning": MEANING,
        "notes": [*comparison.notes, *filter(None, remarks)],
        "runs": [
            {
                "name": names[run.path],
                "label": labels.get(run.path),
                "settings": plain(run.settings),
                "versions": plain(run.versions),
            }
            for run in runs
        ],
    }


def plain(value: Any) -> Any:
    """Return what JSON can hold of a value: None for what is not finite, text for what JSON has no type for."""
    if isinstance(value, np.ndarray):
        return [plain(item) for item in value] if value.ndim else plain(value[()])
    if isinstance(value, np.integer):
        return int(value)
    if isinstance(value, np.floating):
        return float(f"{value:.{DIGITS}g}") if np.isfinite(value) else None
    if isinstance(value, float):
        return value if np.isfinite(value) else None
    if isinstance(value, dict):
        return {str(name): plain(item) for name, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    return value if value is None or isinstance(value, (bool, int, str)) else str(value)


def _names(runs: Sequence[Run]) -> list[str]:
    """Return each run's folder, relative to the folder that holds them all."""
    paths = [run.path.resolve() for run in runs]
    common = os.path.commonpath([path.parent for path in paths]) if paths else ""
    return [str(path.relative_to(common)) for path in paths]


def _unfinished(run: Run, name: str) -> str:
    if not run.steps.size:
        return f"{name} has no evaluation yet"
    planned = run.settings.get("steps")
    unfinished = isinstance(planned, int) and run.steps[-1] < planned
    return f"{name} has {run.steps[-1]:,} of {planned:,} steps" if unfinished else ""


def _environment(env: str, pool: Mapping[str, Sequence[Run]], most: int) -> dict[str, Any]:
    step = min(int(run.steps[-1]) for runs in pool.values() for run in runs)  # the last that all runs have
    part: dict[str, Any] = {"env": env, "step": step, "curves": [], "members": []}
    part |= {"training": {}, "diagnostics": {}, "confusion": []}
    for label, runs in pool.items():
        part["curves"].append({"label": label, **curve(runs, most)})
        if (members := _members(runs))["steps"]:
            part["members"].append({"label": label, **members})
        for kind, curves in (("training", metrics.training(runs)), ("diagnostics", metrics.diagnostics(runs))):
            for quantity, values in curves.items():
                part[kind].setdefault(quantity, []).append({"label": label, **plain(values._asdict())})
        if matrix := metrics.confusion(runs):
            part["confusion"].append({"label": label, "step": matrix[0], "shares": plain(matrix[1])})
    return part


def curve(runs: Sequence[Run], most: int = thinning.MOST_NUMBERS) -> dict[str, Any]:
    """Return statistics over the seeds that have each evaluation, in at most as many numbers. A single seed has no
    standard deviation."""
    steps = thinning.shown(runs, most)
    returns = np.concatenate([_at(run, steps) for run in runs])
    mean, std = metrics.mean_and_std(returns)
    iqm, low, high = statistics.iqm_curve(returns)
    columns = {"steps": steps, "returns": returns, "count": np.isfinite(returns).sum(0), "mean": mean, "std": std}
    columns |= {"iqm": iqm, "low": low, "high": high}
    return {"seeds": [seed for run in runs for seed in run.seeds], **plain(columns)}


def _at(run: Run, steps: np.ndarray) -> np.ndarray:
    """Return a run's (seed, step) returns at these steps."""
    returns = np.full((len(run.seeds), len(steps)), np.nan)
    _, places, evaluations = np.intersect1d(steps, run.steps, assume_unique=True, return_indices=True)
    returns[:, places] = run.returns[:, evaluations]
    return returns


def _members(runs: Sequence[Run]) -> dict[str, Any]:
    """Return means over seeds: of the evaluated policy, of its members, and of each seed's best member."""
    common = [set(run.members) & set(run.steps.tolist()) for run in runs]
    steps = thinning.chosen(np.array(sorted(set().union(*common)), int), thinning.MOST_POINTS).tolist()
    means: dict[str, list[Any]] = {"policy": [], "members": [], "best": []}
    for step in steps:
        evaluated = [run for run, both in zip(runs, common, strict=True) if step in both]
        tables = [run.members[step] for run in evaluated]
        returns = {
            "policy": [run.returns[:, np.searchsorted(run.steps, step)] for run in evaluated],
            "members": tables,
            "best": [np.fmax.reduce(table, axis=1, initial=np.nan) for table in tables],
        }
        for kind, arrays in returns.items():
            means[kind].append(metrics.mean(np.concatenate([array.ravel() for array in arrays])))
    return {"steps": steps, **plain(means)}
