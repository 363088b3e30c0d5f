"""Whether the discriminator helps: returns and diversity with and without it."""

from collections import defaultdict

import numpy as np
import pytest
from scipy.stats import mannwhitneyu, nct, ttest_ind
from scipy.stats import t as student

from .logs import interval, last, last_means, p_value, spread, train_rows
from .pages import DIVERSITY, PAGE, cells, flat, table_of
from .runs import (
    CONTROL,
    FIRST,
    HALF,
    HALF_MILLION,
    MILLION,
    PAPER,
    SECOND,
    WALKER,
    WALKER_0,
    all_runs,
    diagnosed,
    half_million,
)


def test_the_discriminator_on_other_tasks():
    """At 500k, and in the runs that were cut before: α = 0.2 and α = 0 as lanes of one program."""
    text, intervals, p = flat(DIVERSITY), [], []
    for task in (*HALF_MILLION, *CONTROL):
        teen, control = (all_runs(task, label, 500_000, PAPER) for label in ("TEEN", "TEEN α = 0"))
        assert len(teen) == len(control) == 5
        if task in HALF_MILLION:
            assert np.mean(last_means(teen, 500_000)) < np.mean(last_means(control, 500_000))
        else:
            intervals.append(interval(teen, control, 500_000))
        p.append(p_value(teen, control, 500_000))
    assert "the intervals at 500k are narrower: {}, {} and {}. But".format(*intervals) in text
    assert min(p) > 0.05
    sooner = [last_means(all_runs("Hopper-v4", label, 300_000, PAPER), 300_000) for label in ("TEEN", "TEEN α = 0")]
    assert max(sooner[0]) < min(sooner[1])
    assert f"(p = {mannwhitneyu(*sooner).pvalue:.3f} by ranks); at 500k this is no longer so" in text
    teen, control = (all_runs("Walker2d-v4", label, 500_000, PAPER) for label in ("TEEN", "TEEN α = 0"))
    assert f"Walker2d-v4's interval is {interval(teen, control, 500_000)}" in text
    early = []
    for task, step, part in (("Walker2d-v4", 290, SECOND), ("Hopper-v4", 170, FIRST), ("Ant-v4", 130, FIRST)):
        teen, control = (all_runs(task, label, 1000 * step, part) for label in ("TEEN", "TEEN α = 0"))
        assert len(teen) == len(control) == 5
        words = (" with α = 0.2", " with 0") if not early else ("", "")
        scores = [f"{last(seeds, 1000 * step)}{word}" for seeds, word in zip((teen, control), words, strict=True)]
        early.append(f"{task} at {step}k {' and '.join(scores)} (p = {p_value(teen, control, 1000 * step):.2f})")
    assert f"show no difference either: {', '.join(early)}." in text


PULLS = (30_000, 100_000, 200_000, 500_000)
QUANTITIES = {  # their rows and digits in the tables
    "kl_members": ("E KL(ρ(· given z) ‖ ρ), nats", 2),
    "kl_members_any_episode": ("the same, [biased the other way](diagnostics.md#entropies)", 2),
    "entropy_all": ("H(ρ), nats", 1),
    "entropy_members_mean": ("H(ρ given z), nats", 1),
    "discriminator_accuracy": ("accuracy of the discriminator (chance: 0.10)", 2),
    "action_distance": ("distance of two members' actions in the same state", 2),
    "bias_normalised_mean": ("estimation bias (Q − G) / mean G", 2),
    "return_random_member": ("return of a member drawn at random", 0),
    "return_mean_action": ("return of the mean action", 0),
}


@pytest.mark.parametrize(
    ("first_cell", "tasks", "least"),
    [("α = 0.2, then α = 0", HALF_MILLION, 0.11), ("α = 0.02, then α = 0", CONTROL, 0.097)],
)
def test_diagnostics_at_half_a_million_steps(first_cell, tasks, least):
    found, p = table_of(DIVERSITY, first_cell), []
    for quantity, (first, digits) in QUANTITIES.items():
        expected = []
        for task in tasks:
            both = [diagnosed(run, 500_000)[quantity] for run in half_million(task)]
            assert [len(seeds) for seeds in both] == [5, 5]
            expected.append(", ".join(spread(seeds, digits) for seeds in both).replace("-", "−"))
            p.append(ttest_ind(*both, equal_var=False).pvalue)
        assert cells(found, first) == expected
    assert found.count("\n") == 2 + len(p) // 3
    assert min(p) > least
    assert "No p of the first table is below 0.11, none of the second below 0.097;" in flat(DIVERSITY)


