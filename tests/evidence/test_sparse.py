"""What the discriminator's term gives where rewards are sparse: results/sparse-reward."""

import csv
import gzip
import tomllib
from collections import defaultdict

import numpy as np
import pytest
from scipy.stats import fisher_exact

from .logs import ROOT, holm, p_values, several, short, spread, train_rows
from .pages import PAGE, README, SPARSE, cells, flat, table_of
from .runs import diagnosed

HERE = ROOT / "results" / "sparse-reward"
TRIALS = {  # by folder: its name, its steps, the digits of its returns
    "pendulum-swingup": ("pendulum-swingup, 50k", 50_000, 0),
    "pendulum-swingup-100k": ("pendulum-swingup, 100k", 100_000, 0),
    "MountainCarContinuous-v0": ("MountainCarContinuous-v0, 50k", 50_000, 2),
    "MountainCarContinuous-v0-150k": ("MountainCarContinuous-v0, 150k", 150_000, 2),
    "cartpole-swingup_sparse": ("cartpole-swingup_sparse, 50k", 50_000, 2),
}
PENDULUM, PENDULUM_2, CAR, CAR_2, CARTPOLE = TRIALS
NAMES = {
    "α = 0": "alpha=0",
    "one member, α = 0.2, ε = 0.1": "one,alpha=0.2",
    "all, α = 0.2, ε = 0.02": "all,alpha=0.2",
}
CONTROL, ONE, ALL = NAMES.values()
WARMUP = 5_000


def folders(trial, name):
    seeds = ("10-14", "15-19") if trial in (PENDULUM_2, CAR_2) else ("0-4", "5-9")
    return [f"sparse-reward/{trial}/{name}/seeds={block}" for block in seeds]


def means(trial, name, after=WARMUP):
    """Return each seed's mean over the evaluations after a step."""
    seeds = several(folders(trial, name), TRIALS[trial][1])
    assert len(seeds) == 10
    return [returns[steps > after].mean() for steps, returns in seeds]


def p_of(trial, name):
    return p_values(means(trial, name), means(trial, CONTROL))


def logged(trial, name, metric):
    rows = [row for run in folders(trial, name) for row in train_rows(run)]
    return [float(row[metric]) for row in rows if int(row["step"]) > WARMUP]


def with_minus(text):
    return text.replace("-", "−")


@pytest.mark.parametrize("trial", TRIALS)
@pytest.mark.parametrize("words", NAMES)
def test_the_table(trial, words):
    name, (title, end, digits) = NAMES[words], TRIALS[trial]
    p = "" if name == CONTROL else ", ".join(map(short, p_of(trial, name)))
    expected = [spread(means(trial, name), digits), p, spread(means(trial, name, end - 10_000), digits)]
    alone = [np.mean(list(members.values())) for members in members_alone(trial, name)]
    expected.append(spread(alone, digits))
    for metric, places in (("diversity_pull", 1), ("action_spread", 2)):
        expected.append(f"{np.nanmedian(logged(trial, name, metric)):.{places}f}")
    found = cells(table_of(SPARSE, "task, steps: who follows the term"), f"{title}: {words}")
    assert found == [with_minus(cell) for cell in expected]


def members_alone(trial, name):
    """Return the mean return of each member after the last step, by member, for every seed."""
    found = defaultdict(lambda: defaultdict(list))
    for run in folders(trial, name):
        with gzip.open(ROOT / "results" / run / "eval.csv.gz", "rt") as file:
            for row in csv.DictReader(file):
                if int(row["step"]) == TRIALS[trial][1] and row["policy"] != "mean":
                    found[row["seed"]][row["policy"]].append(float(row["return"]))
    assert [len(members) for members in found.values()] == [5] * 10
    return [{member: np.mean(returns) for member, returns in members.items()} for members in found.values()]


def test_the_settings():
    said = {CONTROL: (0, "selected", 0.1), ONE: (0.2, "selected", 0.1), ALL: (0.2, "all", 0.02)}
    kept = []
    for trial, (_, end, _) in TRIALS.items():
        task = trial.removesuffix("-100k").removesuffix("-150k")
        task = task if task == CAR else f"dm_control/{task}"
        for name in NAMES.values():
            for run in folders(trial, name):
                config = tomllib.loads((ROOT / "results" / run / "config.toml").read_text())
                assert (config["env"], config["steps"], config["buffer"]) == (task, end, end)
                assert (config["alpha"], config["regularise"], config["epsilon"]) == said[name]
                changed = {"env", "seeds", "alpha", "regularise", "epsilon", "steps", "buffer", "versions"}
                changed |= {"backend", "collector", "members_every"}  # auto, resolved; what is evaluated
                kept.append({key: value for key, value in config.items() if key not in changed})
    assert all(each == kept[0] for each in kept)
    assert (kept[0]["n"], kept[0]["width"], kept[0]["lr"], kept[0]["warmup"]) == (5, 64, 1e-3, WARMUP)


