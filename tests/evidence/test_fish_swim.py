"""What is said of fish-swim."""

import csv

import jax.numpy as jnp
import numpy as np
from jax import random
from scipy.stats import ttest_ind

from scripts import held_noise
from teen.algos import sac
from teen.spec import Spec

from .logs import ROOT, evaluations, train_rows
from .pages import FISH, cells, flat, table, table_of
from .runs import diagnosed

SMALL = "teen/base=sac,action_repeat=2,width=64,lr=0.001,alpha={}"  # five seeds


def test_fish_swim():
    text = flat(FISH)
    others = {
        "Tonic's TD3, 256 units": ("tonic_data", "TD3(256x2,obsnorm)"),
        "TD7, in Simba's logs, action repeat 2": ("simba@", "td7"),
        "Tonic's SAC, 256 units, fixed temperature": ("tonic_data", "SAC(256x2,obsnorm,fixed T)"),
        "Simba's SAC, action repeat 2": ("simba@", "sac"),
        "pytorch_sac, 1024 units, batches of 1024, learning rate 1e-4": ("pytorch_sac", "SAC(1024x2,lr1e-4,b1024)"),
        "Simba, residual networks, action repeat 2": ("simba@", "sac_simba"),
    }
    rows = [
        row
        for row in table("reference_results.csv")
        if row["env"].replace("_", "-") == "fish-swim"
        and (row["env_step"], row["metric"]) == ("500000", "mean_last_100k")
    ]
    for label, (source, algo) in others.items():
        (row,) = [row for row in rows if source in row["source"] and row["algo"] == algo]
        assert cells(FISH, label) == [f"{float(row['mean']):.0f} ± {float(row['std']):.0f}"]
        assert ("action repeat 2" in row["note"]) == (source == "simba@")
    printed_there = [
        next(
            f"{row['mean']} ± {row['spread']}"
            for row in table("paper_tables.csv")
            if (row["algo"], row["env"], row["env_step"]) == (algo, "fish-swim", "500000")
        )
        for algo in ("TD3", "SAC", "TEEN")
    ]
    assert cells(FISH, "the paper's TD3, SAC, TEEN (it does not say of which steps)") == [", ".join(printed_there)]

    def saturated(run):
        rows = [row for row in train_rows(f"fish-swim/{run}") if row["saturated_share"]]
        return {(row["seed"], int(row["step"])): 100 * float(row["saturated_share"]) for row in rows}

    shares = [saturated(f"td3/lr={rate}")["0", 20_000] for rate in ("0.0003", "0.0001", "3e-05")]
    assert "after 10,000 updates {:.0f} %, {:.0f} % and {:.0f} % of their actions".format(*shares) in text

    def means(run, window, end, repeat):
        """Return a text of each seed's mean over the last steps of the simulator; "–" where it did not come so far."""
        seeds = [(steps * repeat, returns) for steps, returns in evaluations(f"fish-swim/{run}")]
        if seeds[0][0][-1] < end:
            return "–"
        return ", ".join(f"{returns[(steps > end - window) & (steps <= end)].mean():.0f}" for steps, returns in seeds)

    measured = diagnosed("fish-swim/teen/base=sac,action_repeat=2", 250_000)
    said = "Its mean action has {:.0f} after the last step, a member drawn at random {:.0f} (ten episodes each)"
    assert said.format(measured["return_mean_action"][0], measured["return_random_member"][0]) in text
    two, one = (means(f"sac/{run}", 100_000, 500_000, 1) for run in ("n_step=2,gamma=0.995", "gamma=0.995,again"))
    other, pair = two.split(", ")[1], " and ".join(one.split(", "))
    assert f"the other has {other}; with 1-step returns the two have {pair}." in text
    found = table_of(FISH, "here")
    for row, run, repeat in (
        ("SAC, learning rate 3e-4", "sac/lr=0.0003", 1),
        ("SAC, learning rate 1e-4", "sac/lr=0.0001", 1),
        ("SAC, discount 0.995", "sac/gamma=0.995", 1),
        ("SAC, discount 0.995, again", "sac/gamma=0.995,again", 1),
        ("SAC, discount 0.995, noise held for 2 steps", "sac/held_noise,gamma=0.995", 1),
        ("SAC, discount 0.995, 2-step returns", "sac/n_step=2,gamma=0.995", 1),
        ("SAC, action repeat 2", "sac/action_repeat=2", 2),
        ("TEEN on SAC, 5 members, α = 0.02, action repeat 2", "teen/base=sac,action_repeat=2", 2),
        ("the same with 64 units, learning rate 1e-3", SMALL.format(0.02), 2),
        ("the same with 64 units, learning rate 1e-3, α = 0", SMALL.format(0), 2),
        ("TD3, action repeat 2", "td3/action_repeat=2", 2),
    ):
        share = saturated(run).values()
        words = f"at least {min(share):.0f} %" if run.startswith("td3") else f"at most {max(share):.0f} %"
        ends = [means(run, 50_000, 300_000, repeat), means(run, 100_000, 500_000, repeat)]
        assert cells(found, row) == [*ends, words]


