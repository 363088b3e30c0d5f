"""What a stronger term of the discriminator gives in return: results/stronger-term."""

import tomllib

import numpy as np
import pytest

from teen.config.job import resolve

from .logs import ROOT, gain, holm, interval, last, last_means, p_value, short, spread
from .pages import DIVERSITY, PAGE, README, STRONGER, cells, flat, table_of
from .strength import (
    AGAIN,
    ALL,
    CHEETAH,
    CONTROL,
    ENDS,
    FIRST,
    HERE,
    HOPPER,
    IN_TABLE,
    MEDIUM,
    MILD,
    OF_Q,
    PAPERS,
    ROWS,
    SECOND,
    STRONG,
    THIRD,
    beside,
    both_p,
    folders,
    logged,
    measured,
    names_on,
    p_of,
    scored,
)

RETURNS = table_of(STRONGER, "who follows the term", "pull")
TEXT = flat(STRONGER)


def test_the_tables_have_every_setting():
    lines = [f"{task.removesuffix('-v4')}: {words}" for task, words in IN_TABLE]
    assert len(lines) == sum(len(names_on(task)) for task in ENDS)
    for table in (RETURNS, table_of(STRONGER, "who follows the term", "accuracy (p)")):
        assert [line.split("|")[1].strip() for line in table.splitlines()[2:]] == lines


def mean_of(task, name):
    return np.mean(last_means(scored(task, name), ENDS[task]))


def difference(one, other, end):
    return f"{gain(one, other, end)} ({interval(one, other, end).removesuffix(' %')})".replace("-", "−")


@pytest.mark.parametrize(("task", "words"), IN_TABLE)
def test_the_table_of_returns(task, words):
    name = ROWS[words]
    seeds, control, end = beside(task, name)
    alone = spread(measured(task, name, "return_members_mean"))
    expected = [f"{np.mean(logged(task, name, 'diversity_pull')):.2f}", last(seeds, end), "", "", alone, ""]
    if name != CONTROL:
        expected[2:4] = difference(seeds, control, end), ", ".join(map(short, both_p(seeds, control, end)))
        expected[5] = short(p_of(task, name, "return_members_mean"))
    assert cells(RETURNS, f"{task.removesuffix('-v4')}: {words}") == expected


@pytest.mark.parametrize("words", AGAIN)
def test_the_table_of_more_seeds(words):
    task, name, seeds = AGAIN[words]
    ours, control, end = beside(task, name, seeds=seeds)
    p = ", ".join(map(short, both_p(ours, control, end)))
    expected = [last(ours, end), last(control, end), difference(ours, control, end), p]
    assert cells(table_of(STRONGER, "task, seeds: who follows the term"), words) == expected


@pytest.mark.parametrize("task", ENDS)
def test_the_settings(task):
    changed = {"alpha", "alpha_scale", "epsilon", "regularise", "seeds"}
    kept = []
    for name in names_on(task):
        kept_seeds = [path.name.removeprefix("seeds=") for path in (HERE / task / name).iterdir()]
        more = {block for t, n, blocks in AGAIN.values() if t == task and name in (n, CONTROL) for block in blocks}
        assert sorted(kept_seeds) == sorted({*FIRST, *more})
        for run in folders(task, name, kept_seeds):
            config = tomllib.loads((ROOT / "results" / run / "config.toml").read_text())
            said = {
                CONTROL: {"alpha": 0},
                PAPERS: {"alpha": 0.2, "alpha_scale": "absolute", "regularise": "selected", "epsilon": 0.1},
                ALL: {"alpha": 0.2, "alpha_scale": "absolute", "regularise": "all", "epsilon": 0.1},
                OF_Q: {"alpha": 0.01, "alpha_scale": "q", "regularise": "selected", "epsilon": 0.1},
                MILD: {"alpha": 0.2, "alpha_scale": "absolute", "regularise": "all", "epsilon": 0.02},
                MEDIUM: {"alpha": 0.01, "alpha_scale": "q", "regularise": "all", "epsilon": 0.02},
                STRONG: {"alpha": 0.1, "alpha_scale": "q", "regularise": "all", "epsilon": 0.02},
            }[name]
            assert {key: config[key] for key in said} == said
            kept.append({key: value for key, value in config.items() if key not in changed})
    assert all(each == kept[0] for each in kept)
    assert (kept[0]["n"], kept[0]["width"], kept[0]["lr"], kept[0]["warmup"]) == (5, 64, 1e-3, 10_000)
    assert (kept[0]["env"], kept[0]["steps"], kept[0]["eval_episodes"]) == (task, ENDS[task], 3)
    paper = resolve({"preset": "paper", "algo": "teen", "env": task}).flat()
    other = {name for name, value in kept[0].items() if name != "versions" and paper[name] != value}
    logs = {"eval_episodes", "log_every", "checkpoint_every"}
    where = {"backend", "collector"}  # auto, resolved
    assert other - logs - where - changed == {"n", "width", "lr", "warmup", "steps", "buffer"}  # which holds every step
    assert kept[0]["buffer"] >= ENDS[task]