def car(quantity):
    """Return what was measured on the trained agents of MountainCarContinuous-v0, by setting, a number a seed."""
    if quantity == "farthest":
        return {name: [np.mean(seed) for seed in seeds] for name, seeds in driven().items()}
    return {
        name: [value for run in folders(CAR, name) for value in diagnosed(run, 50_000)[quantity]]
        for name in NAMES.values()
    }


def driven():
    """Return the farthest position of every episode, by setting, a list a seed."""
    found = defaultdict(lambda: defaultdict(list))
    with (HERE / "mountain-car.csv").open() as file:
        for row in csv.DictReader(file):
            found[row["setting"]][row["seed"]].append(float(row["farthest"]))
    assert {len(episodes) for seeds in found.values() for episodes in seeds.values()} == {50}  # five members, ten each
    return {name: list(seeds.values()) for name, seeds in found.items()}


def corrected(trials, place):
    """Return p against α = 0 with Holm's correction, by trial and setting: Welch's, or that of ranks."""
    return holm({(trial, name): p_of(trial, name)[place] for trial in trials for name in (ONE, ALL)})


def higher():
    """Return the rows of the table whose mean is above that with α = 0."""
    rows = [(trial, name) for trial in TRIALS for name in (ONE, ALL)]
    return [(trial, name) for trial, name in rows if np.mean(means(trial, name)) > np.mean(means(trial, CONTROL))]


def test_what_is_said_of_returns():
    text = flat(SPARSE)
    assert higher() == [(PENDULUM_2, ONE)]
    both = [np.mean(means(PENDULUM_2, name)) for name in (ONE, CONTROL)]
    said = "pendulum-swingup at 100k, one member: {:.0f} against {:.0f} (p = {:.2f}, by ranks {:.2f})"
    assert said.format(*both, *p_of(PENDULUM_2, ONE)) in text
    welch, ranks = (
        corrected((PENDULUM, CAR, CARTPOLE), place) | corrected((PENDULUM_2, CAR_2), place) for place in (0, 1)
    )
    lower = {(CAR, ONE), (CAR, ALL)}
    assert {key for key, p in welch.items() if p < 0.05} == lower
    assert {key for key, p in ranks.items() if p < 0.05} == lower | {(CAR_2, ONE)}
    assert f"by ranks one member has less ({ranks[CAR_2, ONE]:.3f} with Holm's correction for the four" in text
    assert f"of the second trial; for all members {ranks[CAR_2, ALL]:.3f})" in text
    said = f"By ranks alone the term for all has less at 50k (p = {p_of(PENDULUM, ALL)[1]:.3f}, corrected"
    assert f"{said} {ranks[PENDULUM, ALL]:.3f})" in text


def test_what_is_said_of_pendulum_and_cartpole():
    text = flat(SPARSE)
    most = max(
        mean for name in NAMES.values() for trial in (PENDULUM, PENDULUM_2) for mean in last_returns(trial, name)
    )
    assert f"the highest has {most:.0f} of 1000 in the last 10,000 steps." in text
    above = {
        name: sum(mean > 100 for trial in (PENDULUM, PENDULUM_2) for mean in last_returns(trial, name))
        for name in NAMES.values()
    }
    p = fisher_exact([[above[name], 20 - above[name]] for name in (ALL, CONTROL)]).pvalue
    said = (
        f"Of the twenty seeds of both trials {above[CONTROL]} have more than 100 in the last 10,000 steps with α = 0,"
    )
    said += f" {above[ONE]} with one member, and {above[ALL]} with the term for all"
    assert f"{said} (looked at afterwards; {above[ALL]} against {above[CONTROL]}: p = {p:.3f})" in text
    rows = [row for name in NAMES.values() for run in folders(CARTPOLE, name) for row in train_rows(run)]
    most = max(float(row["episode_return"]) for row in rows if row["episode_return"])
    assert f"a mean over the episodes of 2,500 steps, is {most:.0f} of 1000" in text


def last_returns(trial, name):
    return means(trial, name, TRIALS[trial][1] - 10_000)


def shorter(trial, name):
    """Return the rows of train.csv in which an episode of MountainCarContinuous-v0 ended before the time limit, by
    seed: (step, mean length of the episodes)."""
    found = defaultdict(list)
    for run in folders(trial, name):
        for row in train_rows(run):
            if row["episode_length"] and float(row["episode_length"]) < 999:
                found[int(row["seed"])].append((int(row["step"]), float(row["episode_length"])))
    return found


