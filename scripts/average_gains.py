"""Show how much more TEEN has on average over tasks: print a table of docs/evidence.md, write docs/images/gains.png."""

import evidence
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from teen.envs.names import is_suite
from teen.report.figures import COLOURS, short_step
from teen.report.statistics import Interval, average_gain

END = 500_000
STEPS = range(100_000, END + 1, 10_000)
CONTROL = [task for task in evidence.RUNS if is_suite(task)]
GROUPS = {"MuJoCo": [task for task in evidence.RUNS if task not in CONTROL], "DeepMind Control": CONTROL}
PAIRS = [("TEEN", "TD3"), ("TEEN", "SAC"), ("TEEN α = 0", "TD3"), ("TEEN α = 0", "SAC"), ("TEEN", "TEEN α = 0")]


def main() -> None:
    tasks = {task: evidence.once(task) for task in evidence.RUNS}

    def gain(ours: str, theirs: str, group: list[str], step: int) -> Interval:
        return average_gain(*([evidence.last_means(tasks[task][a], step) for task in group] for a in (ours, theirs)))

    groups = {**GROUPS, "all": [*tasks]}
    heads = ["on average at 500k", *(f"{name}, {len(group)} tasks" for name, group in groups.items())]
    print(f"| {' | '.join(heads)} |", "|---" * len(heads) + "|", sep="\n")
    for pair in PAIRS:
        print(f"| {' over '.join(pair)} | {' | '.join(text(gain(*pair, group, END)) for group in groups.values())} |")

    figure = Figure(figsize=(9, 3.4), dpi=120, layout="constrained")
    for axes, (name, group) in zip(figure.subplots(1, len(GROUPS), sharey=True), GROUPS.items(), strict=True):
        for place, pair in enumerate(pair for pair in PAIRS if pair[0] == "TEEN"):
            draw(axes, [gain(*pair, group, step) for step in STEPS], COLOURS[place], f"over {pair[1]}")
        axes.set_title(f"{name}: {', '.join(evidence.name_of(task) for task in group)}", fontsize=8)
    axes.legend(frameon=False, fontsize=8, loc="upper right")
    figure.supxlabel("environment steps", fontsize=8)
    figure.supylabel("TEEN's gain in %, 95 % interval", fontsize=8)
    figure.savefig(evidence.ROOT / "docs" / "images" / "gains.png")


def text(gain: Interval) -> str:
    return "{} % ({} to {})".format(*(round(100 * value) for value in gain)).replace("-", "−")


def draw(axes: Axes, gains: list[Interval], colour: str, label: str) -> None:
    value, low, high = 100 * np.transpose(gains)
    axes.plot(STEPS, value, color=colour, linewidth=1.4, label=label)
    axes.fill_between(STEPS, low, high, color=colour, alpha=0.15, linewidth=0)
    axes.axhline(0, color="grey", linewidth=0.8)
    axes.set_xticks(marks := range(100_000, END + 1, 100_000), [short_step(mark) for mark in marks])
    axes.tick_params(labelsize=7)
    axes.grid(alpha=0.25)


if __name__ == "__main__":
    main()
