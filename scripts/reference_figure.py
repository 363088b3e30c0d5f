"""Our SAC and TD3 beside other people's at 300,000 steps: a table, and docs/reference-300k.png."""

import csv
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from teen.report import runs, statistics

ROOT = Path(__file__).parents[1]
STEP = 300_000
TASKS = ("HalfCheetah", "Hopper")
MEASURES = {
    "point": statistics.point,
    "mean_last_50k": statistics.last_mean,
    "per_seed_best_so_far": statistics.best_so_far,
}
COARSER = {"mean_last_50k": "mean_last_100k"}  # what a source that logs less often has in its place


def others(algo: str, task: str) -> list[dict[str, str]]:
    """Rows of every variant of this algorithm."""
    with (ROOT / "src/teen/paper/reference_results.csv").open() as file:
        return [
            row
            for row in csv.DictReader(file)
            if row["algo"].split("(")[0] == algo.upper()
            and row["env"].startswith(task + "-")
            and int(row["env_step"]) == STEP
        ]


def main() -> None:
    figure = Figure(figsize=(9, 6), dpi=120, layout="constrained")
    grid = figure.subplots(2, 2, sharex=True)
    lines = ["| | | point | last 50k | best so far |", "|---|---|---|---|---|"]
    for row, algo in enumerate(("td3", "sac")):
        for column, task in enumerate(TASKS):
            run = runs.read(ROOT / "results/reference-300k" / f"{algo}-{task}-v4")
            axes, (mean, std) = grid[row, column], (run.returns.mean(0), run.returns.std(0))
            axes.plot(run.steps, mean, label=f"ours, {task}-v4")
            axes.fill_between(run.steps, mean - std, mean + std, alpha=0.2, linewidth=0)
            ours = {name: measure(run, STEP) for name, measure in MEASURES.items()}
            cells = [f"{x.mean():.0f} ± {x.std():.0f}" for x in ours.values()]
            lines.append(f"| {algo.upper()} {task} | **ours, v4** | {' | '.join(cells)} |")
            found = others(algo, task)
            for k, source in enumerate(dict.fromkeys(r["source"] for r in found)):
                own = {r["metric"]: r for r in found if r["source"] == source}
                name = f"{source.split('@')[0]}, {own['point']['env'].split('-')[-1]}"
                cells = []
                for metric in MEASURES:
                    row_there = own.get(metric) or own[COARSER[metric]]
                    theirs = float(row_there["mean"]), float(row_there["std"])
                    apart = (ours[metric].mean() - theirs[0]) / theirs[1]
                    coarser = "" if metric in own else ", last 100k"
                    cells.append(f"{theirs[0]:.0f} ± {theirs[1]:.0f} ({apart:+.1f}{coarser})")
                lines.append(f"| | {name} | {' | '.join(cells)} |")
                point = own["point"]
                axes.errorbar(
                    STEP + 6_000 * (k + 1), float(point["mean"]), float(point["std"]), fmt="o", capsize=3, label=name
                )
            axes.set(title=f"{algo.upper()}, {task}", xlabel="environment steps", ylabel="mean return")
            axes.set_xticks([0, 100_000, 200_000, 300_000], ["0", "100k", "200k", "300k"])
            axes.legend(frameon=False, fontsize=7, loc="upper left")
            axes.grid(alpha=0.25)
    figure.savefig(ROOT / "docs/reference-300k.png")
    print("\n".join(lines))
    extra = [f"{a}-{t}-v4-warmup10k" for a, t in (("sac", "HalfCheetah"), ("sac", "Hopper"))]
    for name in extra:
        run = runs.read(ROOT / "results/reference-300k" / name)
        print(name, *(f"{np.mean(m(run, STEP)):.0f} ± {np.std(m(run, STEP)):.0f}" for m in MEASURES.values()))


if __name__ == "__main__":
    main()
