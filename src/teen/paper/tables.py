"""Tables 1 and 2: scores as numbers and as bars."""

from collections.abc import Sequence
from typing import Any

from . import numbers
from .page import Page, Row, Table, figure_files, plus_minus
from .scale import Scale
from .scores import NOTE, WINDOW, Cell, cells, reference_tables, score_tables, steps_shown
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
    """Plot our scores at the end of our runs and the paper's at the end of its own. The legend says the steps."""
    from matplotlib.figure import Figure  # takes long to import
    from matplotlib.patches import Patch

    from ..report.figures import COLOURS, PAGE, short_step

    envs = list(dict.fromkeys(cell.env for cell in cells))
    columns = 2 if len(envs) in (2, 4) else min(len(envs), 3)
    rows = -(-len(envs) // columns)
    figure = Figure(figsize=(PAGE, 2.2 * rows + 0.3), layout="constrained")
    ours_at, paper_at = max((cell.trained.need.steps for cell in cells), default=0), numbers.STEPS[-1]
    for place, env in enumerate(envs):
        axes = figure.add_subplot(rows, columns, place + 1)
        panel = [cell for cell in cells if cell.env == env]
        labels = list(dict.fromkeys(cell.label for cell in panel))
        for cell in panel:
            row, x = cell.row(), labels.index(cell.label)
            if cell.step == ours_at and row["seeds"]:
                axes.bar(x - 0.2, row["last_mean"], 0.38, yerr=row["last_std"], color=COLOURS[0], ecolor="0.3")
            if cell.step == paper_at and cell.paper:
                axes.bar(x + 0.2, cell.paper.mean, 0.38, yerr=cell.paper.spread, color="0.75", ecolor="0.3")
        axes.set_title(env)
        axes.set_xticks(range(len(labels)), labels, rotation=35, ha="right")
        axes.grid(axis="x", visible=False)
    ours = Patch(color=COLOURS[0], label=f"ours at {short_step(ours_at)}, {WINDOW}")
    paper = Patch(color="0.75", label=f"the paper at {short_step(paper_at)}")
    figure.legend(handles=[ours, paper], loc="outside upper center", ncols=2)
    figure.supylabel("return, mean ± std over seeds", fontsize=8)
    return figure