def test_it_is_not_learnt_with_64_units():
    pulls = [float(row["diversity_pull"] or 0) for row in train_rows(f"fish-swim/{SMALL.format(0.02)}")]
    assert f"With 64 units it is at most {max(pulls):.3f}." in flat(FISH)
    seeds = [seed for alpha in (0.02, 0) for seed in evaluations(f"fish-swim/{SMALL.format(alpha)}")]
    above = [value for steps, returns in seeds if (value := returns[steps > 200_000].mean()) > 125]
    assert len(seeds) == 10
    assert len(above) == 1
    assert f"nine of ten runs of TEEN stay at posture; the tenth, with α = 0, has {above[0]:.0f}." in flat(FISH)


def test_random_actions_that_are_held_find_the_target_no_more_often():
    with (ROOT / "results" / "fish-swim" / "random.csv").open() as file:
        rows = list(csv.DictReader(file))

    def values(held, name):
        return np.array([float(row[name]) for row in rows if row["held"] == held])

    assert {held: len(values(held, "episode")) for held in "124"} == {"1": 500, "2": 500, "4": 500}
    text = flat(FISH)
    near = [100 * np.mean(values(held, "near_steps") > 0) for held in "124"]
    assert "in {:.1f} %, {:.1f} % and {:.1f} % of 500 episodes".format(*near) in text
    target = [values(held, "target_return") for held in "124"]
    means = "{:.1f}, {:.1f} and {:.1f} on average".format(*(part.mean() for part in target))
    p = [ttest_ind(target[0], other, equal_var=False).pvalue for other in target[1:]]
    assert f"{means} (p = {p[0]:.2f} between 1 and 2, {p[1]:.2f} between 1 and 4)" in text
    one, two = (100 * values(held, "travelled").mean() for held in "12")
    assert f"they carry it {100 * (two / one - 1):.0f} % farther, {two:.0f} instead of {one:.0f} cm" in text
    assert ttest_ind(values("1", "nearest"), values("2", "nearest"), equal_var=False).pvalue > 0.9


def test_noise_is_held_while_actions_follow_the_state():
    cfg, spec = held_noise.Config(hold=2, width=8), Spec(3, 2)
    actor = held_noise.ALGORITHM.init(cfg, random.key(0), spec).actor
    memo, taken = held_noise.ALGORITHM.begin(cfg, random.key(1), spec), []
    draws = random.normal(random.key(2), (4, 2))
    for noise, obs in zip(draws, (jnp.zeros(3), jnp.zeros(3), jnp.ones(3), jnp.zeros(3)), strict=True):
        action, _, memo = held_noise.ALGORITHM.act(cfg, actor, memo, obs, noise)
        taken.append(action)
    expected = [(0, 0), (0, 0), (1, 2), (0, 2)]  # the state's number, which draw
    for action, (state, draw) in zip(taken, expected, strict=True):
        np.testing.assert_array_equal(action, sac.explore(cfg, actor, jnp.full(3, float(state)), draws[draw]))
