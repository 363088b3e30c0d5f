"""docs/settings.md, and the preset, are what the logs of results/settings-300k say."""

import tomllib

import numpy as np
import pytest

from teen.config.job import resolve

from .logs import ROOT, evaluations, gain, interval, last, last_means, p_value, several, small
from .pages import SETTINGS, cells, flat, table_of
from .runs import ALL_TASKS, FIRST_FIVE, HALF, SECOND_WALKER, TUNED, WALKER, all_runs, setting

CHOSEN_ON = ("Walker2d-v4", "Hopper-v4")
NAMES = sorted(path.name for path in (ROOT / "results" / "settings-300k" / "teen" / "Hopper-v4").iterdir())
BASELINE_NAMES = ("paper", "lr=0.0006", "lr=0.001", "lr=0.0006,utd=2", "lr=0.001,utd=2")


def row_of_settings(algo, name, steps):
    reached = [(setting(task, name, algo), step) for task in CHOSEN_ON for step in steps]
    return [last(seeds, step) if seeds[0][0][-1] >= step else "–" for seeds, step in reached]


@pytest.mark.parametrize("name", NAMES)
def test_settings_of_teen_at_300k(name):
    assert cells(table_of(SETTINGS, "TEEN"), name) == row_of_settings("teen", name, (240_000, 300_000))


SOONER = {"td3": 240_000, "sac": 200_000}  # where the runs with two updates end


@pytest.mark.parametrize("algo", SOONER)
def test_settings_of_td3_and_sac_at_300k(algo):
    for task in CHOSEN_ON:
        assert {p.name for p in (ROOT / "results/settings-300k" / algo / task).iterdir()} == set(BASELINE_NAMES)
    for name in BASELINE_NAMES:
        assert cells(table_of(SETTINGS, algo.upper()), name) == row_of_settings(algo, name, (SOONER[algo], 300_000))


FASTER_SAC = "sac-settings-300k/hopper/lr=0.001,target_entropy=-1"


def all_of(algo, task, name):
    """Return all runs of TD3 or SAC with these settings."""
    earlier = [FASTER_SAC] if (algo, task, name) == ("sac", "Hopper-v4", "lr=0.001") else []
    if name == "paper":
        return all_runs(task, algo.upper(), 300_000)
    return [*setting(task, name, algo), *several(earlier)]


def test_settings_that_were_trained_more_than_once():
    teen = {task: [all_runs(task, "TEEN", step) for step in (240_000, 300_000)] for task in CHOSEN_ON}
    assert [[len(seeds) for seeds in both] for both in teen.values()] == [[20, 15], [10, 10]]
    row = [last(seeds, step) for both in teen.values() for seeds, step in zip(both, (240_000, 300_000), strict=True)]
    assert cells(table_of(SETTINGS, "TEEN"), "paper, all runs") == row
    first, third = setting("Walker2d-v4", "paper"), evaluations(WALKER)
    assert f"end at 290,000, where they have {last(third, 290_000)}" in flat(SETTINGS)
    assert f"{last(third, 290_000)} at 290,000, where the first set has {last(first, 290_000)}" in flat(SETTINGS)
    for algo, name, *runs in (("td3", "paper", 15, 20), ("sac", "paper", 15, 25), ("sac", "lr=0.001", 5, 10)):
        both = [all_of(algo, task, name) for task in CHOSEN_ON]
        assert [len(seeds) for seeds in both] == runs
        expected = [last(seeds, step) for seeds in both for step in (SOONER[algo], 300_000)]
        if runs[0] == 5:  # trained once
            expected[:2] = "–", "–"
        assert cells(table_of(SETTINGS, algo.upper()), f"{name}, all runs") == expected


@pytest.mark.parametrize("algo", TUNED)
def test_the_preset_is_what_the_tables_call_tuned(algo):
    """Beside what every run there has: a shorter replay that is never full, fewer evaluations and no checkpoints."""
    own = tomllib.loads((ROOT / f"results/settings-300k/{algo}/Hopper-v4/{TUNED[algo]}/config.toml").read_text())
    preset = resolve({"preset": "tuned", "algo": algo, "env": "Hopper"}).flat()
    every = {"eval_every", "eval_episodes", "members_every", "log_every", "checkpoint_every"}
    other = {"seeds", "steps", "buffer", "backend", "collector", *every}
    kept = {name: value for name, value in preset.items() if name not in other}
    assert kept == {name: own[name] for name in kept}
    assert own["buffer"] == own["steps"]
    rate, updates = cells(SETTINGS, f"`--algo {algo}`")
    assert (float(rate), int(updates)) == (own["lr"], own["utd"])


