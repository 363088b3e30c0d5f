"""Tables 1 and 2: scores as numbers and as bars."""

from collections.abc import Sequence
from typing import Any

from .page import Page, Row, Table, figure_files, plus_minus
from .scale import Scale
from .scores import NOTE, WINDOW, Cell, cells, reference_tables, score_tables, step_of_figure, steps_shown
from .store import Trained


def render(name: str, trained: Sequence[Trained], scale: Scale) -> Page:
    scores = cells(trained, steps_shown(trained))
    return Page(
        [*overview(scores), *score_tables(scores), *reference_tables(scores)],
        {name: [cell.row() for cell in scores]},
        figure_files(name, lambda: plot_bars(scores)),
        [NOTE],
    )


def overview(cells: Sequence[Cell]) -> list[Table]:
    """Return a table for each step as the paper prints it: a row for each algorithm, a column for each task, and the
    paper's numbers in brackets."""
    tables = []
    for step in sorted({cell.step for cell in cells if cell.shown}):
        rows = {(cell.label, cell.env): cell.row() for cell in cells if cell.step == step}
        labels, envs = (list(dict.fromkeys(key[i] for key in rows)) for i in (0, 1))
        lines = [[label, *(_both(rows[label, env]) for env in envs)] for label in labels]
        tables.append(Table(f"Step {step:,}: ours, {WINDOW} (the paper's)", ["", *envs], lines))
    return tables


def _both(row: Row) -> str:
    return f"{plus_minus(row['last_mean'], row['last_std'])} ({plus_minus(row['paper_mean'], row['paper_spread'])})"


def plot_bars(cells: Sequence[Cell]) -> Any:
    """Plot our scores and the paper's, each task at the step at which most of ours are. Its title says the step."""
    from matplotlib.figure import Figure  # takes long to import
    from matplotlib.patches import Patch

    from ..report.figures import COLOURS, PAGE, short_step

    envs = list(dict.fromkeys(cell.env for cell in cells))
    columns = 2 if len(envs) in (2, 4) else min(len(envs), 3)
    rows = -(-len(envs) // columns)
    figure = Figure(figsize=(PAGE, 2.2 * rows + 0.3), layout="constrained")
    for place, env in enumerate(envs):
        axes = figure.add_subplot(rows, columns, place + 1)
        panel = [cell for cell in cells if cell.env == env]
        ours_at, paper_at = step_of_figure(cell.step for cell in panel if cell.last.size)
        labels = list(dict.fromkeys(cell.label for cell in panel))
        for cell in panel:
            row, x = cell.row(), labels.index(cell.label)
            if cell.step == ours_at and row["seeds"]:
                axes.bar(x - 0.2, row["last_mean"], 0.38, yerr=row["last_std"], color=COLOURS[0], ecolor="0.3")
            if cell.step == paper_at and cell.paper:
                axes.bar(x + 0.2, cell.paper.mean, 0.38, yerr=cell.paper.spread, color="0.75", ecolor="0.3")
        other = f" (the paper: {short_step(paper_at)})" if paper_at != ours_at else ""
        axes.set_title(f"{env}, {short_step(ours_at)}{other}")
        axes.set_xticks(range(len(labels)), labels, rotation=35, ha="right")
        axes.grid(axis="x", visible=False)
    handles = [Patch(color=COLOURS[0], label=f"ours, {WINDOW}"), Patch(color="0.75", label="the paper")]
    figure.legend(handles=handles, loc="outside upper center", ncols=2)
    figure.supylabel("return, mean ± std over seeds", fontsize=8)
    return figure