def test_what_is_said_of_finding_the_reward():
    text = flat(SPARSE)
    assert [shorter(CAR, name) for name in NAMES.values()] == [{}] * 3
    assert "By 50k no training episode of the thirty runs reached the reward." in text
    first = {shorter(CAR_2, name)[13][0] for name in NAMES.values()}
    assert len(first) == 1  # an episode of the warm-up, which no setting changes
    assert first.pop()[0] == WARMUP + 2_500  # the first row
    last = [means(CAR_2, name, 140_000) for name in NAMES.values()]
    assert all(scores[3] > 90 for scores in last)
    assert all(score < 10 for scores in last for seed, score in enumerate(scores) if seed != 3)
    assert "and learnt it with each setting: it makes the means and their ±" in text
    above = {
        name: sum(returns.max() > 0 for _, returns in several(folders(CAR_2, name), 150_000)) for name in NAMES.values()
    }
    p = fisher_exact([[above[name], 10 - above[name]] for name in (ALL, CONTROL)]).pvalue
    said = f"Where all members follow the term, {above[ALL]} of ten seeds have an evaluation above 0 by 150k; where"
    said += f" one does, {above[ONE]}; with α = 0, {above[CONTROL]} (fixed before; Fisher's exact test,"
    assert f"{said} {above[ALL]} against {above[CONTROL]}: p = {p:.2f})" in text
    others = [{seed: rows for seed, rows in shorter(CAR_2, name).items() if seed != 13} for name in (ALL, ONE, CONTROL)]
    assert [len(seeds) for seeds in others] == [3, 1, 0]
    p = fisher_exact([[3, 6], [0, 9]]).pvalue
    said = "reached by three of nine seeds with the term for all, one with one member, none with α = 0 (looked at"
    assert f"{said} afterwards; 3 against 0: p = {p:.2f})" in text
    assert min(rows[0][0] for rows in others[0].values()) > 100_000
    assert "Those three began after step 100,000, and had not learnt it" in text


@pytest.mark.parametrize(
    ("words", "quantity"),
    [
        ("accuracy of the discriminator (chance: 0.20)", "discriminator_accuracy"),
        ("distance of two members' actions in the same state", "action_distance"),
        ("E KL(ρ(· given z) ‖ ρ), nats", "kl_members"),
        ("the same, [biased the other way](diagnostics.md#entropies)", "kl_members_any_episode"),
        ("H(ρ), nats", "entropy_all"),
        ("H(ρ given z), nats", "entropy_members_mean"),
        ("farthest position of a member in an episode, mean", "farthest"),
    ],
)
def test_the_table_of_diagnoses(words, quantity):
    values = car(quantity)
    expected = [with_minus(spread(values[CONTROL], 2))]
    for name in (ONE, ALL):
        expected += [with_minus(spread(values[name], 2)), short(p_values(values[name], values[CONTROL])[0])]
    assert cells(table_of(SPARSE, "MountainCarContinuous-v0, 50k"), words) == expected


def test_what_is_said_of_members():
    text, visits, own = flat(SPARSE), car("entropy_all"), car("entropy_members_mean")
    assert f"estimate of H(ρ) is higher**, by {np.mean(visits[ALL]) - np.mean(visits[CONTROL]):.1f} nats" in text
    assert all(p_values(own[name], own[CONTROL])[0] > 0.05 for name in (ONE, ALL))
    assert "for a single member no difference is shown" in text
    assert np.mean(own[CONTROL]) > np.mean(visits[CONTROL])
    assert np.mean(car("kl_members")[CONTROL]) < 0
    assert "in each of the ten seeds it returns less than −7, and the others more than −1.5" in text
    for members in members_alone(CAR, ONE):
        least, *others = sorted(members.values())
        assert least < -7
        assert min(others) > -1.5
    far = car("farthest")
    more, p = np.mean(far[ALL]) - np.mean(far[CONTROL]), p_values(far[ALL], far[CONTROL])[0]
    assert f"by {more:.2f} where all follow the term (p = {p:.3f})" in text
    reached = {name: sum(place >= 0.45 for seed in seeds for place in seed) for name, seeds in driven().items()}
    assert reached == {CONTROL: 0, ONE: 1, ALL: 0}
    assert sum(len(seed) for seeds in driven().values() for seed in seeds) == 1500
    assert "Of 1,500 episodes of members that act alone, without noise, one reached the reward, with one member" in text


def test_the_other_pages_say_so_too():
    visits = car("entropy_all")
    assert p_values(visits[ALL], visits[CONTROL])[0] < 0.001
    assert "[more entropy](sparse-reward.md) where all members follow the term (p < 0.001)" in flat(PAGE)
    assert min(min(p_of(*row)) for row in higher()) > 0.05
    assert "With [sparse rewards](sparse-reward.md) no gain is shown, on tasks that hardly any run learnt." in flat(
        PAGE
    )
    said = "With [sparse rewards](docs/sparse-reward.md) no gain was shown either, on tasks that hardly any run learnt."
    assert said in flat(README)
