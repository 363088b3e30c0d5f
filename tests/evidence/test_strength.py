"""What a stronger term of the discriminator gives: results/stronger-term."""

import tomllib

import numpy as np
import pytest
from scipy.stats import ttest_ind

from teen.config.job import resolve

from .logs import ROOT, gain, interval, last, last_means, logged_means, p_value, p_values, several, short, small, spread
from .pages import DIVERSITY, PAGE, README, STRONGER, cells, flat, table_of
from .runs import diagnosed

HERE = ROOT / "results" / "stronger-term"
ROWS = {
    "α = 0": "alpha=0",
    "one member, α = 0.2, ε = 0.1 (the paper's)": "paper",
    "all, α = 0.2, ε = 0.1": "all,epsilon=0.1",
    "all, α = 0.2, ε = 0.02": "all,alpha=0.2",
    "one member, α = 0.01 of Q, ε = 0.1": "one,q,alpha=0.01",
    "all, α = 0.01 of Q, ε = 0.02": "all,q,alpha=0.01",
    "all, α = 0.1 of Q, ε = 0.02": "all,q,alpha=0.1",
}
CONTROL, PAPERS = "alpha=0", "paper"
ALL, OF_Q = "all,epsilon=0.1", "one,q,alpha=0.01"  # one change each
MILD, MEDIUM, STRONG = "all,alpha=0.2", "all,q,alpha=0.01", "all,q,alpha=0.1"
ENDS = {"Hopper-v4": 150_000, "HalfCheetah-v4": 100_000}
FIRST, SECOND, THIRD = ("0-4", "5-9"), ("10-14", "15-19"), ("20-24", "25-29")
AGAIN = {  # by the words of the table: the task, the setting, its seeds
    "Hopper, 10–19: all, α = 0.2, ε = 0.02": ("Hopper-v4", MILD, SECOND),
    "Hopper, 20–29: all, α = 0.2, ε = 0.02": ("Hopper-v4", MILD, THIRD),
    "HalfCheetah, 10–19: one member, α = 0.2, ε = 0.1 (the paper's)": ("HalfCheetah-v4", PAPERS, SECOND),
    "HalfCheetah, 10–19: all, α = 0.01 of Q, ε = 0.02": ("HalfCheetah-v4", MEDIUM, SECOND),
}


def folders(task, name, seeds=FIRST):
    return [f"stronger-term/{task}/{name}/seeds={block}" for block in seeds]


def scored(task, name, seeds=FIRST):
    found = several(folders(task, name, seeds), ENDS[task])
    assert len(found) == 5 * len(seeds)
    return found


def names_on(task):
    return sorted(path.name for path in (HERE / task).iterdir())


def measured(task, name, quantity):
    return [value for run in folders(task, name) for value in diagnosed(run, ENDS[task])[quantity]]


def logged(task, name, metric):
    return logged_means(folders(task, name), ENDS[task], metric)


def p_of(task, name, quantity):
    both = (measured(task, one, quantity) for one in (name, CONTROL))
    return ttest_ind(*both, equal_var=False).pvalue


@pytest.mark.parametrize(
    ("task", "words"),
    [(task, words) for task in ENDS for words in ROWS if ROWS[words] in names_on(task)],
)
def test_the_table(task, words):
    name, end = ROWS[words], ENDS[task]
    seeds = scored(task, name)
    p = "" if name == CONTROL else short(p_value(seeds, scored(task, CONTROL), end))
    expected = [last(seeds, end), p]
    for quantity, digits in (
        ("return_members_mean", 0),
        ("discriminator_accuracy", 2),
        ("kl_members", 2),
        ("action_distance", 2),
    ):
        expected.append(spread(measured(task, name, quantity), digits))
    expected.append(f"{np.mean(logged(task, name, 'diversity_pull')):.2f}")
    found = table_of(STRONGER, "who follows the term")
    assert cells(found, f"{task.removesuffix('-v4')}: {words}") == expected


def looks_best(task, unseen=(ALL, OF_Q)):
    """Return the setting with the term that has the highest mean return on the seeds 0–9, of those seen by then."""
    others = [name for name in names_on(task) if name not in (CONTROL, *unseen)]
    return max(others, key=lambda name: np.mean(last_means(scored(task, name), ENDS[task])))


