"""The paper's two claims, computed from tables: how much better TEEN is than others, on average over tasks."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from . import averages, numbers
from .page import UNKNOWN, Page, Row, Table, figure_files
from .scale import Scale
from .scores import NOTE, WINDOW, cells, step_of_figure, steps_shown
from .store import Trained

OURS, ALPHA_0, ALL = "TEEN", "α=0", "all nine"
CONTROL = f"{OURS} {ALPHA_0}"
BASELINES = ("TD3", "SAC", "RND", "SUNRISE")

Means = Mapping[tuple[str, str], float | None]  # by label and task

CLAIMS = {  # over what: the baselines, of which the best on each task counts, and what the paper claims
    "SUNRISE": (("SUNRISE",), "41 %"),
    "the best baseline of each task": (BASELINES, "7.3 %"),
    "the best baseline but SUNRISE": (BASELINES[:3], UNKNOWN),
    "the better of TD3 and SAC": (BASELINES[:2], UNKNOWN),
}

PAIRS = [
    *((who, baseline) for who in (OURS, CONTROL) for baseline in BASELINES),
    (OURS, CONTROL),
]  # compared by average gain

NOTES = [
    "A gain is the mean over tasks of TEEN's return divided by the baseline's, less 1. The abstract and the "
    "introduction claim 41 % over the ensemble baseline and 7.3 % over the best off-policy algorithms, on average "
    "over the tasks.",
    "Both come out of Table 1 at 1M steps, over its four tasks: 41.3 % over SUNRISE, and 7.3 % over the best of all "
    "four baselines on each task, SUNRISE among them. Over the five tasks of Table 2 the same sums give 32.0 % and "
    "8.9 %, over all nine 36.2 % and 8.2 %: the claims are those of the MuJoCo tasks alone.",
    "7.3 % does not come out where SUNRISE, the baseline of the other claim, is left out: that gives 11.4 %.",
]

COLUMNS = {
    **{name: name for name in ("over", "tasks", "claimed")},
    "paper": "the paper's tables",
    "ours_last": f"ours, {WINDOW}",
    "ours_best": "ours, best so far",
    "control_last": f"ours with α=0, {WINDOW}",
    "control_best": "ours with α=0, best so far",
}


class Gain(NamedTuple):
    value: float | None
    tasks: int  # those that have all numbers
    asked: int

    def __str__(self) -> str:
        if self.value is None:
            return UNKNOWN
        part = f" ({self.tasks} of {self.asked} tasks)" if self.tasks < self.asked else ""
        return f"{100 * self.value:.1f} %{part}"


def gain(means: Means, tasks: Sequence[str], who: str, baselines: Sequence[str]) -> Gain:
    """Return the mean gain over tasks where all have a return and the best baseline's is positive: others have no
    ratio."""
    ratios = []
    for task in tasks:
        mean = means.get((who, task))
        returns = [value for name in baselines if (value := means.get((name, task))) is not None]
        if mean is not None and len(returns) == len(baselines) and max(returns) > 0:
            ratios.append(mean / max(returns))
    return Gain(float(np.mean(ratios)) - 1 if ratios else None, len(ratios), len(tasks))


def paper_means(tasks: Sequence[str], step: int) -> Means:
    scores = {(label, task): numbers.in_paper(label, task, step) for label in (OURS, *BASELINES) for task in tasks}
    return {key: score and score.mean for key, score in scores.items()}


def render(name: str, trained: Sequence[Trained], scale: Scale, suites: Mapping[str, Sequence[str]]) -> Page:
    """Render the gains on `suites`, the paper's tasks by suite. Where we have fewer tasks, ours are of fewer."""
    rows, tables = gains(trained, suites), []
    for step in dict.fromkeys(row["step"] for row in rows):
        lines = [[str(row[column]) for column in COLUMNS] for row in rows if row["step"] == step]
        tables.append(Table(f"Gains at step {step:,}", list(COLUMNS.values()), lines))
    average = averages.gains(trained, suites, PAIRS)
    data = {name: [_plain(row) for row in rows], f"{name}-average": average}
    pictures = figure_files(name, lambda: plot_gains(rows))
    with_intervals = averages.tables(average)
    return Page(
        [*tables, *with_intervals], data, pictures, [NOTE, *NOTES, *([averages.NOTE] if with_intervals else [])]
    )


