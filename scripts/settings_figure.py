"""Show what settings give: print the tables of results/settings-300k, write docs/images/settings.png."""

from pathlib import Path

import evidence
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from teen.paper.page import plus_minus
from teen.report import runs, statistics
from teen.report.figures import COLOURS, short_step

ROOT = Path(__file__).parents[1]
RUNS = ROOT / "results" / "settings-300k"
TASKS = ("Walker2d-v4", "Hopper-v4")  # on which settings were chosen
STEPS = {"teen": (240_000, 300_000), "td3": (240_000, 300_000), "sac": (200_000, 300_000)}  # the shortest, the others
TUNED = {"teen": "lr=0.0006,utd=2", "td3": "lr=0.001,utd=2", "sac": "lr=0.001,utd=2"}  # of the preset
FASTER = "sac-settings-300k/hopper/lr=0.001,target_entropy=-1"
ALL = ", all runs"


def names(algo: str) -> list[str]:
    """Return the settings of an algorithm: the paper's, then learning rates, then what was changed beside a rate. Where
    there are other runs, a second row has all."""
    found = {path.name for task in TASKS for path in (RUNS / algo / task).iterdir()}
    several = {f"{name}{ALL}" for name in found if any(others(algo, task, name) for task in TASKS)}
    return sorted(found | several, key=lambda name: (not name.startswith("paper"), "," in name.removesuffix(ALL), name))


def others(algo: str, task: str, name: str) -> list[str]:
    """Return other runs with the same settings, long enough for the first of the steps."""
    if name == "paper":
        found = [folder for folder in evidence.RUNS[task][algo.upper()] if not folder.startswith(RUNS.name)]
        return [folder for folder in found if runs.read(ROOT / "results" / folder).steps[-1] >= STEPS[algo][0]]
    return [FASTER] if (algo, task, name) == ("sac", "Hopper-v4", "lr=0.001") else []


def scores(algo: str, task: str, name: str, step: int) -> np.ndarray:
    """Return each run's mean over the 50,000 steps before; nothing for runs that are not there or ended sooner."""
    own = name.removesuffix(ALL)
    more = others(algo, task, own) if name != own else []
    if name != own and not more:
        return np.empty(0)
    folders = [RUNS / algo / task / own, *(ROOT / "results" / folder for folder in more)]
    return evidence.last_means([runs.read(folder) for folder in folders if folder.is_dir()], step)


def table(algo: str) -> list[str]:
    columns = [(task, step) for task in TASKS for step in STEPS[algo]]
    heads = [f"{task}, {short_step(step)}" for task, step in columns]
    lines = [f"| {algo.upper()} | {' | '.join(heads)} |", "|---" * (len(heads) + 1) + "|"]
    for name in names(algo):
        each = [scores(algo, task, name, step) for task, step in columns]
        cells = [plus_minus(s.mean() if s.size else None, statistics.sample_std(s)) for s in each]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return lines


def draw(axes: Axes, algo: str, task: str) -> None:
    """Draw each seed as a dot and each mean as a bar, a row for each setting; grey where the shortest runs end. A band
    shows the preset's row."""
    rows = names(algo)
    chosen = rows.index(TUNED[algo])
    axes.axhspan(chosen - 0.5, chosen + 0.5, color=COLOURS[2], alpha=0.12, linewidth=0)
    for row, name in enumerate(rows):
        for step, colour, place in zip(STEPS[algo], ("0.6", COLOURS[0]), (row - 0.2, row + 0.2), strict=True):
            values = scores(algo, task, name, step)
            axes.plot(values, np.full(values.size, place), "o", color=colour, alpha=0.6, markersize=3, mew=0)
            if values.size:
                axes.plot([values.mean()] * 2, [place - 0.18, place + 0.18], color=colour, linewidth=2)
    axes.set_yticks(range(len(rows)), rows)
    axes.tick_params(labelsize=7)
    axes.set_ylim(len(rows) - 0.5, -0.5)
    axes.set_xlim(left=0)
    sooner, later = map(short_step, STEPS[algo])
    axes.set_title(f"{algo.upper()}, {task} (grey: {sooner}, blue: {later})", fontsize=9)
    axes.grid(axis="x", alpha=0.25)


def main() -> None:
    rows = [len(names(algo)) for algo in STEPS]
    figure = Figure(figsize=(9, 0.26 * sum(rows) + 0.7 * len(rows)), dpi=120, layout="constrained")
    grid = figure.subplots(len(rows), len(TASKS), sharex="col", sharey="row", height_ratios=rows)
    for line, algo in zip(grid, STEPS, strict=True):
        for axes, task in zip(line, TASKS, strict=True):
            draw(axes, algo, task)
        print("\n".join([*table(algo), ""]))
    figure.supxlabel("return, mean of 50,000 steps; shaded: --preset tuned", fontsize=8)
    figure.savefig(ROOT / "docs" / "images" / "settings.png")


if __name__ == "__main__":
    main()