@pytest.mark.parametrize("words", AGAIN)
def test_the_table_of_more_seeds(words):
    task, name, seeds = AGAIN[words]
    both, end = (scored(task, name, seeds), scored(task, CONTROL, seeds)), ENDS[task]
    change = f"{gain(*both, end)} ({interval(*both, end).removesuffix(' %')})".replace("-", "−")
    expected = [*(last(each, end) for each in both), change, ", ".join(map(short, both_p(*both, end)))]
    assert cells(table_of(STRONGER, "task, seeds: who follows the term"), words) == expected


def together(task, name, *blocks):
    """Return the seeds of several sets, with a setting and with α = 0."""
    return [[seed for seeds in blocks for seed in scored(task, which, seeds)] for which in (name, CONTROL)]


def test_what_is_said_of_more_seeds():
    text = flat(STRONGER)
    assert (looks_best("Hopper-v4"), looks_best("HalfCheetah-v4")) == (MILD, PAPERS)
    again = {task: p_value(*together(task, looks_best(task), SECOND), end) for task, end in ENDS.items()}
    assert again["Hopper-v4"] < again["HalfCheetah-v4"]
    assert f"after a p of {again['Hopper-v4']:.3f}, on seeds 20–29" in text
    assert f"(with Holm's correction for the two tasks p = {2 * again['Hopper-v4']:.2f})" in text
    both, end = together("Hopper-v4", MILD, FIRST, SECOND, THIRD), ENDS["Hopper-v4"]
    found = f"{gain(*both, end)} higher ({interval(*both, end)}; p = {short(p_value(*both, end))})"
    assert f"Over all thirty, with the ten that it was chosen by, the return is {found}." in text
    task, end = "HalfCheetah-v4", ENDS["HalfCheetah-v4"]
    assert {gain(*together(task, PAPERS, seeds), end) for seeds in (FIRST, SECOND)} == {"3 %"}
    both = together(task, MEDIUM, FIRST, SECOND)
    lower = [gain(*together(task, MEDIUM, seeds), end).removeprefix("-") for seeds in (FIRST, SECOND)]
    welch, ranks = map(short, both_p(*both, end))
    said = "{} less in the first set, {} less in the second".format(*lower)
    said += f", and neither shows it alone. Over all twenty seeds it is {interval(*both, end)}"
    assert f"for all HalfCheetah-v4 may have less**: {said} (p = {welch}, by ranks {ranks}), but" in text
    assert all(p_value(*together(task, MEDIUM, seeds), end) > 0.05 for seeds in (FIRST, SECOND))
    said = "the return is {} lower on ten seeds and {} on ten others, which neither set shows".format(*lower)
    assert f"on HalfCheetah-v4 {said} alone ([more](stronger-term.md))" in flat(DIVERSITY)
    both = together(task, PAPERS, FIRST, SECOND)
    assert f"over all twenty seeds {interval(*both, end)} (p = {short(p_value(*both, end))})" in text


def both_p(one, other, end):
    return p_values(last_means(one, end), last_means(other, end))


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


def test_what_is_said_of_members_and_returns():
    text, task, end = flat(STRONGER), "Hopper-v4", ENDS["Hopper-v4"]
    named = [np.mean(measured(task, name, "discriminator_accuracy")) for name in (MEDIUM, CONTROL, STRONG)]
    p = [p_of(task, MEDIUM, quantity) for quantity in ("kl_members", "kl_members_any_episode", "action_distance")]
    said = "the discriminator names {:.2f} of the pairs, with α = 0 it names {:.2f};".format(*named)
    said += f" KL (p = {p[0]:.3f}; biased the other way, {p[1]:.3f}) and distance (p {small(p[2])}) are higher."
    assert f"With α = 0.01 of Q {said}" in text
    assert named[2] > 0.98
    assert np.mean(measured(task, STRONG, "kl_members")) > 0.95 * np.log(5)
    control = scored(task, CONTROL)
    both = [scored(task, name) for name in (MEDIUM, STRONG)]
    ranks = [both_p(seeds, control, end)[1] for seeds in both]
    gains = [gain(seeds, control, end).removeprefix("-") for seeds in both]
    assert [interval(seeds, control, end) for seeds in both] == ["−93 to −7 %", "−118 to −33 %"]
    assert f"{gains[0]} lower than with α = 0 (95 % interval 7 to 93 %; by ranks p = {ranks[0]:.3f})" in text
    assert f"{gains[1]} lower (33 to 118 %: the runs with α = 0 differ much; by ranks p {small(ranks[1])})" in text
    p = sorted(p_value(scored(task, name), control, end) for name in (PAPERS, MILD, MEDIUM, STRONG))
    assert [p_value(seeds, control, end) for seeds in both] == [p[1], p[0]]
    assert f"the p of Welch's test are {3 * p[1]:.3f} and {4 * p[0]:.3f}, so" in text
    assert f"as well (p = {p_of(task, STRONG, 'return_members_mean'):.3f}), though" in text
    assert f"this is not shown (p = {p_of(task, MEDIUM, 'return_members_mean'):.3f})" in text
    alone, mean = (np.mean(measured(task, STRONG, f"return_{whose}")) for whose in ("members_mean", "mean_action"))
    assert alone > mean


