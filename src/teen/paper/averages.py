"""How much more TEEN has than others on average over tasks, with intervals."""

from collections.abc import Mapping, Sequence

import numpy as np

from ..report.statistics import average_gain, has_gain
from .page import UNKNOWN, Row, Table
from .scores import WINDOW, cells, steps_shown
from .store import Trained

NOTE = (
    f"An average gain is of the {WINDOW}. Its logarithm is the mean over tasks of log(one's mean / the other's mean): "
    "each task counts the same, and twice as much cancels half as much. Ratios are multiplied and not added as in the "
    "gains above, so it is not to be set beside the claims. In brackets is its 95 % interval, Welch's: how sure the "
    "gain on these tasks is, not what to expect on others. Tasks count where both have two seeds and means that are "
    "twice their standard error above 0."
)
COLUMNS = ("step", "label", "over", "tasks", "gain", "low", "high", "tasks_known", "tasks_asked")


def gains(
    trained: Sequence[Trained], suites: Mapping[str, Sequence[str]], pairs: Sequence[tuple[str, str]]
) -> list[Row]:
    """Return a row for each step, pair of labels and suite, of the tasks on which a gain is known."""
    rows = []
    for step in steps_shown(trained):
        scores = {(cell.label, cell.env): cell.last for cell in cells(trained, [step])}
        for one, other in pairs:
            for suite, tasks in suites.items():
                both = [[scores.get((label, task), np.empty(0)) for label in (one, other)] for task in tasks]
                known = [(x, y) for x, y in both if has_gain(x, y)]
                ends = average_gain([x for x, _ in known], [y for _, y in known]) if known else (None, None, None)
                values = step, one, other, suite, *ends, len(known), len(tasks)
                rows.append(dict(zip(COLUMNS, values, strict=True)))
    return rows


def tables(rows: Sequence[Row]) -> list[Table]:
    """Return a table for each step at which a gain is known, without the pairs of which none is."""
    found = []
    for step in dict.fromkeys(row["step"] for row in rows if row["tasks_known"]):
        here = [row for row in rows if row["step"] == step]
        lines = []
        for pair in dict.fromkeys((row["label"], row["over"]) for row in here if row["tasks_known"]):
            of_pair = [row for row in here if (row["label"], row["over"]) == pair]
            lines.append([" over ".join(pair), *map(_text, of_pair)])
        suites = dict.fromkeys(row["tasks"] for row in here)
        found.append(Table(f"Average gains at step {step:,}", ["", *suites], lines))
    return found


def _text(row: Row) -> str:
    if not row["tasks_known"]:
        return UNKNOWN
    value, low, high = (100 * row[end] for end in ("gain", "low", "high"))
    part = f" ({row['tasks_known']} of {row['tasks_asked']} tasks)" if row["tasks_known"] < row["tasks_asked"] else ""
    return f"{value:.1f} % [{low:.1f}, {high:.1f}]{part}"