def papers(task):
    """Return all of TEEN's runs with the paper's settings and seeds 0–4 that came to 300,000 steps."""
    return several([FIRST_FIVE] if task == "HalfCheetah-v4" else ALL_TASKS[task]["TEEN"], 300_000)


def walkers():
    """Return the three sets of TEEN's runs with the paper's settings and seeds 0–4 on Walker2d-v4."""
    return setting("Walker2d-v4", "paper"), evaluations(SECOND_WALKER), evaluations(HALF.format("Walker2d", "0.2"))


FOUR = ("HalfCheetah-v4", "Hopper-v4", "Walker2d-v4", "Ant-v4")


def test_what_the_preset_gives_teen():
    text, end = flat(SETTINGS), 300_000
    tuned = {task: setting(task, TUNED["teen"]) for task in FOUR}
    paper = {task: papers(task) for task in FOUR}
    gains = {task: gain(tuned[task], paper[task], end).replace("-", "−") for task in FOUR}
    for task in FOUR:
        both = tuned[task], paper[task]
        expected = [last(paper[task], end), last(tuned[task], end), gains[task], interval(*both, end)]
        assert cells(SETTINGS, task) == [*expected, small(p_value(*both, end))]

    def sooner(task, step):
        both = tuned[task], paper[task]
        p = p_value(*both, step)
        return gain(*both, step), "(p < 0.001)" if p < 0.001 else f"(p = {p:.3f})"

    for said in (
        "Hopper-v4 has {} more at 200,000 steps {}".format(*sooner("Hopper-v4", 200_000)),
        "and {} at 240,000 {}".format(*sooner("Hopper-v4", 240_000)),
        "Walker2d-v4 {} at 240,000 {}, against the 15 runs".format(
            *(words.removesuffix(")") for words in sooner("Walker2d-v4", 240_000))
        ),
        "Ant-v4 {} at 150,000 {}".format(*sooner("Ant-v4", 150_000)),
        "and {} at 200,000 {}".format(*sooner("Ant-v4", 200_000)),
    ):
        assert said in text, said
    walker = tuned["Walker2d-v4"]
    first, second, third = sets = walkers()
    assert p_value(walker, first, end) < 0.001
    assert (
        f"against the first the preset has {gain(walker, first, end)} more (p < 0.001), "
        f"against the second {gain(walker, second, end)} (p = {p_value(walker, second, end):.3f}), "
        f"against the third {gain(walker, third, end)} (p = {p_value(walker, third, end):.3f})" in text
    )
    same_updates = 25_000 + (end - 25_000) // 2
    assert f"at {same_updates:,} steps" in text
    less = [1 - np.mean(last_means(tuned[task], 160_000)) / np.mean(last_means(paper[task], end)) for task in FOUR]
    below = ", ".join(f"{100 * share:.0f} % ({task})" for share, task in zip(less[:3], FOUR[:3], strict=True))
    assert min(less) > 0
    assert f"at 160,000 they are lower by {below} and {100 * less[3]:.0f} % (Ant-v4)" in text
    hopper = [
        last_means(seeds, end) for seeds in (setting("Hopper-v4", "paper"), evaluations(HALF.format("Hopper", "0.2")))
    ]
    assert f"a correlation of {np.corrcoef(*hopper)[0, 1]:.2f} between two sets" in text
    changes = flat((ROOT / "CHANGELOG.md").read_text())
    assert f"TEEN has {gains['HalfCheetah-v4']} more with it on HalfCheetah-v4" in changes
    more = sorted((gain(walker, some, end) for some in sets), key=lambda words: int(words.split()[0]))
    assert (
        f"against three sets of runs with the paper's settings, {more[0]} to {more[-1]} more on Walker2d-v4" in changes
    )
    assert f"(95 % interval {interval(tuned['Ant-v4'], paper['Ant-v4'], end)})" in changes