def test_what_is_said_of_visits():
    text, task = flat(STRONGER), "Hopper-v4"
    visits = {name: np.mean(measured(task, name, "entropy_all")) for name in (CONTROL, MEDIUM, STRONG)}
    p = {name: p_of(task, name, "entropy_all") for name in (MILD, MEDIUM, STRONG)}
    own = [np.mean(measured(task, name, "entropy_members_mean")) for name in (STRONG, CONTROL)]
    said = f"is {visits[CONTROL]:.1f} nats with α = 0, {visits[MEDIUM]:.1f} with α = 0.01 of Q"
    said += f" (p = {short(p[MEDIUM])}), and {visits[STRONG]:.1f} with α = 0.1 of Q (p {small(p[STRONG])})"
    assert f"H(ρ) {said}" in text
    assert "H(ρ given z) is {:.1f} instead of {:.1f};".format(*own) in text
    said = f"(p = {short(p[MILD])} and {short(p_of(task, MILD, 'entropy_members_mean'))}, two of many p)"
    assert f"H(ρ) and H(ρ given z) are higher {said}" in text


def test_what_is_said_of_replayed_states():
    text, task = flat(STRONGER), "Hopper-v4"
    names = (CONTROL, MEDIUM, STRONG, MILD)
    log_q, clipped = ([np.mean(logged(task, name, m)) for name in names] for m in ("own_log_q", "clipped_share"))
    said = "falls from {:.1f} with α = 0 to {:.1f} and {:.1f} (chance: -1.6)".format(*log_q[:3]).replace("-", "−")
    assert said in text
    none, medium, strong, mild = (f"{100 * share:.0f}" for share in clipped)
    assert f"{medium} and {strong} % of the pairs are clipped at ε = 0.02, where it is {none} % with α = 0 at" in text
    assert f"{mild} % of the pairs are clipped, and members are named more" in text


def test_what_is_said_of_weaker_terms():
    text, task, end = flat(STRONGER), "Hopper-v4", ENDS["Hopper-v4"]
    assert f"named more often (p {small(p_of(task, MILD, 'discriminator_accuracy'))})" in text
    others = [short(p_of(task, MILD, quantity)) for quantity in ("kl_members", "action_distance")]
    seeds, control = scored(task, MILD), scored(task, CONTROL)
    said = "For KL (p = {}), distance (p = {}) and return".format(*others)
    found = f"({gain(seeds, control, end)}, interval {interval(seeds, control, end)})".replace("-", "−")
    assert f"{said} {found} no difference is shown" in text
    quantities = ("discriminator_accuracy", "kl_members", "action_distance", "entropy_all", "entropy_members_mean")
    least = [p_of(task, PAPERS, quantity) for quantity in quantities]
    least.append(p_value(scored(task, PAPERS), control, end))
    paper = scored(task, PAPERS)
    said = (
        f"no difference from α = 0 is shown in any of these (p ≥ {np.floor(100 * min(least)) / 100:.2f}). The return is"
    )
    lower = gain(paper, control, end).removeprefix("-")
    assert f"{said} {lower} lower ({interval(paper, control, end).removesuffix(' %')} %)" in text


