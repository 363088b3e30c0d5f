"""Average gains over tasks: the table of docs/evidence.md, and what is said of them."""

import numpy as np
import pytest
from scipy.stats import t

from teen.report.statistics import average_gain

from .logs import last_means
from .pages import DIVERSITY, PAGE, README, cells, flat, printed, table_of
from .runs import CONTROL, HALF_MILLION, MILLION, MUJOCO, PAPER, all_runs, diagnosed, half_million

SEVEN = (*MUJOCO, *CONTROL)
GROUPS = (MUJOCO, CONTROL, SEVEN)
PAIRS = [(a, b) for a in ("TEEN", "TEEN α = 0") for b in ("TD3", "SAC")] + [("TEEN", "TEEN α = 0")]
STEPS = range(100_000, 500_001, 10_000)  # of the figure


def average(ours, theirs, tasks, step=500_000):
    """The gain in per cent, and both ends of its interval: the mean over tasks of the difference of log(mean), whose
    variance is std² / (runs · mean²); Student's t with the freedom of Satterthwaite."""
    logs, variances, freedoms = [], [], []
    for task in tasks:
        for sign, label in ((1, ours), (-1, theirs)):
            runs = np.array(last_means(all_runs(task, label, step, PAPER), step))
            logs.append(sign * np.log(np.mean(runs)))
            variances.append((np.std(runs, ddof=1) / np.mean(runs) / len(tasks)) ** 2 / len(runs))
            freedoms.append(len(runs) - 1)
    middle, total = sum(logs) / len(tasks), sum(variances)
    freedom = total**2 / sum(v**2 / f for v, f in zip(variances, freedoms, strict=True))
    half = t.ppf(0.975, freedom) * total**0.5
    return tuple(100 * (np.exp(middle + side * half) - 1) for side in (0, -1, 1))


def words(numbers):
    return "{:.0f} % ({:.0f} to {:.0f})".format(*(round(n) for n in numbers)).replace("-", "−")


@pytest.mark.parametrize(("ours", "theirs"), PAIRS)
def test_the_table(ours, theirs):
    found = table_of(PAGE, "on average at 500k", "MuJoCo, 4 tasks", "DeepMind Control, 3 tasks", "all, 7 tasks")
    assert cells(found, f"{ours} over {theirs}") == [words(average(ours, theirs, tasks)) for tasks in GROUPS]


def signed(numbers):
    return "({:.0f} to {:.0f})".format(*(round(n) for n in numbers[1:])).replace("-", "−")


def test_what_is_said_of_alpha():
    mujoco, control, seven = (average("TEEN", "TEEN α = 0", tasks) for tasks in GROUPS)
    assert [round(numbers[0]) for numbers in (mujoco, control, seven)] == [-3, 1, -1]
    parts = f"3 % less on MuJoCo {signed(mujoco)}, 1 % more on DeepMind Control {signed(control)}."
    whole = signed(seven).replace(")", " %)")
    said = "TEEN has 1 % less with the paper's α than with α = 0"
    assert f"On average over these seven of the paper's nine tasks {said} {whole}: {parts}" in flat(README)
    text = flat(PAGE)
    assert f"With the paper's α TEEN has 1 % less than with α = 0 on average over seven tasks {whole}:" in text
    assert parts.replace(" on MuJoCo", " on MuJoCo with α = 0.2").replace("Control", "Control with α = 0.02") in text
    text = flat(DIVERSITY)
    assert f"On average over the seven at 500k {said}, 95 % interval {whole.strip('()')}**:" in text
    assert f"over the four of MuJoCo 3 % less {signed(mujoco)}, over the three of DeepMind Control 1 % more" in text
    assert mujoco[1] < -10 < 10 < mujoco[2]
    assert all(
        "a gain of 10 % on MuJoCo is compatible with these runs, as is a loss" in page for page in (flat(PAGE), text)
    )


def test_no_difference_between_the_alphas_at_any_step():
    for tasks in GROUPS:
        for step in STEPS:
            _, low, high = average("TEEN", "TEEN α = 0", tasks, step)
            assert low < 0 < high
    assert "No difference is shown at any step of the figure." in flat(PAGE)
    assert "From 100,000 to 500,000 steps no difference is shown by it either." in flat(DIVERSITY)


