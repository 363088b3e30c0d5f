"""Theorem 1 and Lemma 3 in numbers. No run is needed."""

from collections.abc import Sequence
from typing import Any

from . import theorems as theory
from .draw import Page, Row, Table, pictures
from .scale import Scale
from .store import Trained

NOTES = [
    "Errors have mean 0 and variance 1. Theorem 1 (i) holds: no expected minimum lies below −(N−1)/√(2N−1), and one "
    "distribution reaches it.",
    "The proof of Lemma 3 has a slip: the integral that it sets equal to (N−1)²/(2N−1) is N²/(2N−1). The bound holds "
    "all the same, because 1 may be taken off the other factor first.",
    "Theorem 1 assumes independent values. The target's table shows what correlation leaves of its two effects.",
]


def page(name: str, trained: Sequence[Trained], scale: Scale) -> Page:
    parts: dict[str, Sequence[Any]] = {
        "minimum": theory.minimum_rows(),
        "square": theory.square_rows(),
        "mean": theory.mean_rows(),
        "target": theory.target_rows(),
    }
    headings = {
        "minimum": "Theorem 1 (i): the expected minimum of N errors, and its bound",
        "square": "Lemma 3: the integral in its proof",
        "mean": "Theorem 1 (ii): the variance of a mean of N errors",
        "target": "The target: minimum over M critics of the mean over N actions",
    }
    shown = [_table(headings[key], rows) for key, rows in parts.items()]
    data: dict[str, list[Row]] = {f"{name}-{key}": [row._asdict() for row in rows] for key, rows in parts.items()}
    return Page(shown, data, pictures(name, lambda: _figure(parts["minimum"])), NOTES)


def _table(heading: str, rows: Sequence[Any]) -> Table:
    def text(cell: Any) -> str:
        return cell if isinstance(cell, str) else f"{round(cell, 9) + 0:.4g}"  # + 0: no minus before a zero

    return Table(heading, rows[0]._fields, [[text(cell) for cell in row] for row in rows])


def _figure(rows: Sequence[theory.Minimum]) -> Any:
    from matplotlib.figure import Figure

    from ..report.figures import COLUMN

    figure = Figure(figsize=(COLUMN, 2.6), layout="constrained")
    axes = figure.add_subplot()
    for errors in dict.fromkeys(row.errors for row in rows):
        own = [row for row in rows if row.errors == errors]
        axes.plot([row.n for row in own], [row.expected for row in own], "o-", markersize=3, label=errors)
    first = [row for row in rows if row.errors == rows[0].errors]
    axes.plot([row.n for row in first], [row.bound for row in first], "k--", label="the bound")
    axes.set(xlabel="N", ylabel="expected minimum")
    axes.legend(fontsize=5.5)
    return figure
