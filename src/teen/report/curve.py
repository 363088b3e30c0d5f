"""One run's learning curve as a picture: a line per seed, their mean, and a band of one std."""

import csv
from collections import defaultdict
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure


def headline_curves(eval_csv: Path) -> dict[int, tuple[np.ndarray, np.ndarray]]:
    """Per seed: steps, and the mean return of the evaluated policy at each."""
    scores: dict[int, dict[int, list[float]]] = defaultdict(lambda: defaultdict(list))
    with eval_csv.open() as file:
        for row in csv.DictReader(file):
            if row["policy"] == "mean":
                scores[int(row["seed"])][int(row["step"])].append(float(row["return"]))
    return {
        seed: (np.array(list(by_step)), np.array([np.mean(s) for s in by_step.values()]))
        for seed, by_step in scores.items()
    }


def draw(eval_csv: Path, picture: Path, title: str) -> None:
    curves = headline_curves(eval_csv)
    figure = Figure(figsize=(7, 4.2), dpi=130, layout="constrained")
    axes = figure.add_subplot()
    for steps, scores in curves.values():
        axes.plot(steps, scores, color="tab:blue", alpha=0.3, linewidth=1)
    if curves:
        common = min((steps for steps, _ in curves.values()), key=len)
        stacked = np.stack([scores[: len(common)] for _, scores in curves.values()])
        mean, std = stacked.mean(0), stacked.std(0)
        axes.plot(common, mean, color="tab:blue", linewidth=2, label=f"mean of {len(curves)} seeds")
        axes.fill_between(common, mean - std, mean + std, color="tab:blue", alpha=0.15, linewidth=0)
        axes.legend(frameon=False)
    axes.set(title=title, xlabel="environment steps", ylabel="return without noise")
    axes.grid(alpha=0.25)
    axes.spines[["top", "right"]].set_visible(False)
    beside = picture.with_name("." + picture.name)
    beside.unlink(missing_ok=True)  # a link left there is replaced, not followed
    figure.savefig(beside, format="png")
    beside.replace(picture)
