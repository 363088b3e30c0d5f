"""Whether the discriminator helps: returns and diversity with and without it."""

import re

import numpy as np
from scipy.stats import ttest_ind

from .logs import evaluations, gain, last, last_means, p_value, spread
from .pages import PAGE, README, cells, flat, steps_of, table_of
from .runs import BOTH_ALPHAS, FIRST, MILLION, SECOND, WALKER, WALKER_0, all_runs, diagnosed

CONTROLS = {  # α = 0.2 and α = 0 as lanes of one program
    "Walker2d-v4 at 290k": SECOND,
    "Hopper-v4 at 170k": FIRST,
    "Ant-v4 at 130k": FIRST,
}


def test_the_discriminator_on_other_tasks():
    found = table_of(PAGE, "", "α = 0.2", "α = 0", "difference, 95 % interval", "p")
    assert re.findall(r"^\| (\S.*?) \|", found, re.MULTILINE)[1:] == list(CONTROLS)
    for row, part in CONTROLS.items():
        task, words = row.split(" at ")
        step = steps_of(words)
        teen, control = (all_runs(task, label, step, part) for label in ("TEEN", "TEEN α = 0"))
        assert len(teen) == len(control) == 5
        test = ttest_ind(last_means(teen, step), last_means(control, step), equal_var=False)
        apart = np.mean(last_means(teen, step)) - np.mean(last_means(control, step))
        said = "{:.0f}, {:.0f} to {:.0f}".format(apart, *test.confidence_interval()).replace("-", "−")
        assert cells(found, row) == [last(teen, step), last(control, step), said, f"{test.pvalue:.2f}"]
    teen, control = evaluations(WALKER), evaluations(WALKER_0)
    more, p = gain(teen, control, 290_000).replace("-", "−"), p_value(teen, control, 290_000)
    assert f"on Walker2d-v4 at 290k {more} (p = {p:.2f})" in PAGE
    assert f"{last(teen, 290_000)} and {last(control, 290_000)}, p = {p:.2f})" in flat(README)
    teen, control = (evaluations(FIRST + BOTH_ALPHAS.format("Walker2d", alpha)) for alpha in ("0.2", "0"))
    assert {steps[-1] for steps, _ in teen} == {160_000}
    assert (
        f"to 160,000 steps: {last(teen, 150_000)} and {last(control, 150_000)} at 150k "
        f"(p = {p_value(teen, control, 150_000):.2f})" in flat(PAGE)
    )


def test_diagnostics_on_walker2d():
    text = flat(PAGE)
    assert "TEEN after 300,250 steps, TD3 after 331,370 and SAC after 327,970," in text
    ends = {WALKER_0: 300_250, WALKER: 300_250}
    ends |= {f"{SECOND}td3-Walker2d-v4,seeds=5-9": 331_370, f"{SECOND}sac-Walker2d-v4,seeds=5-9": 327_970}
    columns = [diagnosed(run, step) for run, step in ends.items()]
    found = table_of(PAGE, "Walker2d-v4")
    for first, quantity, digits in (
        ("E KL(ρ(· given z) ‖ ρ), nats", "kl_members", 2),
        ("the same, [biased the other way](diagnostics.md#entropies)", "kl_members_any_episode", 2),
        ("H(ρ), nats", "entropy_all", 1),
        ("H(ρ given z), nats", "entropy_members_mean", 1),
        ("share of pairs whose member the discriminator names (chance: 0.10)", "discriminator_accuracy", 3),
        ("the discriminator's bound of the KL, log N + E log q", "discriminator_bound", 3),
        ("distance of two members' actions in the same state", "action_distance", 2),
        ("estimation bias (Q − G) / mean G", "bias_normalised_mean", 3),
    ):
        by_seed = [column[quantity] for column in columns]
        assert cells(found, first) == [spread(seeds, digits).replace("-", "−") if seeds else "" for seeds in by_seed]
    p = ttest_ind(columns[0]["kl_members"], columns[1]["kl_members"], equal_var=False).pvalue
    assert f"(first row: p = {p:.2f})" in PAGE
    entropy = [column["entropy_all"] for column in columns]
    against = [ttest_ind(ours, other, equal_var=False).pvalue for ours in entropy[:2] for other in entropy[2:]]
    assert f"is shown, with either α (p = {min(against):.2f} to {max(against):.2f})" in PAGE


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
    columns = [[diagnosed(run, 1_000_000) for run in MILLION[label]] for label in ("TEEN α = 0", "TEEN", "TD3", "SAC")]
    found = table_of(PAGE, "", "α = 0", "α = 0.2", "TD3", "SAC")
    for quantity, (first, digits) in rows.items():
        by_seed = [[value for run in column for value in run[quantity]] for column in columns]
        assert cells(found, first) == [spread(seeds, digits).replace("-", "−") if seeds else "" for seeds in by_seed]
