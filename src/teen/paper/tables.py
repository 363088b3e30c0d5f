"""Tables 1 and 2, and Humanoid's: scores as numbers and as bars."""

from collections.abc import Sequence
from typing import Any

from . import numbers
from .draw import Page, Row, Table, pictures, spread
from .scale import Scale
from .scores import NOTE, WINDOW, Cell, cells, others, steps_shown, tables
from .store import Trained


def page(name: str, trained: Sequence[Trained], scale: Scale) -> Page:
    found = cells(trained, steps_shown(trained))
    return Page(
        [*overview(found), *tables(found), *others(found)],
        {name: [cell.row() for cell in found]},
        pictures(name, lambda: bars(found)),
        [NOTE],
    )


def overview(found: Sequence[Cell]) -> list[Table]:
    """As the paper prints it: algorithms below each other, tasks side by side, and the paper's numbers in brackets."""
    shown = []
    for step in sorted({cell.step for cell in found}):
        here = {(cell.trained.entry.name, cell.trained.need.env): cell for cell in found if cell.step == step}
        if not any(cell.last.size or cell.paper for cell in here.values()):
            continue
        labels, envs = (list(dict.fromkeys(key[i] for key in here)) for i in (0, 1))
        rows = [
            [label, *(_both(here[label, env].row()) if (label, env) in here else "" for env in envs)]
            for label in labels
        ]
        shown.append(Table(f"Step {step:,}: ours, {WINDOW} (the paper's)", ["", *envs], rows))
    return shown


def _both(row: Row) -> str:
    return f"{spread(row['last_mean'], row['last_std'])} ({spread(row['paper_mean'], row['paper_spread'])})"


def bars(found: Sequence[Cell]) -> Any:
    """Ours where our runs end, the paper's where its do: the legend says the steps."""
    from matplotlib.figure import Figure
    from matplotlib.patches import Patch

    from ..report.figures import COLOURS, PAGE, short_step

    envs = list(dict.fromkeys(cell.trained.need.env for cell in found))
    columns = 2 if len(envs) in (2, 4) else min(len(envs), 3)
    rows = -(-len(envs) // columns)
    figure = Figure(figsize=(PAGE, 2.2 * rows + 0.3), layout="constrained")
    ours_at, paper_at = max((c.trained.need.steps for c in found), default=0), numbers.STEPS[-1]
    for place, env in enumerate(envs):
        axes = figure.add_subplot(rows, columns, place + 1)
        own = [cell for cell in found if cell.trained.need.env == env]
        labels = list(dict.fromkeys(cell.trained.entry.name for cell in own))
        for cell in own:
            row, x = cell.row(), labels.index(cell.trained.entry.name)
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
