"""Show what a stronger term of the discriminator gives: print the tables of results/stronger-term, write
docs/images/strength.png."""

import csv
import gzip
from pathlib import Path

import evidence
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from scipy.stats import ttest_ind

from teen.report import runs
from teen.report.figures import COLOURS, short_step

ROOT = Path(__file__).parents[1]
RUNS = ROOT / "results" / "stronger-term"
TASKS = {"Hopper-v4": 150_000, "HalfCheetah-v4": 100_000}  # and their steps
NAMES = {  # by folder: what it is
    "alpha=0": "α = 0",
    "paper": "one member, α = 0.2, ε = 0.1 (the paper's)",
    "all,epsilon=0.1": "all, α = 0.2, ε = 0.1",
    "all,alpha=0.2": "all, α = 0.2, ε = 0.02",
    "one,q,alpha=0.01": "one member, α = 0.01 of Q, ε = 0.1",
    "all,q,alpha=0.01": "all, α = 0.01 of Q, ε = 0.02",
    "all,q,alpha=0.1": "all, α = 0.1 of Q, ε = 0.02",
}
CONTROL = "alpha=0"
FIRST = ("0-4", "5-9")  # seeds
AGAIN = [  # what was trained with more seeds, beside α = 0
    ("Hopper-v4", "all,alpha=0.2", ("10-14", "15-19")),
    ("Hopper-v4", "all,alpha=0.2", ("20-24", "25-29")),
    ("Hopper-v4", "one,q,alpha=0.01", ("10-14", "15-19", "20-24", "25-29")),
    ("HalfCheetah-v4", "paper", ("10-14", "15-19")),
    ("HalfCheetah-v4", "all,q,alpha=0.01", ("10-14", "15-19")),
]
WINDOW = 50_000
MEMBERS = {"discriminator_accuracy": 2, "kl_members": 2, "action_distance": 2, "entropy_all": 1}  # digits


def main() -> None:
    figure = Figure(figsize=(9, 6), dpi=120, layout="constrained")
    panels = figure.subplots(len(TASKS), 2, width_ratios=(3, 2))
    for (curves, dots), task in zip(panels, TASKS, strict=True):
        draw(curves, dots, task)
    for row in (returns, members):
        print("\n".join(row(task, name) for task in TASKS for name in present(task)))
    print("\n".join(again(*each) for each in AGAIN))
    figure.legend(
        *panels[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=3, frameon=False, fontsize=8
    )
    figure.savefig(ROOT / "docs" / "images" / "strength.png")


def returns(task: str, name: str) -> str:
    """Return a row with the strength of the term, the return and its gain, and the return of a member alone."""
    score, control = (evidence.last_means(read(task, which), TASKS[task]) for which in (name, CONTROL))
    alone, control_alone = (diagnosed(task, which, "return_members_mean") for which in (name, CONTROL))
    cells = [f"{np.mean(logged(task, name, 'diversity_pull')):.2f}", spread(score, 0)]
    if name == CONTROL:
        cells += ["", "", spread(alone, 0), ""]
    else:
        cells += [*evidence.gain(score, control), spread(alone, 0), p_text(alone, control_alone)]
    return f"| {task.removesuffix('-v4')}: {NAMES[name]} | {' | '.join(cells)} |"


def members(task: str, name: str) -> str:
    """Return a row with how members differ, each measure with its p, and how the term fares in replayed states."""
    cells = []
    for quantity, digits in MEMBERS.items():
        values, control = (diagnosed(task, which, quantity) for which in (name, CONTROL))
        cells.append(spread(values, digits) + ("" if name == CONTROL else f" ({p_text(values, control)})"))
    cells.append(f"{np.mean(logged(task, name, 'own_log_q')):.1f}".replace("-", "−"))
    cells.append(f"{100 * np.mean(logged(task, name, 'clipped_share')):.0f} %")
    return f"| {task.removesuffix('-v4')}: {NAMES[name]} | {' | '.join(cells)} |"


def again(task: str, name: str, seeds: tuple[str, ...]) -> str:
    """Return a row with what a setting gives on other seeds, beside α = 0 on the same."""
    ours, control = (evidence.last_means(read(task, which, seeds), TASKS[task]) for which in (name, CONTROL))
    cells = [spread(ours, 0), spread(control, 0), *evidence.gain(ours, control)]
    first, last = seeds[0].split("-")[0], seeds[-1].split("-")[1]
    return f"| {task.removesuffix('-v4')}, {first}–{last}: {NAMES[name]} | {' | '.join(cells)} |"


def draw(curves: Axes, dots: Axes, task: str) -> None:
    for colour, (name, words) in zip((*COLOURS, "grey"), NAMES.items(), strict=True):
        if name not in present(task):
            continue
        found = read(task, name)
        steps, returns = found[0].steps, np.concatenate([run.returns for run in found])  # (seed, step)
        middle, around = returns.mean(0), returns.std(0, ddof=1) / np.sqrt(len(returns))
        curves.plot(steps, middle, color=colour, linewidth=1.4, label=words)
        curves.fill_between(steps, middle - around, middle + around, color=colour, alpha=0.18, linewidth=0)
        score = evidence.last_means(found, TASKS[task])
        dots.scatter(diagnosed(task, name, "action_distance"), score, s=14, color=colour)
    marks = range(0, TASKS[task] + 1, WINDOW)
    curves.set_xticks(marks, [short_step(mark) if mark else "0" for mark in marks])
    curves.set_title(task, fontsize=9)
    curves.set_xlabel("environment steps", fontsize=8)
    curves.set_ylabel("return, mean ± standard error", fontsize=8)
    dots.set_xlabel("distance of two members' actions in the same state", fontsize=8)
    dots.set_ylabel("return, last 50k, a dot for each seed", fontsize=8)
    for axes in (curves, dots):
        axes.tick_params(labelsize=7)
        axes.grid(alpha=0.25)


def p_text(values: np.ndarray, control: np.ndarray) -> str:
    return evidence.p_text(ttest_ind(values, control, equal_var=False).pvalue)


def spread(values: np.ndarray, digits: int) -> str:
    return f"{np.mean(values):.{digits}f} ± {np.std(values, ddof=1):.{digits}f}"


def present(task: str) -> list[str]:
    return [name for name in NAMES if (RUNS / task / name).is_dir()]


def folders(task: str, name: str, seeds: tuple[str, ...] = FIRST) -> list[Path]:
    return [RUNS / task / name / f"seeds={block}" for block in seeds]


def read(task: str, name: str, seeds: tuple[str, ...] = FIRST) -> list[runs.Run]:
    return [runs.read(folder) for folder in folders(task, name, seeds)]


def rows(folders: list[Path], file: str) -> list[dict[str, str]]:
    """Return the rows of a compressed table, those of several folders one after the other."""
    found = []
    for folder in folders:
        with gzip.open(folder / file, "rt") as text:
            found += csv.DictReader(text)
    return found


def diagnosed(task: str, name: str, quantity: str) -> np.ndarray:
    found = rows(folders(task, name), "diagnostics.csv.gz")
    return np.array([float(row["value"]) for row in found if row["quantity"] == quantity])


def logged(task: str, name: str, metric: str) -> np.ndarray:
    found = rows(folders(task, name), "train.csv.gz")
    return np.array([float(row[metric]) for row in found if int(row["step"]) > TASKS[task] - WINDOW])


if __name__ == "__main__":
    main()