def test_what_is_said_of_mujoco():
    readme, text = flat(README), flat(PAGE)
    both = [average(ours, other, MUJOCO) for ours in ("TEEN", "TEEN α = 0") for other in ("TD3", "SAC")]
    said = "TEEN has {:.0f} % more than TD3 (95 % interval {:.0f} to {:.0f}) and {:.0f} % more than SAC ({:.0f} to "
    said += "{:.0f}), with α = 0 {:.0f} % ({:.0f} to {:.0f}) and {:.0f} % ({:.0f} to {:.0f})."
    assert said.format(*(number for numbers in both for number in numbers)) in readme
    assert all(low > 0 for _, low, _ in both)
    three = [average("TEEN", other, MUJOCO[:3]) for other in ("TD3", "SAC")]
    assert MUJOCO[3] == "Ant-v4"
    assert all(low < 0 for _, low, _ in three)
    numbers = [f"{numbers[0]:.0f} % {signed(numbers)}" for numbers in three]
    assert f"without it no lead is shown, {numbers[0]} and {numbers[1]}." in readme
    numbers = [
        f"{numbers[0]:.0f} % more than {other} {signed(numbers)}"
        for numbers, other in zip(three, ("TD3", "SAC"), strict=True)
    ]
    assert f"Much of it is Ant-v4: over the other three TEEN has {numbers[0]} and {numbers[1]}." in text
    middles = [average("TEEN", other, MUJOCO, step)[0] for other in ("TD3", "SAC") for step in STEPS]
    assert min(middles) > 5
    assert max(middles) < 60
    assert "On MuJoCo the estimates over TD3 and SAC stay between 5 and 60 %, with wide intervals" in text


def test_what_is_said_of_deepmind_control():
    sooner, later = (
        [average("TEEN", other, CONTROL, step) for other in ("TD3", "SAC")] for step in (STEPS[0], 500_000)
    )
    said = f"{sooner[0][0]:.0f} % more than TD3 at 100k {signed(sooner[0])} and {sooner[1][0]:.0f} % more than SAC "
    said += f"{signed(sooner[1])}, at 500k {later[0][0]:.0f} % {signed(later[0])} and "
    said = f"on average over the three tasks it has {said}{later[1][0]:.0f} % {signed(later[1])}."
    assert said in flat(README)
    assert f"O{said[1:]}" in flat(PAGE)
    assert all(low > 0 for _, low, _ in sooner)


def test_over_the_papers_baselines():
    """Its means are taken as exact."""
    gains, parts = [], []
    for task in MUJOCO:
        better = max(float(printed(label, task, 500_000).split(" ± ")[0]) for label in ("TD3", "SAC"))
        runs = np.array(last_means(all_runs(task, "TEEN", 500_000, PAPER), 500_000))
        gains.append(np.log(runs.mean() / better))
        parts.append(((runs.std(ddof=1) / runs.mean()) ** 2 / len(runs) / 16, len(runs) - 1))
    total = sum(v for v, _ in parts)
    half = t.ppf(0.975, total**2 / sum(v**2 / f for v, f in parts)) * total**0.5
    found = [100 * (np.exp(np.mean(gains) + side * half) - 1) for side in (0, -1, 1)]
    said = f"our TEEN has {found[0]:.0f} % more {signed(found)}."
    assert f"over the better of the paper's two on each task {said}" in flat(README)
    said = said.replace("more", "more on average")
    assert f"over the better of *the paper's* two on each task of MuJoCo {said}" in flat(PAGE)


@pytest.mark.parametrize("draw", ["normal", "gamma"])
def test_the_intervals_cover(draw):
    """Runs are simulated with the means, spreads and numbers of ours. Of 2,000 a share is known to 1 % (two standard
    errors)."""
    rng = np.random.default_rng(0)
    shares = []
    for tasks in GROUPS:
        for other in ("TD3", "SAC", "TEEN α = 0"):
            runs = {}
            for task in tasks:
                for label in ("TEEN", other):
                    ours = np.array(last_means(all_runs(task, label, 500_000, PAPER), 500_000))
                    runs[task, label] = ours.mean(), ours.std(ddof=1), len(ours)
            true = np.exp(np.mean([np.log(runs[task, "TEEN"][0] / runs[task, other][0]) for task in tasks])) - 1

            def simulated(label, tasks=tasks, runs=runs):
                for task in tasks:
                    mean, std, number = runs[task, label]
                    yield (
                        rng.normal(mean, std, number)
                        if draw == "normal"
                        else rng.gamma((mean / std) ** 2, std**2 / mean, number)
                    )

            found = np.array([average_gain(list(simulated("TEEN")), list(simulated(other))) for _ in range(2_000)])
            found = found[~np.isnan(found[:, 0])]
            shares.append(np.mean((found[:, 1] < true) & (true < found[:, 2])))
    assert min(shares) > 0.93
    assert max(shares) < 0.975
    assert "normal or gamma, 94 to 97 % of the intervals have the true gain inside" in flat(PAGE)


def test_the_mean_action_and_a_member():
    """In fresh episodes: on MuJoCo with α = 0.2."""
    runs = {task: [half_million(task)[0]] for task in HALF_MILLION} | {"HalfCheetah-v4": MILLION["TEEN"]}
    more = {}
    for task, some in runs.items():
        step = 1_000_000 if task == "HalfCheetah-v4" else 500_000
        means = [
            np.mean([value for run in some for value in diagnosed(run, step)[quantity]])
            for quantity in ("return_mean_action", "return_random_member")
        ]
        more[task] = 100 * (means[0] / means[1] - 1)
    assert max(more, key=more.get) == "Ant-v4"
    said = (
        f"returns {min(more.values()):.0f} to {max(more.values()):.0f} % more than one member drawn at random on MuJoCo"
    )
    assert f"{said}, the most on Ant-v4" in flat(PAGE)