def test_what_is_said_of_the_diagnostics():
    apart = []
    for task in (*HALF_MILLION, *CONTROL):
        both = [diagnosed(run, 500_000) for run in half_million(task)]
        apart += [np.mean(each["kl_members_any_episode"]) - np.mean(each["kl_members"]) for each in both]
    assert f"they are {min(apart):.2f} to {max(apart):.2f} nats apart" in flat(DIVERSITY)
    sooner = []
    for task in CONTROL:
        both = [diagnosed(run, 250_000) for run in half_million(task)]
        sooner += [ttest_ind(both[0][quantity], both[1][quantity], equal_var=False).pvalue for quantity in QUANTITIES]
    assert min(sooner) > 0.1
    assert "at 250,000 steps of the second three tasks none is below 0.10" in flat(DIVERSITY)
    walker = [np.mean(diagnosed(run, 500_000)["return_mean_action"]) for run in half_million("Walker2d-v4")]
    logged = [
        np.mean(last_means(all_runs("Walker2d-v4", label, 500_000, PAPER), 500_000)) for label in ("TEEN", "TEEN α = 0")
    ]
    assert walker[0] > walker[1]
    assert logged[0] < logged[1]


def test_diagnostics_on_walker2d_of_runs_that_were_cut():
    text = flat(DIVERSITY)
    ends = {WALKER_0: 300_250, WALKER: 300_250}
    ends |= {f"{SECOND}td3-Walker2d-v4,seeds=5-9": 331_370, f"{SECOND}sac-Walker2d-v4,seeds=5-9": 327_970}
    columns = [diagnosed(run, step) for run, step in ends.items()]
    without, teen = (column["kl_members"] for column in columns[:2])
    p = ttest_ind(without, teen, equal_var=False).pvalue
    said = f"{spread(teen, 2)} with α = 0.2 and {spread(without, 2)} with α = 0 (p = {p:.2f})"
    assert f"seeds 5–9, the KL at 300,250 steps is {said}" in text
    entropy = [column["entropy_all"] for column in columns]
    against = [ttest_ind(ours, other, equal_var=False).pvalue for ours in entropy[:2] for other in entropy[2:]]
    assert f"with either α (p = {min(against):.2f} to {max(against):.2f}; TEEN after 300,250 steps," in PAGE


def test_diagnostics_at_one_million_steps():
    rows = {
        "kl_members": ("E KL(ρ(· given z) ‖ ρ), nats: what differences between members add to the entropy", 2),
        "entropy_all": ("H(ρ), nats", 1),
        "entropy_members_mean": ("H(ρ given z), nats: one member, mean of all", 1),
        "discriminator_accuracy": ("accuracy of the discriminator (chance: 0.10)", 3),
        "discriminator_bound": ("the discriminator's bound of the KL, log N + E log q", 3),
        "action_distance": ("distance of two members' actions in the same state", 2),
        "bias_normalised_mean": ("estimation bias (Q − G) / mean G", 3),
        "return_random_member": ("return of a member drawn at random", 0),
        "return_mean_action": ("return of the mean action", 0),
    }
    columns = [[diagnosed(run, 1_000_000) for run in MILLION[label]] for label in ("TEEN", "TEEN α = 0", "TD3", "SAC")]
    found = table_of(DIVERSITY, "", "α = 0.2", "α = 0", "TD3", "SAC")
    for quantity, (first, digits) in rows.items():
        by_seed = [[value for run in column for value in run[quantity]] for column in columns]
        assert cells(found, first) == [spread(seeds, digits).replace("-", "−") if seeds else "" for seeds in by_seed]
    teen, without, td3, sac = (
        [value for run in MILLION[label] for value in diagnosed(run, 1_000_000)["entropy_all"]]
        for label in ("TEEN", "TEEN α = 0", "TD3", "SAC")
    )
    p = [ttest_ind(teen, other, equal_var=False).pvalue for other in (td3, sac)]
    assert max(p) < 0.0015
    assert "those of TD3 and SAC (p ≤ 0.001); with α = 0" in flat(PAGE)
    one, between = (
        np.mean([value for run in MILLION["TEEN"] for value in diagnosed(run, 1_000_000)[quantity]])
        for quantity in ("entropy_members_mean", "kl_members")
    )
    said = f"A single member has {one:.1f} nats, TD3 {np.mean(td3):.1f} and SAC {np.mean(sac):.1f}, and differences"
    assert f"{said} between members add {between:.2f}" in flat(PAGE)
    p = [ttest_ind(without, other, equal_var=False).pvalue for other in (td3, sac)]
    assert "p = {:.2f} and {:.2f}".format(*p) in flat(PAGE)
    hopper = [diagnosed(HALF.format("Hopper", alpha), 500_000) for alpha in ("0.2", "0")]
    apart = [np.mean(each["entropy_all"]) - np.mean(each["entropy_members_mean"]) for each in hopper]
    assert all(3.9 < difference < 4.2 for difference in apart)
    assert "cannot exceed ln 10 = 2.3, but is 4 on Hopper-v4" in flat(DIVERSITY)


