"""Everything a report shows, as one dict that JSON can hold."""

import os
from collections.abc import Sequence
from typing import Any

import numpy as np

from . import metrics, statistics
from .compare import Comparison, compare, pooled
from .quantities import MEANING
from .runs import Run

DIGITS = 7  # significant ones, of computed numbers


def collect(runs: Sequence[Run], steps: Sequence[int] = ()) -> dict[str, Any]:
    """Environments in the order in which they come, each with its curves, members and metrics; and tables over all, at
    these steps among others.

    Runs without an evaluation are named in the notes and left out of the rest.
    """
    begun = [run for run in runs if run.steps.size]
    found = compare(begun, also=steps) if begun else Comparison("", [], [], [], [])
    pools = pooled(begun)
    names = dict(zip((run.path for run in runs), _names(runs), strict=True))
    labels = {run.path: label for own in pools.values() for label, several in own.items() for run in several}
    return {
        "labels": list(dict.fromkeys(label for own in pools.values() for label in own)),
        "environments": [_environment(env, own) for env, own in pools.items()],
        "scores": plain(found.scores),
        "improvement": plain(found.improvement),
        "normalised": plain(found.normalised),
        "reference": found.reference,
        "meaning": MEANING,
        "notes": [*found.notes, *(note for run in runs if (note := _unfinished(run, names[run.path])))],
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
    """What JSON can hold of it: what is not finite becomes None, what JSON has no word for becomes text."""
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
    """Each run's folder, from the folder that holds them all."""
    paths = [run.path.resolve() for run in runs]
    common = os.path.commonpath([path.parent for path in paths]) if paths else ""
    return [str(path.relative_to(common)) for path in paths]


def _unfinished(run: Run, name: str) -> str:
    if not run.steps.size:
        return f"{name} has no evaluation yet"
    planned = run.settings.get("steps")
    unfinished = isinstance(planned, int) and run.steps[-1] < planned
    return f"{name} has {run.steps[-1]:,} of {planned:,} steps" if unfinished else ""


def _environment(env: str, labels: dict[str, list[Run]]) -> dict[str, Any]:
    ends = [int(run.steps[-1]) for runs in labels.values() for run in runs]
    members = {label: _members(runs) for label, runs in labels.items()}
    return {
        "env": env,
        "step": min(ends),  # the last that all runs have
        "curves": [{"label": label, **curve(runs)} for label, runs in labels.items()],
        "members": [{"label": label, **own} for label, own in members.items() if own["steps"]],
        "training": _by_quantity({label: metrics.training(runs) for label, runs in labels.items()}),
        "diagnostics": _by_quantity({label: metrics.diagnostics(runs) for label, runs in labels.items()}),
        "confusion": [
            {"label": label, "step": found[0], "shares": plain(found[1])}
            for label, runs in labels.items()
            if (found := metrics.confusion(runs))
        ],
    }


def curve(runs: Sequence[Run]) -> dict[str, Any]:
    """Statistics over the seeds that have each evaluation."""
    steps = np.unique(np.concatenate([run.steps for run in runs]))
    returns = np.concatenate([_at(run, steps) for run in runs])
    mean, std = metrics.mean_and_std(returns)
    iqm, low, high = statistics.iqm_curve(returns)
    return {
        "seeds": [seed for run in runs for seed in run.seeds],
        "steps": plain(steps),
        "returns": plain(returns),
        "count": plain(np.isfinite(returns).sum(0)),
        "mean": plain(mean),
        "std": plain(std),
        "iqm": plain(iqm),
        "low": plain(low),
        "high": plain(high),
    }


def _at(run: Run, steps: np.ndarray) -> np.ndarray:
    """(seed, step) Its returns at these steps, which its own are among."""
    returns = np.full((len(run.seeds), len(steps)), np.nan)
    returns[:, np.searchsorted(steps, run.steps)] = run.returns
    return returns


def _members(runs: Sequence[Run]) -> dict[str, Any]:
    """Means over seeds: of the evaluated policy, of its members, and of each seed's best member."""
    steps = sorted({step for run in runs for step in run.members if step in run.steps})
    rows: dict[str, list[Any]] = {"policy": [], "members": [], "best": []}
    for step in steps:
        having = [run for run in runs if step in run.members and step in run.steps]
        rows["policy"].append(
            metrics.mean(np.concatenate([run.returns[:, run.steps == step].ravel() for run in having]))
        )
        rows["members"].append(metrics.mean(np.concatenate([run.members[step].ravel() for run in having])))
        best = [np.fmax.reduce(run.members[step], axis=1, initial=np.nan) for run in having]
        rows["best"].append(metrics.mean(np.concatenate(best)))
    return {"steps": steps, **{kind: plain(values) for kind, values in rows.items()}}


def _by_quantity(labels: dict[str, metrics.Curves]) -> dict[str, list[dict[str, Any]]]:
    quantities = dict.fromkeys(quantity for curves in labels.values() for quantity in curves)
    return {
        quantity: [
            {"label": label, **plain(curves[quantity]._asdict())}
            for label, curves in labels.items()
            if quantity in curves
        ]
        for quantity in quantities
    }