def test_settings_of_teen_on_halfcheetah_and_ant():
    tasks = ("HalfCheetah-v4", "Ant-v4")
    assert cells(SETTINGS, "3e-4 (the paper's)") == [c for t in tasks for c in (last(papers(t), 300_000), "")]
    for row, name in (("1e-3", "lr=0.001"), ("3e-4, `utd=2`", "utd=2"), ("6e-4, `utd=2`", "lr=0.0006,utd=2")):
        expected = []
        for task in tasks:
            if (ROOT / "results/settings-300k/teen" / task / name).is_dir():
                seeds = setting(task, name)
                expected += [last(seeds, 300_000), small(p_value(papers(task), seeds, 300_000))]
            else:
                expected += ["–", ""]
        assert cells(SETTINGS, row) == expected


def test_how_the_preset_was_chosen():
    text = flat(SETTINGS)
    tuned = {task: setting(task, TUNED["teen"]) for task in FOUR}
    faster = {task: setting(task, "lr=0.001") for task in FOUR}
    p = {task: p_value(faster[task], tuned[task], 300_000) for task in FOUR}
    more = gain(tuned["Ant-v4"], faster["Ant-v4"], 300_000)
    assert f"On Ant-v4 it has {more} more than `lr=0.001` (p = {p.pop('Ant-v4'):.3f})" in text
    assert f"was shown (p = {min(p.values()):.2f} to {max(p.values()):.2f})" in text
    for task in p:
        assert np.mean(last_means(faster[task], 300_000)) > np.mean(last_means(tuned[task], 300_000))
    slower = setting("Ant-v4", "utd=2")
    better = [p_value(slower, tuned["Ant-v4"], 300_000)]
    better += [p_value(setting(task, "lr=0.001,utd=2"), tuned[task], 240_000) for task in CHOSEN_ON]
    assert f"with the paper's rate has {last(slower, 300_000)}," in text
    assert "p = {:.3f} (Ant-v4), {:.2f} (Walker2d-v4) and {:.2f} (Hopper-v4)".format(*better) in text
    for task in CHOSEN_ON:
        means = {name: np.mean(last_means(setting(task, name), 240_000)) for name in NAMES}
        assert max(means, key=means.get) == "lr=0.001,utd=2"
    assert len(NAMES) == 13  # "where TEEN had thirteen"


def test_what_is_said_of_td3s_and_sacs_settings():
    text = flat(SETTINGS)

    def rate(algo, task, step):
        return p_value(all_of(algo, task, "paper"), all_of(algo, task, "lr=0.001"), step)

    td3 = [rate("td3", task, step) for step in (240_000, 300_000) for task in CHOSEN_ON]
    sac = [rate("sac", task, step) for step in (200_000, 300_000) for task in CHOSEN_ON]
    said = "TD3 has p = {:.3f} on Walker2d-v4 and p = {:.3f} on Hopper-v4 at 240k, and p = {:.3f} and {:.3f} at 300k."
    assert said.format(*td3) in text
    said = (
        "SAC has p = {:.3f} and {:.3f} at 200k; at 300k p = {:.3f} on Walker2d-v4, "
        "and nothing is shown on Hopper-v4 (p = {:.2f})"
    )
    assert said.format(*sac) in text
    doubled = []
    for algo, step in SOONER.items():
        for task in CHOSEN_ON:
            one, two = (setting(task, name, algo) for name in ("lr=0.001", "lr=0.001,utd=2"))
            doubled.append(p_value(one, two, step))
            assert np.mean(last_means(two, step)) > np.mean(last_means(one, step))
    assert f"(p = {min(doubled):.2f} to {max(doubled):.2f})" in text
    less = {
        task: [np.mean(last_means(setting(task, f"lr={rate},utd=2", "td3"), 240_000)) for rate in ("0.0006", "0.001")]
        for task in CHOSEN_ON
    }
    assert less["Walker2d-v4"][0] > less["Walker2d-v4"][1]
    assert less["Hopper-v4"][0] < 0.7 * less["Hopper-v4"][1]
    said = "on Walker2d-v4 ({:.0f} and {:.0f} at 240k), and a lower one on Hopper-v4 ({:.0f} and {:.0f})"
    assert said.format(*less["Walker2d-v4"], *less["Hopper-v4"]) in text
    walker, hopper = ([setting(task, name, algo) for algo, name in TUNED.items()] for task in CHOSEN_ON)
    assert "TEEN has {}, TD3 {} and SAC {}, so".format(*(last(seeds, 200_000) for seeds in walker)) in text
    assert min(p_value(walker[0], other, 200_000) for other in walker[1:]) > 0.5
    teen, td3, sac = (last(seeds, 200_000) for seeds in hopper)
    against = [p_value(hopper[0], other, 200_000) for other in hopper[1:]]
    assert f"{teen}, {td3} (p = {against[0]:.3f}) and {sac} (p = {against[1]:.3f})" in text


