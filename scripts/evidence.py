"""Print two tables of docs/evidence.md from results/ and others' numbers, and draw docs/images/mujoco.png."""

from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from scipy.stats import ttest_ind

from teen.paper import numbers
from teen.paper.page import UNKNOWN, plus_minus
from teen.report import runs, statistics
from teen.report.figures import COLOURS, short_step
from teen.report.metrics import mean_and_std

ROOT = Path(__file__).parents[1]
ALGORITHMS = ("TEEN", "TEEN α = 0", "SAC", "TD3")
CHEETAH = "paper/runs/teen-HalfCheetah-v4,alpha=0.2"
SETTINGS, FIRST, SECOND = "settings-300k", "paper-early/first", "paper-early/second"
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
        "TEEN": [f"{SETTINGS}/teen/Hopper-v4/paper", f"{FIRST}/teen-Hopper-v4,alpha=0.2+0,seeds=5-9/alpha=0.2"],
        "TEEN α = 0": [f"{FIRST}/teen-Hopper-v4,alpha=0.2+0,seeds=5-9/alpha=0"],
        "SAC": [
            f"{SETTINGS}/sac/Hopper-v4/paper",
            "reference-300k/sac-Hopper-v4",
            "sac-settings-300k/hopper/lr=0.0003,target_entropy=-1",
            f"{FIRST}/sac-Hopper-v4,seeds=5-9",
        ],
        "TD3": [f"{SETTINGS}/td3/Hopper-v4/paper", "reference-300k/td3-Hopper-v4"],
    },
    "Walker2d-v4": {
        "TEEN": [
            f"{SETTINGS}/teen/Walker2d-v4/paper",
            "bf16-300k/Walker2d-v4-tf32",
            *(f"{part}/teen-Walker2d-v4,alpha=0.2+0,seeds=5-9/alpha=0.2" for part in (FIRST, SECOND)),
        ],
        "TEEN α = 0": [f"{part}/teen-Walker2d-v4,alpha=0.2+0,seeds=5-9/alpha=0" for part in (FIRST, SECOND)],
        "SAC": [
            f"{SETTINGS}/sac/Walker2d-v4/paper",
            *(f"{part}/sac-Walker2d-v4,seeds=5-9" for part in (FIRST, SECOND)),
        ],
        "TD3": [f"{SETTINGS}/td3/Walker2d-v4/paper", f"{SECOND}/td3-Walker2d-v4,seeds=5-9"],
    },
    "Ant-v4": {
        "TEEN": [f"{SETTINGS}/teen/Ant-v4/paper", f"{FIRST}/teen-Ant-v4,alpha=0.2+0,seeds=5-9/alpha=0.2"],
        "TEEN α = 0": [f"{FIRST}/teen-Ant-v4,alpha=0.2+0,seeds=5-9/alpha=0"],
        "SAC": [f"{FIRST}/sac-Ant-v4,seeds=5-9", f"{SECOND}/sac-Ant-v4,seeds=5-9"],
        "TD3": [f"{FIRST}/td3-Ant-v4,seeds=5-9", f"{SECOND}/td3-Ant-v4,seeds=5-9"],
    },
}
STEPS = (200_000, 290_000, 300_000, 500_000, 1_000_000)
ONLY = {290_000: "Walker2d-v4"}  # where five runs of TEEN end
COMPARED = (  # task, step, and the folders that are compared; all runs where none are named
    ("HalfCheetah-v4", 1_000_000, ""),
    ("Hopper-v4", 160_000, FIRST),
    ("Hopper-v4", 200_000, ""),
    ("Hopper-v4", 300_000, ""),
    ("Hopper-v4", 300_000, SETTINGS),
    ("Walker2d-v4", 290_000, ""),
    ("Walker2d-v4", 290_000, SETTINGS),
    ("Walker2d-v4", 290_000, SECOND),
    ("Ant-v4", 110_000, FIRST),
    ("Ant-v4", 200_000, ""),
)


def read(task: str) -> dict[str, list[runs.Run]]:
    return {algo: [runs.read(ROOT / "results" / folder) for folder in some] for algo, some in RUNS[task].items()}


def last_means(parts: list[runs.Run], step: int) -> np.ndarray:
    """Return the score of each seed of the runs that came so far: its mean over the last 50,000 steps."""
    return np.concatenate([np.empty(0), *(statistics.last_mean(run, step) for run in parts if run.steps[-1] >= step)])


def score(parts: list[runs.Run], step: int) -> str:
    last = last_means(parts, step)
    return f"{plus_minus(last.mean(), statistics.sample_std(last))} ({last.size})" if last.size else UNKNOWN


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
        for step in (step for step in STEPS if ONLY.get(step, task) == task):
            cells = [score(ours.get(algo, []), step) for algo in ALGORITHMS]
            if set(cells) != {UNKNOWN}:
                cells += [in_paper(algo, task, step) for algo in ("TEEN", "SAC", "TD3")]
                name = f"{task}, {short_step(step)}"
                lines.append(f"| {' | '.join([name, *cells, best_of_others(task, step)])} |")
    return lines


def comparisons() -> list[str]:
    """Return a table of TEEN against TD3 and SAC: all runs, and within one set of them."""
    lines = ["| | TEEN | TEEN α = 0 | TD3 | p | SAC | p |", "|---" * 7 + "|"]
    for task, step, part in COMPARED:
        chosen = {algo: [folder for folder in some if folder.startswith(part)] for algo, some in RUNS[task].items()}
        means = {a: last_means([runs.read(ROOT / "results" / f) for f in some], step) for a, some in chosen.items()}
        cells = [mean_text(means["TEEN"]), mean_text(means["TEEN α = 0"])]
        for algo in ("TD3", "SAC"):
            cells += [mean_text(means[algo]), p_text(means["TEEN"], means[algo])]
        words = "all runs" if not part else f"`{part}`"
        lines.append(f"| {task}, {short_step(step)}: {words} | {' | '.join(cells)} |")
    return lines


def mean_text(last: np.ndarray) -> str:
    return f"{last.mean():.0f} ({last.size})" if last.size else UNKNOWN


def p_text(one: np.ndarray, other: np.ndarray) -> str:
    if not other.size:
        return ""
    p = ttest_ind(one, other, equal_var=False).pvalue
    return "< 0.001" if p < 0.001 else f"{p:.3f}" if p < 0.1 else f"{p:.2f}"


def draw(axes: Axes, task: str) -> None:
    """Draw the mean of an algorithm's runs, and the paper's TEEN as marks. Runs count that are at least 0.8 times as
    long as the longest, as far as they all come."""
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
    end, between = (1_000_000, 250_000) if task == "HalfCheetah-v4" else (500_000, 100_000)
    axes.set_xlim(0, 1.03 * end)
    axes.set_xticks(marks := range(0, end + 1, between), [short_step(mark) if mark else "0" for mark in marks])
    axes.set_ylim(bottom=0)
    axes.tick_params(labelsize=7)
    axes.grid(alpha=0.25)
    axes.legend(frameon=False, fontsize=7, loc="lower right")


def main() -> None:
    print("\n".join([*table(), "", *comparisons()]))
    figure = Figure(figsize=(9, 6), dpi=120, layout="constrained")
    for axes, task in zip(figure.subplots(2, 2).flat, RUNS, strict=True):
        draw(axes, task)
    figure.supxlabel("environment steps; diamonds: the paper's TEEN, ten seeds", fontsize=8)
    figure.supylabel("return, mean ± standard deviation over runs", fontsize=8)
    figure.savefig(ROOT / "docs" / "images" / "mujoco.png")


if __name__ == "__main__":
    main()
