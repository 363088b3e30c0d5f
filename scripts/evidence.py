"""Print the table of docs/evidence.md from results/ and others' numbers, and draw docs/images/mujoco.png."""

from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from teen.paper import numbers
from teen.paper.page import UNKNOWN, plus_minus
from teen.report import runs, statistics
from teen.report.figures import COLOURS, short_step
from teen.report.metrics import mean_and_std

ROOT = Path(__file__).parents[1]
ALGORITHMS = ("TEEN", "TEEN α = 0", "SAC", "TD3")
CHEETAH = "paper/runs/teen-HalfCheetah-v4,alpha=0.2"
EARLY = "paper-early/second"
RUNS = {  # all runs with the paper's settings that are long enough; several folders may have the same seeds
    "HalfCheetah-v4": {
        "TEEN": [f"{CHEETAH}+0,seeds=0-4/alpha=0.2", f"{CHEETAH},seeds=5-9"],
        "TEEN α = 0": [f"{CHEETAH}+0,seeds=0-4/alpha=0"],
        "SAC": [
            "paper/runs/sac-HalfCheetah-v4,seeds=0-9",
            "reference-300k/sac-HalfCheetah-v4",
            "sac-settings-300k/halfcheetah/lr=0.0003,target_entropy=-1",
        ],
        "TD3": ["paper/runs/td3-HalfCheetah-v4,seeds=0-9", "reference-300k/td3-HalfCheetah-v4"],
    },
    "Hopper-v4": {
        "TEEN": ["settings-300k/teen/Hopper-v4/paper"],
        "SAC": [
            "reference-300k/sac-Hopper-v4",
            "sac-settings-300k/hopper/lr=0.0003,target_entropy=-1",
            "settings-300k/sac/Hopper-v4/paper",
        ],
        "TD3": ["reference-300k/td3-Hopper-v4", "settings-300k/td3/Hopper-v4/paper"],
    },
    "Walker2d-v4": {
        "TEEN": [
            "settings-300k/teen/Walker2d-v4/paper",
            "bf16-300k/Walker2d-v4-tf32",
            f"{EARLY}/teen-Walker2d-v4,alpha=0.2+0,seeds=5-9/alpha=0.2",
        ],
        "TEEN α = 0": [f"{EARLY}/teen-Walker2d-v4,alpha=0.2+0,seeds=5-9/alpha=0"],
        "SAC": ["settings-300k/sac/Walker2d-v4/paper", f"{EARLY}/sac-Walker2d-v4,seeds=5-9"],
        "TD3": ["settings-300k/td3/Walker2d-v4/paper", f"{EARLY}/td3-Walker2d-v4,seeds=5-9"],
    },
    "Ant-v4": {
        "TEEN": ["settings-300k/teen/Ant-v4/paper"],
        "SAC": [f"{EARLY}/sac-Ant-v4,seeds=5-9"],
        "TD3": [f"{EARLY}/td3-Ant-v4,seeds=5-9"],
    },
}
STEPS = (200_000, 300_000, 500_000, 1_000_000)
LATE = 10_000  # steps: a run counts whose last evaluation before a step is missing


def read(task: str) -> dict[str, list[runs.Run]]:
    return {algo: [runs.read(ROOT / "results" / folder) for folder in some] for algo, some in RUNS[task].items()}


def score(parts: list[runs.Run], step: int) -> str:
    parts = [run for run in parts if run.steps[-1] >= step - LATE]
    if not parts:
        return UNKNOWN
    last = np.concatenate([statistics.last_mean(run, step) for run in parts])
    return f"{plus_minus(last.mean(), statistics.sample_std(last))} ({last.size})"


def in_paper(algo: str, task: str, step: int) -> str:
    found = numbers.in_paper(algo, task, step)
    return plus_minus(*found) if found else UNKNOWN


def best_of_others(task: str, step: int) -> str:
    """Return the highest mean of the last steps of any TD3 or SAC, and whose it is."""
    found = [(r.last, algo, r) for algo in ("TD3", "SAC") for r in numbers.references(algo, task, step) if r.last]
    if not found:
        return UNKNOWN
    (mean, std), algo, reference = max(found, key=lambda item: item[0].mean)
    project = reference.source.partition("@")[0].rpartition("/")[2].removesuffix("_data")
    window = "" if reference.window == "50k" else f", last {reference.window}"
    return f"{plus_minus(mean, std)} ({project.capitalize()}'s {algo}{window})"


def table() -> list[str]:
    paper = [f"the paper's {algo}" for algo in ("TEEN", "SAC", "TD3")]
    heads = ["task, steps", *ALGORITHMS, *paper, "best TD3 or SAC of others"]
    lines = [f"| {' | '.join(heads)} |", "|---" * len(heads) + "|"]
    for task in RUNS:
        ours = read(task)
        for step in STEPS:
            cells = [score(ours.get(algo, []), step) for algo in ALGORITHMS]
            if set(cells) != {UNKNOWN}:
                cells += [in_paper(algo, task, step) for algo in ("TEEN", "SAC", "TD3")]
                name = f"{task}, {short_step(step)}"
                lines.append(f"| {' | '.join([name, *cells, best_of_others(task, step)])} |")
    return lines


def draw(axes: Axes, task: str) -> None:
    """Draw the mean of the longest runs of each algorithm, as far as they all come, and the paper's TEEN as marks."""
    for algo, parts in read(task).items():
        longest = max(run.steps[-1] for run in parts)
        parts = [run for run in parts if run.steps[-1] >= 0.8 * longest]
        steps = np.array(sorted(set.intersection(*(set(run.steps.tolist()) for run in parts))))
        returns = np.concatenate([run.returns[:, np.isin(run.steps, steps)] for run in parts])
        mean, std = mean_and_std(returns)
        colour = COLOURS[ALGORITHMS.index(algo)]
        axes.plot(steps, mean, color=colour, linewidth=1.2, label=f"{algo} ({len(returns)} runs)")
        axes.fill_between(steps, mean - std, mean + std, color=colour, alpha=0.15, linewidth=0)
    for step in numbers.STEPS:
        if found := numbers.in_paper("TEEN", task, step):
            axes.errorbar(step, found.mean, found.spread, fmt="D", color="0.3", markersize=4, capsize=3)
    axes.set_title(task, fontsize=9)
    axes.set_xlim(0, 1.03e6)
    axes.set_xticks(np.arange(0, 1_000_001, 250_000), ["0", "250k", "500k", "750k", "1M"])
    axes.set_ylim(bottom=0)
    axes.tick_params(labelsize=7)
    axes.grid(alpha=0.25)
    axes.legend(frameon=False, fontsize=7, loc="lower right")


def main() -> None:
    print("\n".join(table()))
    figure = Figure(figsize=(9, 6), dpi=120, layout="constrained")
    for axes, task in zip(figure.subplots(2, 2).flat, RUNS, strict=True):
        draw(axes, task)
    figure.supxlabel("environment steps; diamonds: the paper's TEEN, ten seeds", fontsize=8)
    figure.supylabel("return, mean ± standard deviation over runs", fontsize=8)
    figure.savefig(ROOT / "docs" / "images" / "mujoco.png")


if __name__ == "__main__":
    main()
