"""Learning curves, drawn as the report draws them, with the scores of the tables below."""

from collections.abc import Iterator, Sequence
from typing import Any

from ..report import data
from . import scores
from .draw import Page, Picture, Row
from .scale import Scale
from .store import Trained

Panel = dict[str, Any]  # as the report's figures take it

NOTE = "Curves are means over seeds, with a band of one standard deviation, and IQMs with 95 % intervals. They are as "
NOTE += "measured; the paper smooths its own."


def page(name: str, trained: Sequence[Trained], scale: Scale) -> Page:
    found, parts = scores.cells(trained, scores.steps_shown(trained)), panels(trained)
    return Page(
        [*scores.tables(found), *scores.others(found)],
        {name: [cell.row() for cell in found], f"{name}-curves": rows(parts)},
        draw(name, parts),
        [scores.NOTE, NOTE],
    )


def panels(trained: Sequence[Trained]) -> list[Panel]:
    """With the curve of each label that has any evaluation."""
    found: dict[str, list[dict[str, Any]]] = {}
    for own in trained:
        curves = found.setdefault(own.entry.panel, [])
        if own.runs:
            curves.append({**data.curve(own.runs), "label": own.entry.label})
    return [{"env": panel, "curves": curves} for panel, curves in found.items() if curves]


def draw(name: str, parts: list[Panel]) -> Iterator[Picture]:
    """All panels in one figure. Nothing where nothing is trained."""
    from ..report import figures

    labels = list(dict.fromkeys(curve["label"] for part in parts for curve in part["curves"]))
    for kind in figures.KINDS if parts else ():
        yield from figures.curves(f"{name}-{kind}", parts, labels, kind)


def rows(parts: list[Panel]) -> list[Row]:
    return [
        {"panel": part["env"], "label": curve["label"], "step": step, **{name: curve[name][i] for name in COLUMNS}}
        for part in parts
        for curve in part["curves"]
        for i, step in enumerate(curve["steps"])
    ]


COLUMNS = ("count", "mean", "std", "iqm", "low", "high")
