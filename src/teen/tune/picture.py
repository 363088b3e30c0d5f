"""A picture of a study: what mattered, how trials became better, and each setting against the values reached."""

import io
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import LogFormatter

from ..errors import printable
from ..report.style import styled
from .importance import FEWEST
from .space import Space

if TYPE_CHECKING:
    from optuna.trial import FrozenTrial

MOST_SETTINGS = 9  # that are shown against values, the most important ones
COLUMNS = 3
DOTS: dict[str, Any] = {"linestyle": "", "marker": "o", "markersize": 4, "alpha": 0.8}
STYLES = (
    ("PRUNED", {**DOTS, "color": "silver", "label": "pruned, at its last evaluation"}),
    ("COMPLETE", {**DOTS, "color": "tab:blue", "label": "complete"}),
)


def drawn(trials: Sequence["FrozenTrial"], mattered: Mapping[str, float], space: Space, title: str) -> bytes:
    """Return the picture as PNG."""
    content = io.BytesIO()
    with styled():
        figure(trials, mattered, space, title).savefig(content, format="png")
    return content.getvalue()


def figure(trials: Sequence["FrozenTrial"], mattered: Mapping[str, float], space: Space, title: str) -> Figure:
    names = sorted(space.distributions, key=lambda name: -mattered.get(name, 0))[:MOST_SETTINGS]
    rows = 1 + -(-len(names) // COLUMNS)
    made = Figure(figsize=(11, 3.2 * rows), dpi=130, layout="constrained")
    made.suptitle(printable(title))
    cells = made.add_gridspec(rows, COLUMNS)
    _bars(made.add_subplot(cells[0, 0]), mattered)
    _history(made.add_subplot(cells[0, 1:]), trials)
    for i, name in enumerate(names):
        _slice(made.add_subplot(cells[1 + i // COLUMNS, i % COLUMNS]), trials, name, space)
    return made


def _bars(axes: Any, mattered: Mapping[str, float]) -> None:
    axes.set(title="what mattered", xlabel="share (PED-ANOVA)", xlim=(0, 1))
    if mattered:
        names = list(mattered)[::-1]
        axes.barh([printable(name) for name in names], [mattered[name] for name in names], color="tab:blue")
    else:
        axes.text(0.5, 0.5, f"known from {FEWEST}\ncomplete trials on", ha="center", va="center", color="grey")
        axes.set_yticks([])
    axes.spines[["top", "right"]].set_visible(False)


def _history(axes: Any, trials: Sequence["FrozenTrial"]) -> None:
    for state, style in STYLES:
        shown = [trial for trial in trials if trial.state.name == state and _value(trial) is not None]
        axes.plot([trial.number for trial in shown], [_value(trial) for trial in shown], **style)
    complete = [trial for trial in trials if trial.state.name == "COMPLETE" and _value(trial) is not None]
    if complete:
        best = np.maximum.accumulate([_value(trial) or 0.0 for trial in complete])
        axes.step([trial.number for trial in complete], best, where="post", color="tab:orange", label="best so far")
        axes.legend(frameon=False, fontsize="small")
    axes.set(title="trials", xlabel="trial", ylabel="value")
    _plain(axes)


def _slice(axes: Any, trials: Sequence["FrozenTrial"], name: str, space: Space) -> None:
    limits: Any = space.distributions[name]
    choices = [str(choice) for choice in limits.choices] if hasattr(limits, "choices") else None
    for state, style in STYLES:
        shown = [t for t in trials if t.state.name == state and name in t.params and _value(t) is not None]
        # A choice is shown at its number, in the order of the file.
        at = [choices.index(str(t.params[name])) if choices else t.params[name] for t in shown]
        axes.plot(at, [_value(trial) for trial in shown], **{**style, "label": None})
    if choices:
        axes.set_xticks(range(len(choices)), [printable(choice)[:20] for choice in choices])
    elif limits.log:
        axes.set_xscale("log")
        axes.xaxis.set_major_formatter(LogFormatter())  # plain numbers: mathematical text is off
        axes.xaxis.set_minor_formatter(LogFormatter(minor_thresholds=(1, 0.4)))
    axes.set(xlabel=printable(name), ylabel="value")
    _plain(axes)


def _value(trial: "FrozenTrial") -> float | None:
    return trial.value if trial.value is not None and np.isfinite(trial.value) else None


def _plain(axes: Any) -> None:
    axes.grid(alpha=0.25)
    axes.spines[["top", "right"]].set_visible(False)
