"""Plot learning curves for print: one column wide or two, with vector fonts and the colours of the page."""

import io
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, MaxNLocator

from ..errors import printable
from .style import styled

COLUMN, PAGE = 3.3, 6.8  # widths of a paper's column and page, in inches
COLOURS = ("#0068b0", "#d55e00", "#00855f", "#cf5f9e", "#15181c", "#8a2be2")
DASHES = ("-", "--", ":")  # beyond as many labels as colours
KINDS = {"mean": "mean return", "iqm": "IQM of returns"}
MOST_PANELS = 60  # of one figure
MOST_NAMED = 100  # labels in a legend
LONGEST_TITLE, LONGEST_LABEL = 60, 120  # characters

STYLE: Any = {
    "font.family": "sans-serif",
    "font.size": 8,
    "axes.titlesize": 8.5,
    "legend.fontsize": 7.5,
    "xtick.labelsize": 7,
    "ytick.labelsize": 7,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.linewidth": 0.6,
    "axes.grid": True,
    "grid.linewidth": 0.4,
    "grid.alpha": 0.35,
    "lines.linewidth": 1.2,
    "legend.frameon": False,
    "pdf.fonttype": 42,
    "savefig.dpi": 300,
}


def plot(data: dict[str, Any]) -> Iterator[tuple[str, bytes]]:
    """Yield each figure's file name and content: every environment by itself, and several together."""
    environments = data["environments"]
    names = file_names([part["env"] for part in environments])
    for kind in KINDS:
        for part, name in zip(environments, names, strict=True):
            yield from curves(f"{name}-{kind}", [part], data["labels"], kind)
        if 1 < len(environments) <= MOST_PANELS:
            yield from curves(f"all-{kind}", environments, data["labels"], kind)


def file_names(texts: list[str]) -> list[str]:
    """Return distinct names without special characters."""
    names: list[str] = []
    for text in texts:
        plain = "".join(c if c.isascii() and (c.isalnum() or c in "._-") else "-" for c in text)
        stem = plain[:80].strip("-.") or "env"
        numbered = (stem if k == 1 else f"{stem}-{k}" for k in range(1, len(texts) + 2))
        names.append(next(name for name in numbered if name not in [*names, "all"]))
    return names


def curves(name: str, parts: list[dict[str, Any]], labels: list[str], kind: str) -> Iterator[tuple[str, bytes]]:
    """Plot a panel for each part."""
    return files(name, lambda: _figure(parts, labels, kind))


def files(name: str, make: Callable[[], Figure]) -> Iterator[tuple[str, bytes]]:
    """Yield a figure as PNG and PDF: file names and contents."""
    with styled(STYLE):
        figure = make()
        for suffix, metadata in (("png", {"Software": None}), ("pdf", {"CreationDate": None})):
            content = io.BytesIO()
            figure.savefig(content, format=suffix, metadata=metadata)  # without a date: the same data, the same file
            yield f"{name}.{suffix}", content.getvalue()


def _figure(parts: list[dict[str, Any]], labels: list[str], kind: str) -> Figure:
    columns = min(len(parts), 3)
    rows = -(-len(parts) // columns)
    shown = [label for label in labels if any(curve["label"] == label for part in parts for curve in part["curves"])]
    shown = shown[:MOST_NAMED]
    width = COLUMN if columns == 1 else PAGE
    texts = [short(label, LONGEST_LABEL) for label in shown]
    longest = max(map(len, texts), default=1)
    across = max(1, min(len(shown), int(width * 15 / (longest + 6))))  # labels beside each other in the legend
    legend_height = 0.17 * -(-len(shown) // across)
    height = rows * (2.1 if columns < 3 else 1.75) + legend_height
    figure = Figure(figsize=(width, height), layout="constrained")
    lines: dict[str, Line2D] = {}
    for place, part in enumerate(parts):
        lines |= _curves(figure.add_subplot(rows, columns, place + 1), part, labels, kind)
    texts = [f" {text}" if text.startswith("_") else text for text in texts]  # matplotlib leaves out _names
    handles = [lines[label] for label in shown]
    figure.legend(handles, texts, loc="outside upper center", ncols=across, handlelength=1.8, columnspacing=1.2)
    figure.supxlabel("environment steps", fontsize=8)
    figure.supylabel(KINDS[kind], fontsize=8)
    return figure


def _curves(axes: Axes, part: dict[str, Any], labels: list[str], kind: str) -> dict[str, Line2D]:
    """Plot each label's curve and band, and return the lines by label."""
    lines = {}
    for curve in part["curves"]:
        steps = np.array(curve["steps"])
        middle = np.array(curve[kind], float)
        if kind == "iqm":
            low, high = np.array([curve["low"], curve["high"]], float)
        else:
            std = np.array(curve["std"], float)  # NaN for a single seed, which has no band
            low, high = middle - std, middle + std
        index = labels.index(curve["label"])
        colour, dash = COLOURS[index % len(COLOURS)], DASHES[index // len(COLOURS) % len(DASHES)]
        marker = "o" if np.isfinite(middle).sum() == 1 else None  # a line needs two points
        (line,) = axes.plot(steps, middle, color=colour, linestyle=dash, marker=marker, markersize=3)
        lines[curve["label"]] = line
        axes.fill_between(steps, low, high, color=colour, alpha=0.18, linewidth=0)
    axes.set_title(short(part["env"], LONGEST_TITLE))
    axes.margins(x=0.02)
    axes.xaxis.set_major_locator(MaxNLocator(5, integer=True))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda step, _: short_step(step)))
    return lines


def short(text: str, most: int) -> str:
    """Return a text that fits into a figure, whatever file it came from."""
    return printable(text if len(text) <= most else f"{text[: most - 1]}…")


def short_step(step: float) -> str:
    for size, unit in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(step) >= size:
            return f"{step / size:g}{unit}"
    return f"{step:g}"
