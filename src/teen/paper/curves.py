"""Learning curves as the report plots them, with the scores of the tables below."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from ..report import data
from ..report.runs import Run
from . import scores
from .page import Page, Picture, Table
from .scale import Scale
from .store import Trained

Panel = dict[str, Any]  # as the report's figures take it

COLUMNS = ("count", "mean", "std", "iqm", "low", "high")
NOTE = "Curves are means over seeds, with a band of one standard deviation, and IQMs with 95 % intervals. They are as "
NOTE += "measured; the paper smooths its own."


def render(name: str, trained: Sequence[Trained], scale: Scale, between: Sequence[Table] = ()) -> Page:
    """Render curves and scores, with further tables between the scores and others' results."""
    cells, parts = scores.cells(trained, scores.steps_shown(trained)), panels(trained)
    curves = [
        {"panel": part["env"], "label": curve["label"], "step": step, **{name: curve[name][i] for name in COLUMNS}}
        for part in parts
        for curve in part["curves"]
        for i, step in enumerate(curve["steps"])
    ]
    return Page(
        [*scores.score_tables(cells), *between, *scores.reference_tables(cells)],
        {name: [cell.row() for cell in cells], f"{name}-curves": curves},
        plot_curves(name, parts),
        [scores.NOTE, NOTE],
    )


def panels(trained: Sequence[Trained]) -> list[Panel]:
    """Return the panels that have a curve, with the curve of each label that has an evaluation."""
    curves: dict[str, list[dict[str, Any]]] = {}
    for item in trained:
        panel = curves.setdefault(item.entry.panel, [])
        if item.runs:
            panel.append({**data.curve(evaluated_together(item.runs)), "label": item.entry.label})
    return [{"env": env, "curves": panel} for env, panel in curves.items() if panel]


def evaluated_together(runs: Sequence[Run]) -> list[Run]:
    """Return the runs without the evaluations that one of them skipped: a mean over seeds that come and go would jump.
    Those of longer runs after the end of shorter ones stay."""
    kept = []
    for run in runs:
        skipped = [(run.steps < other.steps[-1]) & ~np.isin(run.steps, other.steps) for other in runs]
        shown = ~np.any(skipped, axis=0)
        cut = {name: getattr(run, name)[..., shown] for name in ("steps", "returns", "episodes")}
        kept.append(run._replace(**cut))
    return kept


def plot_curves(name: str, parts: list[Panel]) -> Iterator[Picture]:
    """Plot all panels in one figure of means and one of IQMs; nothing where nothing is trained."""
    from ..report import figures  # matplotlib takes long to import

    labels = list(dict.fromkeys(curve["label"] for part in parts for curve in part["curves"]))
    for kind in figures.KINDS if parts else ():
        yield from figures.curves(f"{name}-{kind}", parts, labels, kind)
