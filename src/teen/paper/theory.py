"""Theorem 1 and Lemma 3 in numbers. No run is needed."""

from collections.abc import Sequence
from typing import Any

from . import theorems
from .page import Page, Table, figure_files
from .scale import Scale
from .store import Trained

NOTES = [
    "Errors have mean 0 and variance 1. Theorem 1 (i) holds: no expected minimum lies below −(N−1)/√(2N−1), and one "
    "distribution reaches it.",
    "The proof of Lemma 3 has a slip: the integral that it sets equal to (N−1)²/(2N−1) is N²/(2N−1). The bound holds "
    "all the same, because 1 may be taken off the other factor first.",
    "Theorem 1 assumes independent values. The target's table shows what correlation leaves of its two effects.",
]
HEADINGS = {
    "minimum": "Theorem 1 (i): the expected minimum of N errors, and its bound",
    "square": "Lemma 3: the integral in its proof",
    "mean": "Theorem 1 (ii): the variance of a mean of N errors",
    "target": "The target: minimum over M critics of the mean over N actions",
}


def render(name: str, trained: Sequence[Trained], scale: Scale) -> Page:
    parts = theorems.tables()
    return Page(
        [Table(HEADINGS[key], rows[0]._fields, list(map(theorems.texts, rows))) for key, rows in parts.items()],
        {f"{name}-{key}": [row._asdict() for row in rows] for key, rows in parts.items()},
        figure_files(name, lambda: plot_minima(parts["minimum"])),
        NOTES,
    )


def plot_minima(minima: Sequence[theorems.Minimum]) -> Any:
    from matplotlib.figure import Figure  # takes long to import

    from ..report.figures import COLUMN

    figure = Figure(figsize=(COLUMN, 2.6), layout="constrained")
    axes = figure.add_subplot()
    for errors in dict.fromkeys(row.errors for row in minima):
        rows = [row for row in minima if row.errors == errors]
        axes.plot([row.n for row in rows], [row.expected for row in rows], "o-", markersize=3, label=errors)
    axes.plot([row.n for row in rows], [row.bound for row in rows], "k--", label="the bound")  # of any errors
    axes.set(xlabel="N", ylabel="expected minimum")
    axes.legend(fontsize=5.5)
    return figure