def gains(trained: Sequence[Trained], suites: Mapping[str, Sequence[str]]) -> list[Row]:
    """Return a row for each step, claim and suite."""
    return [row for step in steps_shown(trained) for row in _gains_at(trained, suites, step)]


def _gains_at(trained: Sequence[Trained], suites: Mapping[str, Sequence[str]], step: int) -> list[Row]:
    scores = cells(trained, [step])
    ours = {kind: {(cell.label, cell.env): cell.mean(kind) for cell in scores} for kind in ("last", "best")}
    return [
        {
            "step": step,
            "over": over,
            "tasks": suite,
            "claimed": claimed if suite == ALL and step == numbers.STEPS[-1] else UNKNOWN,
            "paper": gain(paper_means(tasks, step), tasks, OURS, baselines),
            **{f"ours_{kind}": gain(means, tasks, OURS, baselines) for kind, means in ours.items()},
            **{f"control_{kind}": gain(means, tasks, CONTROL, baselines) for kind, means in ours.items()},
        }
        for over, (baselines, claimed) in CLAIMS.items()
        for suite, tasks in suites.items()
    ]


def _plain(row: Row) -> Row:
    """Return gains as numbers, and how many tasks the paper's and ours are of."""
    gains = {name: value.value for name, value in row.items() if isinstance(value, Gain)}
    return {**row, **gains, "tasks_paper": row["paper"].tasks, "tasks_ours": row["ours_last"].tasks}


def plot_gains(rows: Sequence[Row]) -> Any:
    """Plot the paper's and our gains, at the step at which ours are of most tasks. The legend says the steps.

    A gain of fewer tasks than the paper's is left to the table, and so is a claim for which we have no other. Where
    we have none at all, the paper's are shown."""
    from matplotlib.figure import Figure  # takes long to import
    from matplotlib.patches import Patch

    from ..report.figures import COLOURS, PAGE, short_step

    ours_at, paper_at = step_of_figure(row["step"] for row in rows for _ in range(row["ours_last"].tasks))
    kinds = {
        "paper": (paper_at, f"the paper at {short_step(paper_at)}", "0.75"),
        "ours_last": (ours_at, f"ours at {short_step(ours_at)}, {WINDOW}", COLOURS[0]),
        "control_last": (ours_at, "the same with α=0", COLOURS[1]),
    }
    ours = {row["over"] for row in rows if row["step"] == ours_at and row["ours_last"].tasks == row["ours_last"].asked}
    claims = [over for over in CLAIMS if over in ours] or list(CLAIMS)
    rows_drawn, columns = -(-len(claims) // 2), min(len(claims), 2)
    figure = Figure(figsize=(PAGE, 1.7 * rows_drawn + 0.5), layout="constrained")
    for place, over in enumerate(claims):
        axes = figure.add_subplot(rows_drawn, columns, place + 1)
        suites = list(dict.fromkeys(row["tasks"] for row in rows))
        for k, (kind, (step, _, colour)) in enumerate(kinds.items()):
            shown = [row for row in rows if (row["over"], row["step"]) == (over, step)]
            whole = [row for row in shown if row[kind].tasks == row[kind].asked]
            heights = {suites.index(row["tasks"]): 100 * row[kind].value for row in whole}
            axes.bar([x + 0.27 * (k - 1) for x in heights], list(heights.values()), 0.25, color=colour)
        axes.set_xticks(range(len(suites)), suites)
        axes.set_xlim(-0.5, len(suites) - 0.5)
        axes.set_title(f"over {over}", fontsize=7)
        axes.axhline(0, color="0.3", linewidth=0.5)
        axes.grid(axis="x", visible=False)
    figure.supylabel("gain in %", fontsize=8)
    handles = [Patch(color=colour, label=word) for _, word, colour in kinds.values()]
    figure.legend(handles=handles, loc="outside upper center", ncols=3)
    return figure
