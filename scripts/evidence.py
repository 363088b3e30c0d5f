"""Print the tables of docs/evidence.md, and that of all tasks at 300,000 steps of docs/baselines.md, from results/ and
others' numbers; draw docs/images/mujoco.png and dm_control.png."""

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from scipy.stats import mannwhitneyu, ttest_ind

from teen.envs.names import is_suite
from teen.paper import numbers
from teen.paper.page import UNKNOWN, plus_minus
from teen.report import runs, statistics
from teen.report.figures import COLOURS, short_step
from teen.report.metrics import mean_and_std

ROOT = Path(__file__).parents[1]
ALGORITHMS = ("TEEN", "TEEN α = 0", "SAC", "TD3")
IN_PAPER = ("TEEN", "SAC", "TD3")
SETTINGS, FIRST, SECOND = "settings-300k", "paper-early/first", "paper-early/second"


def at_500k(task: str, alpha: str = "0.2") -> dict[str, list[str]]:
    """Return the folders of the runs of half a million steps, seeds 0-4: the two α are lanes of one program."""
    both = f"paper/runs/teen-{task},alpha={alpha}+0,seeds=0-4"
    alone = {algo: [f"paper/runs/{algo.lower()}-{task},seeds=0-4"] for algo in ("SAC", "TD3")}
    return {"TEEN": [f"{both}/alpha={alpha}"], "TEEN α = 0": [f"{both}/alpha=0"], **alone}


def early(task: str, *parts: str) -> dict[str, list[str]]:
    """Return the folders of the runs that were cut early, seeds 5-9."""
    both = f"teen-{task},alpha=0.2+0,seeds=5-9"
    names = {"TEEN": f"{both}/alpha=0.2", "TEEN α = 0": f"{both}/alpha=0", "SAC": f"sac-{task},seeds=5-9"}
    names["TD3"] = f"td3-{task},seeds=5-9"
    folders = {algo: [f"{part}/{name}" for part in parts] for algo, name in names.items()}
    return {algo: [f for f in some if (ROOT / "results" / f).is_dir()] for algo, some in folders.items()}


def settings(task: str, *algos: str) -> dict[str, list[str]]:
    return {algo: [f"{SETTINGS}/{algo.lower()}/{task}/paper"] for algo in algos}


def together(*parts: dict[str, list[str]]) -> dict[str, list[str]]:
    return {algo: [folder for part in parts for folder in part.get(algo, [])] for algo in ALGORITHMS}


CHEETAH = "paper/runs/teen-HalfCheetah-v4,alpha=0.2"
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
    "Hopper-v4": together(
        at_500k("Hopper-v4"),
        settings("Hopper-v4", "TEEN", "SAC", "TD3"),
        {"SAC": ["reference-300k/sac-Hopper-v4", "sac-settings-300k/hopper/lr=0.0003,target_entropy=-1"]},
        {"TD3": ["reference-300k/td3-Hopper-v4"]},
        early("Hopper-v4", FIRST),
    ),
    "Walker2d-v4": together(
        at_500k("Walker2d-v4"),
        settings("Walker2d-v4", "TEEN", "SAC", "TD3"),
        {"TEEN": ["bf16-300k/Walker2d-v4-tf32"]},
        early("Walker2d-v4", FIRST, SECOND),
    ),
    "Ant-v4": together(at_500k("Ant-v4"), settings("Ant-v4", "TEEN"), early("Ant-v4", FIRST, SECOND)),
    **{f"dm_control/{task}": at_500k(f"dm_control-{task}", "0.02") for task in ("cheetah-run", "finger-spin")},
    "dm_control/walker-run": together(
        at_500k("dm_control-walker-run", "0.02"),
        {
            algo: [f"paper/runs/{algo.lower()}-dm_control-walker-run,seeds={seed}" for seed in range(5, 10)]
            for algo in ("SAC", "TD3")
        },
    ),
}
SOONER = {"dm_control/walker-run": 350_000}  # the last 50,000 steps that all ten of its TD3 and SAC have


def name_of(task: str) -> str:
    return numbers.task(task) if is_suite(task) else task


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
    project = reference.source.partition("@")[0].rpartition("/")[2]
    project = {"tonic_data": "Tonic", "tianshou": "Tianshou"}.get(project, project)
    window = "" if reference.window == "50k" else f", last {reference.window}"
    return f"{plus_minus(mean, std)} ({project}'s {algo}{window})"


def of_evidence(task: str) -> list[int]:
    """Return the steps at which a task is compared: the paper's, and an earlier one where not all came so far."""
    return [*([SOONER[task]] if task in SOONER else []), *numbers.STEPS]


def table(steps_of: Callable[[str], Sequence[int]]) -> list[str]:
    """Return a row for each task and step, and below it the paper's where it prints one."""
    heads = ["task, steps", *ALGORITHMS, "best TD3 or SAC of others"]
    lines = [f"| {' | '.join(heads)} |", "|---" * len(heads) + "|"]
    for task in RUNS:
        ours = read(task)
        for step in steps_of(task):
            cells = [score(ours.get(algo, []), step) for algo in ALGORITHMS]
            if set(cells) == {UNKNOWN}:
                continue
            name = f"{name_of(task)}, {short_step(step)}"
            lines.append(f"| {' | '.join([name, *cells, best_of_others(task, step)])} |")
            paper = [in_paper(algo, task, step) if algo in IN_PAPER else "" for algo in ALGORITHMS]
            if UNKNOWN not in paper:
                lines.append(f"| {' | '.join([f'the paper, {name}'.replace('-v4', ''), *paper, ''])} |")
    return lines


