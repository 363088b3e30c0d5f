"""Compare our SAC and TD3 with other implementations at 300,000 steps: print a table, write docs/reference-300k.png."""

import csv
from pathlib import Path

from matplotlib.figure import Figure

from teen.report import runs, statistics
from teen.report.metrics import mean_and_std

ROOT = Path(__file__).parents[1]
STEP = 300_000
TASKS = ("HalfCheetah", "Hopper")
MEASURES = {
    "point": statistics.point,
    "mean_last_50k": statistics.last_mean,
    "per_seed_best_so_far": statistics.best_so_far,
}
COARSER = {"mean_last_50k": "mean_last_100k"}  # in place of a metric that a source with rarer logs lacks


def others(algo: str, task: str) -> dict[str, dict[str, dict[str, str]]]:
    """Return rows of every variant of this algorithm, by source and metric."""
    sources: dict[str, dict[str, dict[str, str]]] = {}
    with (ROOT / "src/teen/paper/reference_results.csv").open() as file:
        for row in csv.DictReader(file):
            same_task = row["env"].lower().startswith(task.lower() + "-v") and int(row["env_step"]) == STEP
            if same_task and row["algo"].split("(")[0].upper() == algo.upper():
                sources.setdefault(row["source"], {})[row["metric"]] = row
    return sources


def spread(run: runs.Run) -> list[str]:
    """Return mean ± sample standard deviation (n − 1) over seeds, by each measure."""
    scores = [measure(run, STEP) for measure in MEASURES.values()]
    return [f"{values.mean():.0f} ± {statistics.sample_std(values):.0f}" for values in scores]


def main() -> None:
    figure = Figure(figsize=(9, 6), dpi=120, layout="constrained")
    grid = figure.subplots(2, 2, sharex=True)
    lines = ["| | | point | last 50k | best so far |", "|---|---|---|---|---|"]
    for row, algo in enumerate(("td3", "sac")):
        for column, task in enumerate(TASKS):
            run = runs.read(ROOT / "results/reference-300k" / f"{algo}-{task}-v4")
            axes, (mean, std) = grid[row, column], mean_and_std(run.returns)
            axes.plot(run.steps, mean, label=f"ours, {task}-v4")
            axes.fill_between(run.steps, mean - std, mean + std, alpha=0.2, linewidth=0)
            lines.append(f"| {algo.upper()} {task} | **ours, v4** | {' | '.join(spread(run))} |")
            for k, (source, metrics) in enumerate(others(algo, task).items()):
                point = metrics["point"]
                name = f"{source.split('@')[0]}, {point['env'].split('-')[-1]}"
                cells = []
                for metric, measure in MEASURES.items():
                    theirs = metrics.get(metric) or metrics[COARSER[metric]]
                    their_mean, their_std = float(theirs["mean"]), float(theirs["std"])
                    apart = (measure(run, STEP).mean() - their_mean) / their_std
                    coarser = "" if metric in metrics else ", last 100k"
                    cells.append(f"{their_mean:.0f} ± {their_std:.0f} ({apart:+.1f}{coarser})")
                lines.append(f"| | {name} | {' | '.join(cells)} |")
                place = STEP + 6_000 * (k + 1)
                axes.errorbar(place, float(point["mean"]), float(point["std"]), fmt="o", capsize=3, label=name)
            axes.set(title=f"{algo.upper()}, {task}", xlabel="environment steps", ylabel="mean return")
            axes.set_xticks([0, 100_000, 200_000, 300_000], ["0", "100k", "200k", "300k"])
            axes.legend(frameon=False, fontsize=7, loc="upper left")
            axes.grid(alpha=0.25)
    figure.savefig(ROOT / "docs/reference-300k.png")
    print("\n".join(lines))
    for task in TASKS:
        name = f"sac-{task}-v4-warmup10k"
        print(name, *spread(runs.read(ROOT / "results/reference-300k" / name)))


if __name__ == "__main__":
    main()
