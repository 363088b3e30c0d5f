"""Show what the discriminator's term gives where rewards are sparse: print the tables of results/sparse-reward, write
docs/images/sparse.png."""

import csv
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path

import evidence
import numpy as np
from matplotlib.figure import Figure
from scipy.stats import mannwhitneyu, ttest_ind
from strength_figure import rows, spread

from teen.report import runs
from teen.report.figures import COLOURS, short_step

ROOT = Path(__file__).parents[1]
RUNS = ROOT / "results" / "sparse-reward"
CAR = "MountainCarContinuous-v0"
TRIALS = {  # by folder: its name, and the digits of its returns
    "pendulum-swingup": ("pendulum-swingup, 50k", 0),
    "pendulum-swingup-100k": ("pendulum-swingup, 100k", 0),
    CAR: (f"{CAR}, 50k", 2),
    f"{CAR}-150k": (f"{CAR}, 150k", 2),
    "cartpole-swingup_sparse": ("cartpole-swingup_sparse, 50k", 2),
}
DRAWN = list(TRIALS)[:4]  # on the last one nothing is found
CONTROL = "alpha=0"
NAMES = {  # by folder: who follows the term
    CONTROL: "α = 0",
    "one,alpha=0.2": "one member, α = 0.2, ε = 0.1",
    "all,alpha=0.2": "all, α = 0.2, ε = 0.02",
}
DIAGNOSED = {
    "discriminator_accuracy": "accuracy of the discriminator (chance: 0.20)",
    "action_distance": "distance of two members' actions in the same state",
    "kl_members": "E KL(ρ(· given z) ‖ ρ), nats",
    "kl_members_any_episode": "the same, [biased the other way](diagnostics.md#entropies)",
    "entropy_all": "H(ρ), nats",
    "entropy_members_mean": "H(ρ given z), nats",
}
WARMUP, LAST = 5_000, 10_000


def main() -> None:
    for trial in TRIALS:
        print("\n".join(table(trial)))
    for quantity, words in DIAGNOSED.items():
        print(compared(words, lambda name, quantity=quantity: diagnosed(name, quantity)))
    print(compared("farthest position of a member in an episode, mean", farthest))
    figure = Figure(figsize=(9, 5.4), dpi=120, layout="constrained")
    panels = figure.subplots(2, 2).ravel()
    for axes, trial in zip(panels, DRAWN, strict=True):
        for colour, (name, words) in zip(COLOURS, NAMES.items(), strict=False):
            steps, returns = read(trial, name)
            middle, around = returns.mean(0), returns.std(0, ddof=1) / np.sqrt(len(returns))
            axes.plot(steps, middle, color=colour, linewidth=1.4, label=words)
            axes.fill_between(steps, middle - around, middle + around, color=colour, alpha=0.18, linewidth=0)
        axes.set_title(TRIALS[trial][0], fontsize=9)
        marks = range(0, steps[-1] + 1, steps[-1] // 5)
        axes.set_xticks(marks, [short_step(mark) if mark else "0" for mark in marks])
        axes.tick_params(labelsize=7)
        axes.grid(alpha=0.25)
    panels[0].legend(frameon=False, fontsize=7, loc="upper left")
    figure.supxlabel("environment steps", fontsize=8)
    figure.supylabel("return, mean ± standard error of ten seeds", fontsize=8)
    figure.savefig(ROOT / "docs" / "images" / "sparse.png")


def table(trial: str) -> list[str]:
    """Return a row for each setting: the mean return after the warm-up with its p, that of the last steps, that of
    members which act alone, how strong the term is, and how far the members' actions lie apart."""
    lines = []
    title, digits = TRIALS[trial]
    control = after_warmup(trial, CONTROL)
    for name, words in NAMES.items():
        score = after_warmup(trial, name)
        p = ttest_ind(score, control, equal_var=False).pvalue, mannwhitneyu(score, control).pvalue
        steps, returns = read(trial, name)
        cells = [spread(score, digits), "" if name == CONTROL else ", ".join(map(evidence.p_text, p))]
        cells.append(spread(returns[:, steps > steps[-1] - LAST].mean(1), digits))
        cells.append(spread(members(trial, name, steps[-1]), digits))
        cells += [f"{logged(trial, name, 'diversity_pull'):.1f}", f"{logged(trial, name, 'action_spread'):.2f}"]
        lines.append(row(f"{title}: {words}", cells))
    return lines


def compared(words: str, values: Callable[[str], np.ndarray]) -> str:
    """Return a row with what was measured with each setting, and its p against α = 0."""
    cells = [spread(values(CONTROL), 2)]
    for name in list(NAMES)[1:]:
        p = ttest_ind(values(name), values(CONTROL), equal_var=False).pvalue
        cells += [spread(values(name), 2), evidence.p_text(p)]
    return row(words, cells)


def row(first: str, cells: list[str]) -> str:
    return f"| {first} | {' | '.join(cell.replace('-', '−') for cell in cells)} |"


def folders(trial: str, name: str) -> list[Path]:
    return sorted((RUNS / trial / name).iterdir())


def read(trial: str, name: str) -> tuple[np.ndarray, np.ndarray]:
    """Return the steps of evaluations and the mean return at each, (seed, step)."""
    parts = [runs.read(folder) for folder in folders(trial, name)]
    return parts[0].steps, np.concatenate([run.returns for run in parts])


def after_warmup(trial: str, name: str) -> np.ndarray:
    """Return the mean of each seed's evaluations after the warm-up."""
    steps, returns = read(trial, name)
    return returns[:, steps > WARMUP].mean(1)


def members(trial: str, name: str, step: int) -> np.ndarray:
    """Return the mean return of the members, each acting alone, a number a seed."""
    found = defaultdict(list)
    for line in rows(folders(trial, name), "eval.csv.gz"):
        if int(line["step"]) == step and line["policy"] != "mean":
            found[line["seed"]].append(float(line["return"]))
    return np.array([np.mean(returns) for returns in found.values()])


def logged(trial: str, name: str, metric: str) -> float:
    """Return the median of a metric of train.csv after the warm-up, over all seeds. Where no actor had a gradient, an
    earlier version logged NaN for the pull."""
    return np.nanmedian(
        [float(r[metric]) for r in rows(folders(trial, name), "train.csv.gz") if int(r["step"]) > WARMUP]
    )


def diagnosed(name: str, quantity: str) -> np.ndarray:
    found = rows(folders(CAR, name), "diagnostics.csv.gz")
    return np.array([float(line["value"]) for line in found if line["quantity"] == quantity])


def farthest(name: str) -> np.ndarray:
    """Return how far members drive on average, a number a seed."""
    found = defaultdict(list)
    with (RUNS / "mountain-car.csv").open() as file:
        for line in csv.DictReader(file):
            if line["setting"] == name:
                found[line["seed"]].append(float(line["farthest"]))
    return np.array([np.mean(positions) for positions in found.values()])


if __name__ == "__main__":
    main()