def test_what_is_said_of_halfcheetah():
    text, task, end = flat(STRONGER), "HalfCheetah-v4", ENDS["HalfCheetah-v4"]
    seeds, control = scored(task, MEDIUM), scored(task, CONTROL)
    named, kl, distance = (
        "{:.2f} instead of {:.2f}".format(*(np.mean(measured(task, name, quantity)) for name in (MEDIUM, CONTROL)))
        for quantity in ("discriminator_accuracy", "kl_members", "action_distance")
    )
    assert f"is named in {named} of the pairs, the KL is {kl} nats, the distance {distance} (all p < 0.001)" in text
    for quantity in ("discriminator_accuracy", "kl_members", "action_distance"):
        assert p_of(task, MEDIUM, quantity) < 0.001
    lower = gain(seeds, control, end).removeprefix("-")
    low, high = interval(seeds, control, end).removesuffix(" %").split(" to ")
    found = f"{lower} lower (interval of the difference {low} to {high} %; p = {short(p_value(seeds, control, end))}"
    assert f"{found}, by ranks {short(both_p(seeds, control, end)[1])})" in text
    alone, visits = (short(p_of(task, MEDIUM, quantity)) for quantity in ("return_members_mean", "entropy_all"))
    assert f"Members that act alone have less (p = {alone})" in text
    assert f"H(ρ): p = {visits}" in text
    log_q = [np.mean(logged(task, name, "own_log_q")) for name in (MEDIUM, CONTROL)]
    assert "the mean log q is {:.1f} instead of {:.1f}".format(*log_q).replace("-", "−") in text


def test_what_is_said_of_weaker_terms_on_halfcheetah():
    text, task, end = flat(STRONGER), "HalfCheetah-v4", ENDS["HalfCheetah-v4"]
    control = scored(task, CONTROL)
    named, kl = (np.mean(measured(task, MILD, quantity)) for quantity in ("discriminator_accuracy", "kl_members"))
    p = {
        quantity: p_of(task, MILD, quantity) for quantity in ("discriminator_accuracy", "kl_members", "action_distance")
    }
    said = f"A member is named in {named:.2f} of the pairs (p {small(p['discriminator_accuracy'])}), and the KL is"
    said += f" {kl:.2f} nats (p = {short(p['kl_members'])}); for the distance no difference is shown"
    assert f"{said} (p = {short(p['action_distance'])})." in text
    mild, paper = scored(task, MILD), scored(task, PAPERS)
    lower, higher = (gain(seeds, control, end).removeprefix("-") for seeds in (mild, paper))
    welch, ranks = map(short, both_p(mild, control, end))
    said = f"The return is {lower} lower ({interval(mild, control, end)}; p = {welch}, by ranks {ranks})."
    assert said in text
    quantities = ("discriminator_accuracy", "kl_members", "kl_members_any_episode", "action_distance")
    least = min(p_of(task, PAPERS, quantity) for quantity in quantities)
    p = short(p_value(paper, control, end))
    said = f"no difference is shown in any of these (p ≥ {np.floor(100 * least) / 100:.2f})."
    assert f"{said} The return is {higher} higher ({interval(paper, control, end)}; p = {p})." in text


def between(quantity, one, other):
    """Return Welch's p between two settings on HalfCheetah-v4 and on Hopper-v4."""
    both = ([measured(task, name, quantity) for name in (one, other)] for task in ("HalfCheetah-v4", "Hopper-v4"))
    return [ttest_ind(*each, equal_var=False).pvalue for each in both]


def test_what_is_said_of_one_change():
    text = flat(STRONGER)
    named = {
        task: [np.mean(measured(task, name, "discriminator_accuracy")) for name in (ALL, OF_Q, CONTROL)]
        for task in ENDS
    }
    p = {task: [p_of(task, name, "discriminator_accuracy") for name in (ALL, OF_Q)] for task in ENDS}
    said = "in {:.2f} and {:.2f} instead of {:.2f}"
    hopper, cheetah = (said.format(*named[task]) for task in ENDS)
    some = " and ".join(map(small, p["Hopper-v4"]))
    assert f"either**: {hopper} of the pairs on Hopper-v4 (p = {some}), {cheetah} on HalfCheetah-v4 (p < 0.001)" in text
    assert max(p["HalfCheetah-v4"]) < 0.001
    kl = [np.mean(measured("HalfCheetah-v4", name, "kl_members")) for name in (OF_Q, CONTROL)]
    p = {
        quantity: {(task, name): p_of(task, name, quantity) for task in ENDS for name in (ALL, OF_Q)}
        for quantity in ("kl_members", "action_distance")
    }
    found = small(p["kl_members"].pop(("HalfCheetah-v4", OF_Q)))
    assert "relative to Q on HalfCheetah-v4**, {:.2f} instead of {:.2f} nats".format(*kl) + f" (p {found})" in text
    kl, distance = (np.floor(100 * min(each.values())) / 100 for each in p.values())
    assert f"KL of the other three (p ≥ {kl:.2f}) and for the distance of all four (p ≥ {distance:.2f}) no" in text
    named, kl = (
        [np.mean(measured("HalfCheetah-v4", name, quantity)) for name in (MILD, ALL)]
        for quantity in ("discriminator_accuracy", "kl_members")
    )
    p, p_kl = (between(quantity, MILD, ALL) for quantity in ("discriminator_accuracy", "kl_members"))
    said = "in {:.2f} of the pairs with ε = 0.02, in {:.2f} with 0.1".format(*named) + f" (p {small(p[0])})"
    said += ", and the KL is {:.2f} instead of {:.2f} nats".format(*kl) + f" (p = {small(p_kl[0])})"
    assert f"{said}. On Hopper-v4 this is not shown (p = {short(p[1])} and {short(p_kl[1])})" in text


