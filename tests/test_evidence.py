"""What README and docs/evidence.md say of our runs is what the logs say, worked out here from the logs alone."""

import csv
import gzip
import re
from collections import defaultdict
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "evidence.md").read_text()
PAPER = "paper/runs/"
TEEN = PAPER + "teen-HalfCheetah-v4,alpha=0.2+0,seeds=0-4/"
MILLION = {
    "TEEN": TEEN + "alpha=0.2",
    "TEEN α = 0": TEEN + "alpha=0",
    "SAC": PAPER + "sac-HalfCheetah-v4,seeds=0-9",
    "TD3": PAPER + "td3-HalfCheetah-v4,seeds=0-9",
}


def evaluations(run, every=1):
    """By seed: steps, and the mean return of the evaluation at each."""
    episodes = defaultdict(lambda: defaultdict(list))
    with gzip.open(ROOT / "results" / run / "eval.csv.gz", "rt") as file:
        for row in csv.DictReader(file):
            if row["policy"] == "mean" and int(row["step"]) % every == 0:
                episodes[row["seed"]][int(row["step"])].append(float(row["return"]))
    return [(np.array(list(own)), np.array([np.mean(v) for v in own.values()])) for own in episodes.values()]


def words(scores):
    return f"{np.mean(scores):.0f} ± {np.std(scores):.0f}"


def last(seeds, step):
    return words([means[(steps > step - 50_000) & (steps <= step)].mean() for steps, means in seeds])


def best(seeds, step):
    return words([means[steps <= step].max() for steps, means in seeds])


def cells(page, first):
    """Of the one line whose first cell is this."""
    (line,) = re.findall(rf"^\| {re.escape(first)} \|(.*)\|$", page, re.MULTILINE)
    return [cell.strip() for cell in line.split("|")]


def point(seeds, step):
    return words([means[steps == step].item() for steps, means in seeds])


@pytest.mark.parametrize("algo", ["TD3", "SAC"])
@pytest.mark.parametrize("task", ["HalfCheetah", "Hopper"])
def test_beside_other_implementations_at_300k(algo, task):
    seeds = evaluations(f"reference-300k/{algo.lower()}-{task}-v4")
    assert cells(PAGE, f"{algo} {task}") == [
        "**ours, v4**", *(measure(seeds, 300_000) for measure in (point, last, best))
    ]  # fmt: skip


def test_normalised_observations():
    found = last(evaluations("reference-300k/td3-HalfCheetah-v4-normalised"), 300_000)
    assert f"with `--normalise-obs` ours has\n  {found} by the last 50k" in PAGE


@pytest.mark.parametrize("label", MILLION)
def test_one_million_steps(label):
    seeds = evaluations(MILLION[label])
    assert cells(PAGE, f"**ours: {label}**") == [
        measure(seeds, step) for step in (500_000, 1_000_000) for measure in (last, best)
    ]


def test_readme_has_the_same_scores():
    row = cells((ROOT / "README.md").read_text(), "here")
    assert [re.match(r"\d+ ± \d+", cell)[0] for cell in row] == [
        last(evaluations(run), 1_000_000) for run in MILLION.values()
    ]


def test_settings_of_sac_at_300k():
    for row, rate in (("learning rate 3e-4", "0.0003"), ("learning rate 1e-3, of the temperature too", "0.001")):
        runs = [f"{task}/lr={rate},target_entropy={e}" for task in ("halfcheetah", "hopper") for e in ("-1", "-0.5")]
        assert cells(PAGE, row) == [last(evaluations(f"sac-settings-300k/{run}"), 300_000) for run in runs]


def test_settings_of_sac_on_hopper_at_240k():
    for row, name in (
        ("tuned temperature, −abs(A)", "hopper/lr={},target_entropy=-1"),
        ("tuned temperature, −abs(A)/2", "hopper/lr={},target_entropy=-0.5"),
        ("temperature 0.2", "hopper-fixed-temperature/lr={}"),
    ):
        both = [evaluations("sac-settings-300k/" + name.format(rate), 10_000) for rate in ("0.0003", "0.001")]
        assert cells(PAGE, row) == [measure(seeds, 240_000) for measure in (last, best) for seeds in both]


def test_diagnostics_at_one_million_steps():
    rows = {
        "kl_members": ("E KL(ρ(· given z) ‖ ρ), nats: what differences between members add to the entropy", 2),
        "entropy_all": ("H(ρ), nats", 1),
        "entropy_members_mean": ("H(ρ given z), nats: one member, mean of all", 1),
        "discriminator_accuracy": ("share of pairs whose member the discriminator names (chance: 0.10)", 3),
        "discriminator_bound": ("the discriminator's bound of the KL, log N + E log q", 3),
        "action_distance": ("distance of two members' actions in the same state", 2),
        "bias_normalised_mean": ("estimation bias (Q − G) / mean G", 3),
        "return_random_member": ("return of a member drawn at random", 0),
        "return_mean_action": ("return of the mean action", 0),
    }
    values = defaultdict(list)
    columns = ("TEEN α = 0", "TEEN", "TD3", "SAC")
    for label in columns:
        with gzip.open(ROOT / "results" / MILLION[label] / "diagnostics.csv.gz", "rt") as file:
            for row in csv.DictReader(file):
                if row["step"] == "1000000":
                    values[row["quantity"], label].append(float(row["value"]))
    for quantity, (first, digits) in rows.items():
        own = [values[quantity, label] for label in columns]
        text = [f"{np.mean(v):.{digits}f} ± {np.std(v):.{digits}f}".replace("-", "−") if v else "" for v in own]
        assert cells(PAGE, first) == text