def test_what_is_said_of_settings():
    text = flat(SETTINGS)

    def p(task, name, step=300_000):
        return p_value(setting(task, name), setting(task, "lr=0.001"), step)

    walker, again, third = sets = walkers()
    p_twice = p_value(walker, again, 300_000)
    assert f"{last(walker, 300_000)} here and {last(again, 300_000)} in" in text
    assert f"at 300k (p = {p_twice:.3f}); [the third](../results/paper/README.md) has {last(third, 300_000)}." in text
    faster = setting("Walker2d-v4", "lr=0.001")
    p_walker, p_hopper = (
        p_value(all_runs(task, "TEEN", 300_000), setting(task, "lr=0.001"), 300_000) for task in CHOSEN_ON
    )
    assert p_walker < 0.001
    assert f"p < 0.001 on Walker2d-v4 and p = {p_hopper:.3f} on Hopper-v4 (all runs)" in text
    more = [gain(faster, some, 300_000) for some in sets]
    small_p, *other_p = (p_value(faster, some, 300_000) for some in sets)
    assert small_p < 0.001
    assert (
        "({}, {} and {} more than three sets of runs with the paper's settings, ".format(*more)
        + "p < 0.001, p = {:.3f} and p = {:.3f})".format(*other_p)
    ) in text
    assert f"6e-4 is below 1e-3 on Walker2d-v4 (p = {p('Walker2d-v4', 'lr=0.0006'):.3f})" in text
    assert "(p = {:.2f} and {:.2f})".format(*(p(task, "lr=0.002") for task in CHOSEN_ON)) in text
    doubled = [p(task, "lr=0.001,utd=2", 240_000) for task in CHOSEN_ON]
    slower = [p_value(*(setting(task, f"lr=0.0006{rest}") for rest in ("", ",utd=2")), 300_000) for task in CHOSEN_ON]
    assert "6e-4 at 300k p = {:.3f} on Walker2d-v4, p = {:.3f} on Hopper-v4".format(*slower) in text
    assert "1e-3 at 240k p = {:.3f} and p = {:.3f}".format(*doubled) in text
    failed = [min(last_means(setting(task, "lr=0.002"), 300_000)) for task in CHOSEN_ON]
    assert "its lowest seeds have {:.0f} and {:.0f}".format(*failed) in text
    norm = {task: p(task, "lr=0.001,critic_norm=layer") for task in CHOSEN_ON}
    assert f"With it Hopper-v4 has less (p = {norm['Hopper-v4']:.3f})" in text
    assert f"stay below 1,700 (p = {norm['Walker2d-v4']:.3f})" in text
    assert sum(m < 1700 for m in last_means(setting("Walker2d-v4", "lr=0.001,critic_norm=layer"), 300_000)) == 3
    named = ("paper", "lr=0.0006", "lr=0.001", "lr=0.002", "lr=0.001,critic_norm=layer")
    plain = [name for name in NAMES if name not in named and "utd" not in name]
    others = {(task, name): p(task, name) for task in CHOSEN_ON for name in plain}
    assert min(others, key=others.get) == ("Walker2d-v4", "lr=0.001,n=5")
    less = gain(setting("Walker2d-v4", "lr=0.001,n=5"), faster, 300_000)
    assert f"the smallest p is {min(others.values()):.3f}, of `n=5` on Walker2d-v4, which has {less[1:]} less" in text
    cheetah = gain(setting("HalfCheetah-v4", "lr=0.001"), evaluations(FIRST_FIVE), 300_000)
    ant = gain(setting("Ant-v4", "lr=0.001"), papers("Ant-v4"), 300_000)
    assert f"{cheetah} more on HalfCheetah-v4" in text
    assert f"**On Ant-v4 1e-3 costs TEEN {ant[1:]}** of its return" in text