def test_what_is_said_of_one_change_beside_the_papers_setting():
    text = flat(STRONGER)
    named = [each for name in (ALL, OF_Q) for each in between("discriminator_accuracy", name, PAPERS)]
    assert f"with either on both tasks (p ≤ {np.ceil(1000 * max(named)) / 1000:.3f})" in text
    found = {}
    for task, end in ENDS.items():
        for name in (ALL, OF_Q):
            both = scored(task, name), scored(task, PAPERS)
            found[task, name] = gain(*both, end).removeprefix("-"), interval(*both, end), p_value(*both, end)
    (all_gain, all_ends, all_p), (of_q_gain, of_q_ends, of_q_p) = (
        found["HalfCheetah-v4", name] for name in (ALL, OF_Q)
    )
    said = f"the return is {all_gain} lower where all follow ({all_ends}; p = {all_p:.3f})"
    said += (
        f" and {of_q_gain} lower with α relative to Q ({of_q_ends}; p = {of_q_p:.3f}, with Holm's correction for four"
    )
    assert of_q_p == min(p for *_, p in found.values())
    (all_gain, _, all_p), (of_q_gain, _, of_q_p) = (found["Hopper-v4", name] for name in (ALL, OF_Q))
    said += (
        f" {4 * min(p for *_, p in found.values()):.3f}); on Hopper-v4 it is higher by {all_gain.removesuffix(' %')}"
    )
    assert f"{said} and {of_q_gain} (p = {all_p:.2f} and {of_q_p:.2f})" in text


def test_what_is_said_of_one_change_and_returns():
    text = flat(STRONGER)
    pairs = {(task, name): (scored(task, name), scored(task, CONTROL)) for task in ENDS for name in (ALL, OF_Q)}
    gains = {key: gain(*pair, ENDS[key[0]]).removeprefix("-") for key, pair in pairs.items()}
    ends = {key: interval(*pair, ENDS[key[0]]) for key, pair in pairs.items()}
    p = sorted(p_value(*pair, ENDS[key[0]]) for key, pair in pairs.items())
    hopper, cheetah = ([(task, name) for name in (ALL, OF_Q)] for task in ENDS)
    said = (
        f"On Hopper-v4 it is {gains[hopper[0]]} higher where all follow (interval of the difference {ends[hopper[0]]})"
    )
    said += f" and {gains[hopper[1]]} higher with α relative to Q ({ends[hopper[1]]}), on HalfCheetah-v4"
    assert gains[cheetah[0]] == gains[cheetah[1]]
    said += f" {gains[cheetah[0]]} lower with either ({ends[cheetah[0]]} and {ends[cheetah[1]]})."
    assert (
        f"{said} The p are {p[0]:.2f} to {p[-1]:.2f}, with Holm's correction for these four {4 * p[0]:.2f} and" in text
    )


@pytest.mark.parametrize("page", [PAGE, README], ids=["evidence", "README"])
def test_a_term_comparable_to_q_brings_no_gain(page):
    assert "Where all members of small ensembles follow a term comparable to Q they differ, and [no gain]" in flat(page)
    for task, end in ENDS.items():
        assert 0.5 < np.mean(logged(task, MEDIUM, "diversity_pull")) < 1
        means = [np.mean(last_means(scored(task, name), end)) for name in (MEDIUM, CONTROL)]
        assert means[0] < means[1]