def test_the_comparisons_that_were_planned_first():
    p = holm({name: p_value(*beside(HOPPER, name)) for name in (PAPERS, MILD, MEDIUM, STRONG)})
    said = f'Welch\'s p of "α = 0.01 of Q" is {p[MEDIUM]:.3f} and that of "0.1 of Q" {p[STRONG]:.3f}, so the second'
    assert f"{said} holds and the first is suggested." in TEXT
    lower = [100 * (1 - mean_of(HOPPER, name) / mean_of(HOPPER, CONTROL)) for name in (STRONG, MEDIUM)]
    said = "the return on Hopper-v4 is {:.0f} % lower. Where all follow one about as strong as Q, it is {:.0f} % lower"
    assert said.format(*lower) in TEXT
    steps, rising = (np.mean([seed[part] for seed in scored(HOPPER, MEDIUM)], 0) for part in (0, 1))
    assert np.polyfit(steps[-6:], rising[-6:], 1)[0] > 0
    alone, mean = (np.mean(measured(HOPPER, STRONG, f"return_{whose}")) for whose in ("members_mean", "mean_action"))
    assert alone > mean


def test_one_change_at_a_time():
    pairs = [(task, name) for task in ENDS for name in (ALL, OF_Q)]
    p = holm({pair: p_value(*beside(*pair)) for pair in pairs})
    assert f"the four p of Welch's test are {min(p.values()):.2f} and more with Holm's correction" in TEXT
    found = {pair: beside(*pair, PAPERS) for pair in pairs}
    lower = {pair: gain(*both).removeprefix("-") for pair, both in found.items()}
    welch = {pair: p_value(*both) for pair, both in found.items()}
    first, second = (CHEETAH, ALL), (CHEETAH, OF_Q)
    said = f"is {lower[first]} lower where all follow ({interval(*found[first])}; p = {welch[first]:.3f})"
    said += f" and {lower[second]} lower with α relative to Q ({interval(*found[second])}; p = {welch[second]:.3f},"
    said += f" with Holm's correction for four {holm(welch)[second]:.3f}); on Hopper-v4 it is higher by"
    first, second = (HOPPER, ALL), (HOPPER, OF_Q)
    said += f" {lower[first].removesuffix(' %')} and {lower[second]} (p = {welch[first]:.2f} and {welch[second]:.2f})"
    assert said in TEXT


def test_what_is_said_of_halfcheetah():
    ranks = {name: both_p(*beside(CHEETAH, name)) for name in names_on(CHEETAH) if name != CONTROL}
    assert all(welch > 0.05 for welch, _ in ranks.values())
    assert [name for name, (_, p) in ranks.items() if p < 0.05] == [MILD]
    assert f'by ranks "all, α = 0.2, ε = 0.02" is lower (p = {ranks[MILD][1]:.3f}, not corrected)' in TEXT
    alone = [np.mean(measured(CHEETAH, name, "return_members_mean")) for name in (MEDIUM, CONTROL)]
    p = p_of(CHEETAH, MEDIUM, "return_members_mean")
    said = f"members that act alone have {100 * (1 - alone[0] / alone[1]):.0f} % less (p = {p:.3f}, not corrected)"
    assert said in TEXT


def looks_best(task, unseen=(ALL, OF_Q)):
    """Return the setting with the term that has the highest mean return on the seeds 0–9, of those seen by then."""
    others = [name for name in names_on(task) if name not in (CONTROL, *unseen)]
    return max(others, key=lambda name: mean_of(task, name))