def test_how_much_of_the_term_is_clipped():
    runs = [MILLION["TEEN"][0], *(half_million(task)[0] for task in (*HALF_MILLION, *CONTROL))]
    means = []
    for run in runs:
        shares = defaultdict(list)
        for row in train_rows(run):
            shares[int(row["step"])].append(float(row["clipped_share"]))
        assert {len(seeds) for seeds in shares.values()} == {5}
        means += [100 * np.mean(seeds) for step, seeds in shares.items() if step >= 100_000]
    assert f"From step 100,000 on {min(means):.0f} to {max(means):.0f} % of the pairs" in flat(DIVERSITY)


def test_how_strong_the_term_is_on_deepmind_control():
    found, shares = table_of(DIVERSITY, "`diversity_pull` (mean Q) at step"), []
    for task in CONTROL:
        values = defaultdict(lambda: defaultdict(list))
        for row in train_rows(half_million(task)[0]):
            for name in ("diversity_pull", "q"):
                values[int(row["step"])][name].append(float(row[name]))
        at = {step: {name: np.mean(seeds) for name, seeds in named.items()} for step, named in values.items()}
        expected = [f"{at[step]['diversity_pull']:.3f} ({abs(at[step]['q']):.1f})" for step in PULLS]
        assert cells(found, task) == expected
        shares += [100 * each["diversity_pull"] for step, each in at.items() if step >= 100_000]
    assert f"the term has {min(shares):.0f} to {max(shares):.0f} % of Q's strength there" in flat(DIVERSITY)


def test_how_strong_the_term_is_beside_q():
    rows = [row for row in train_rows("pull-50k") if 30_000 <= int(row["step"]) <= 50_000]
    assert {row["seed"] for row in rows} == {"0"}
    assert [int(row["step"]) for row in rows] == list(range(30_000, 50_001, 1_000))
    pull, q = ([float(row[name]) for row in rows] for name in ("diversity_pull", "q"))
    said = f"{min(pull):.2f} to {max(pull):.2f} between steps 30,000 and 50,000, while the mean Q rises from"
    assert f"{said} {q[0]:.1f} to {q[-1]:.1f}" in flat(DIVERSITY)
    assert round(np.mean(pull), 1) == 0.1


def test_the_mean_action_returns_more_than_a_random_member():
    runs = [(task, half_million(task), 500_000) for task in (*HALF_MILLION, *CONTROL)]
    runs.append(("HalfCheetah-v4", [MILLION["TEEN"], MILLION["TEEN α = 0"]], 1_000_000))
    more = {}
    for task, both, step in runs:
        for folders in both:
            folders = [folders] if isinstance(folders, str) else folders
            means = [
                np.mean([value for run in folders for value in diagnosed(run, step)[quantity]])
                for quantity in ("return_mean_action", "return_random_member")
            ]
            more.setdefault(task, []).append(means[0] / means[1] - 1)
    assert min(min(each) for each in more.values()) > 0
    assert max(more, key=lambda task: np.mean(more[task])) == "Ant-v4"
    assert "than a member drawn at random on all seven tasks, with either α, by the most on Ant-v4" in flat(PAGE)


def runs_needed(task, step):
    """Return how many runs of each α find a difference of 10 % at p < 0.05 in eight of ten trials."""
    teen, control = (last_means(all_runs(task, label, step, PAPER), step) for label in ("TEEN", "TEEN α = 0"))
    both = np.sqrt((np.var(teen, ddof=1) + np.var(control, ddof=1)) / 2)
    effect = 0.1 * np.mean(control) / both

    def power(n):
        beyond, centre = student.ppf(0.975, 2 * n - 2), effect * np.sqrt(n / 2)
        return nct.sf(beyond, 2 * n - 2, centre) + nct.cdf(-beyond, 2 * n - 2, centre)

    return next(n for n in range(2, 1000) if power(n) > 0.8)


def test_how_many_runs_would_be_needed():
    n = {task: runs_needed(task, 500_000) for task in (*HALF_MILLION, *CONTROL)}
    said = "{Hopper-v4} on Hopper-v4, {finger-spin} on finger-spin, {cheetah-run} on cheetah-run, {walker-run} on"
    said += " walker-run, {Ant-v4} on Ant-v4 and {Walker2d-v4} on Walker2d-v4 at 500k,"
    said += f" {runs_needed('HalfCheetah-v4', 1_000_000)} on HalfCheetah-v4 at 1M."
    assert said.format(**n) in flat(DIVERSITY)