def once(task: str) -> dict[str, list[runs.Run]]:
    """Return the runs of results/paper, in which no seed was trained twice."""
    return {a: [runs.read(ROOT / "results" / f) for f in RUNS[task][a] if f.startswith("paper/")] for a in ALGORITHMS}


def gains(ours: str, *against: str) -> list[str]:
    """Return a table of how much more one algorithm has than others, in per cent of theirs, with Welch's interval,
    and p by Welch's test and by ranks."""
    heads = [f"{ours} over", *(head for algo in against for head in (algo, "p"))]
    lines = [f"| {' | '.join(heads)} |", "|---" * len(heads) + "|"]
    for task in RUNS:
        parts = once(task)
        for step in of_evidence(task):
            means = {algo: last_means(parts[algo], step) for algo in ALGORITHMS}
            if means[ours].size and any(means[algo].size for algo in against):
                cells = [cell for algo in against for cell in gain(means[ours], means[algo])]
                lines.append(f"| {name_of(task)}, {short_step(step)} | {' | '.join(cells)} |")
    return lines


def gain(one: np.ndarray, other: np.ndarray) -> tuple[str, str]:
    """Return the gain of one over the other with its 95 % interval, and both p."""
    if not other.size:
        return UNKNOWN, UNKNOWN
    test = ttest_ind(one, other, equal_var=False)
    share = [100 * value / other.mean() for value in (one.mean() - other.mean(), *test.confidence_interval())]
    words = "{} % ({} to {})".format(*(round(value) for value in share)).replace("-", "−")
    return words, ", ".join(p_text(p) for p in (test.pvalue, mannwhitneyu(one, other).pvalue))


def p_text(p: float) -> str:
    return "< 0.001" if p < 0.001 else f"{p:.3f}" if p < 0.1 else f"{p:.2f}"


def draw(axes: Axes, task: str) -> None:
    """Draw the mean of an algorithm's runs, and the paper's as marks. Runs count that are at least 0.8 times as long as
    the longest, as far as they all come."""
    end = 1_000_000 if task == "HalfCheetah-v4" else 500_000
    for algo, parts in read(task).items():
        longest = max(run.steps[-1] for run in parts)
        parts = [run for run in parts if run.steps[-1] >= 0.8 * longest]
        steps = np.array(sorted(set.intersection(*(set(run.steps.tolist()) for run in parts))))
        returns = np.concatenate([run.returns[:, np.isin(run.steps, steps)] for run in parts])
        mean, std = mean_and_std(returns)
        colour = COLOURS[ALGORITHMS.index(algo)]
        axes.plot(steps, mean, color=colour, linewidth=1.2, label=f"{algo} ({len(returns)} runs)")
        axes.fill_between(steps, mean - std, mean + std, color=colour, alpha=0.12, linewidth=0)
    for place, algo in enumerate(IN_PAPER):  # side by side, so that none hides another
        for step in (step for step in numbers.STEPS if step <= end):
            if found := numbers.in_paper(algo, task, step):
                x, colour = step + 0.02 * (place - 1) * end, COLOURS[ALGORITHMS.index(algo)]
                style = {"fmt": "D", "color": colour, "markersize": 4, "capsize": 2, "linewidth": 0.8}
                label = None if algo in RUNS[task] else f"the paper's {algo}"  # else its curve says whose colour it is
                axes.errorbar(x, found.mean, found.spread, label=label, **style)
    axes.set_title(name_of(task), fontsize=9)
    axes.set_xlim(0, 1.05 * end)
    axes.set_xticks(marks := range(0, end + 1, end // 5), [short_step(mark) if mark else "0" for mark in marks])
    axes.set_ylim(bottom=0)
    axes.tick_params(labelsize=7)
    axes.grid(alpha=0.25)
    axes.legend(frameon=False, fontsize=7, loc="lower right" if end == 1_000_000 or is_suite(task) else "upper left")


def picture(name: str, tasks: list[str]) -> None:
    columns = 3 if len(tasks) == 3 else 2
    rows = -(-len(tasks) // columns)
    figure = Figure(figsize=(9, 3 * rows), dpi=120, layout="constrained")
    for axes, task in zip(figure.subplots(rows, columns).flat, tasks, strict=True):
        draw(axes, task)
    figure.supxlabel("environment steps; diamonds: the paper's TEEN, SAC and TD3, drawn side by side", fontsize=8)
    figure.supylabel("return, mean ± std over runs", fontsize=8)
    figure.savefig(ROOT / "docs" / "images" / name)


def main() -> None:
    both = [*gains("TEEN", "TD3", "SAC", "TEEN α = 0"), "", *gains("TEEN α = 0", "TD3", "SAC")]
    print("\n".join([*table(of_evidence), "", *both, "", *table(lambda task: [300_000])]))
    picture("mujoco.png", [task for task in RUNS if not is_suite(task)])
    picture("dm_control.png", [task for task in RUNS if is_suite(task)])


if __name__ == "__main__":
    main()