def test_what_is_said_of_more_seeds_of_hopper():
    assert (looks_best(HOPPER), looks_best(CHEETAH), looks_best(HOPPER, ())) == (MILD, PAPERS, OF_Q)
    assert mean_of(HOPPER, MILD) < mean_of(HOPPER, CONTROL)
    again = holm({task: p_value(*beside(task, looks_best(task), seeds=SECOND)) for task in ENDS})
    mild = beside(HOPPER, MILD, seeds=SECOND)
    assert f"On Hopper-v4 p was {p_value(*mild):.3f}, so seeds 20–29 followed." in TEXT
    said = (
        f"it has {gain(*mild)} more, which is not shown (p = {p_value(*mild):.3f}, with Holm's correction for the two"
    )
    less = gain(*beside(HOPPER, MILD, seeds=THIRD)).removeprefix("-")
    assert f"{said} tasks {again[HOPPER]:.2f}); on seeds 20–29 it has {less} less." in TEXT
    assert sorted([MILD, PAPERS, ALL, OF_Q, MEDIUM, STRONG], key=lambda name: mean_of(HOPPER, name))[-2:] == [ALL, OF_Q]
    thirty = beside(HOPPER, MILD, seeds=FIRST + SECOND + THIRD)
    said = f"the return is {gain(*thirty)} higher ({interval(*thirty)}; p = {short(p_value(*thirty))})"
    assert f"Over all thirty, with the ten that it was chosen by, {said}." in TEXT
    twenty, thirty = (beside(HOPPER, OF_Q, seeds=seeds) for seeds in (SECOND + THIRD, FIRST + SECOND + THIRD))
    said = f"has {gain(*twenty)} more on twenty further seeds ({interval(*twenty)}). On HalfCheetah-v4 it has"
    cheetah = beside(CHEETAH, OF_Q)
    assert f"{said} {gain(*cheetah).removeprefix('-')} less ({interval(*cheetah)})." in TEXT
    assert f"{gain(*twenty)} more on the twenty seeds that it was not chosen by, which shows no difference." in TEXT
    assert p_value(*twenty) > 0.1
    welch, ranks = both_p(*thirty)
    said = f"it is {gain(*thirty)} ({interval(*thirty)}; p = {welch:.3f}, by ranks {ranks:.3f})"
    assert f"Over all thirty, with the ten that it was chosen by, {said}." in TEXT
    said = f"has {gain(*twenty)} more on twenty seeds ({interval(*twenty)}; p = {p_value(*twenty):.2f})"
    assert said in flat(DIVERSITY)


def test_what_is_said_of_more_seeds_of_halfcheetah():
    sets = [beside(CHEETAH, MEDIUM, seeds=seeds) for seeds in (FIRST, SECOND)]
    assert all(p_value(*each) > 0.05 for each in sets)
    lower = [gain(*each).removeprefix("-") for each in sets]
    twenty = beside(CHEETAH, MEDIUM, seeds=FIRST + SECOND)
    welch, ranks = map(short, both_p(*twenty))
    said = "{} less in the first set, {} less in the second, and neither shows it alone.".format(*lower)
    assert f"{said} Over all twenty seeds it is {interval(*twenty)} (p = {welch}, by ranks {ranks})" in TEXT
    first, second = (share.removesuffix(" %") for share in lower)
    said = f"on HalfCheetah-v4 it is {first} and {second} % lower in two sets of seeds, neither of which shows"
    assert f"{said} a difference alone." in TEXT
    said = "the return is {} lower on ten seeds and {} on ten others, which neither set shows".format(*lower)
    assert f"on HalfCheetah-v4 {said} alone." in flat(DIVERSITY)
    assert {gain(*beside(CHEETAH, PAPERS, seeds=seeds)) for seeds in (FIRST, SECOND)} == {"3 %"}
    twenty = beside(CHEETAH, PAPERS, seeds=FIRST + SECOND)
    assert f"3 % more in both sets, over all twenty seeds {interval(*twenty)} (p = {short(p_value(*twenty))})" in TEXT
    assert f"a gain above {interval(*twenty).split()[-2]} % is unlikely" in TEXT


def test_the_other_pages_say_so_too():
    assert "no gain is shown, and the strongest term costs three quarters of the return on Hopper-v4" in flat(PAGE)
    said = "no gain in return was shown, and the strongest setting lost three quarters of the return on Hopper-v4"
    assert said in flat(README)
    assert round(1 - mean_of(HOPPER, STRONG) / mean_of(HOPPER, CONTROL), 2) == 0.75
    for task in ENDS:
        assert 0.5 < np.mean(logged(task, MEDIUM, "diversity_pull")) < 1  # comparable to Q
        assert mean_of(task, MEDIUM) < mean_of(task, CONTROL)


def test_no_setting_shows_a_gain():
    """Also not those that were trained again, on the seeds that were not looked at before."""
    for task in ENDS:
        for name in names_on(task):
            seeds, control, end = beside(task, name)
            assert name == CONTROL or p_value(seeds, control, end) > 0.05 or gain(seeds, control, end).startswith("-")
    for task, name, seeds in AGAIN.values():
        assert p_value(*beside(task, name, seeds=seeds)) > 0.05
