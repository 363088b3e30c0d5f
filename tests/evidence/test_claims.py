"""What is said in short of all tasks at 500k, and of the paper's claims there."""

import re

import numpy as np
import pytest
from scipy.stats import mannwhitneyu, sem, t, ttest_ind_from_stats, ttest_rel

from teen.report.statistics import probability_of_improvement

from .logs import ROOT, evaluations, gain, holm, last, last_means, p_value
from .pages import DIVERSITY, PAGE, README, beats, cells, flat, printed, table_of
from .runs import CONTROL, HALF, HALF_MILLION, MILLION, MUJOCO, PAPER, all_runs, half_million

REPORTS = {"report": "teen alpha=0.2", "report-dm_control": "teen alpha=0.02"}  # and TEEN's name in it
SEVEN = (*MUJOCO, *CONTROL)


def scores(task, label):
    return np.array(last_means(all_runs(task, label, 500_000, PAPER), 500_000))


def mean(task, label):
    return np.mean(scores(task, label))


def test_probabilities():
    text = flat(PAGE)
    td3, sac, control = (beats("teen alpha=0.2", over) for over in ("td3", "sac", "teen alpha=0"))
    said = (
        "TD3 with probability {:.2f} (95 % interval {:.2f} to {:.2f}), one of SAC with {:.2f} ({:.2f} to {:.2f}) and "
    )
    said += "one with α = 0 with {:.2f} ({:.2f} to {:.2f});"
    assert said.format(*td3, *sac, *control) in text
    without = [number for over in ("td3", "sac") for number in beats("teen alpha=0", over)]
    said = "α = 0 beats TD3 with {:.2f} ({:.2f} to {:.2f}) and SAC with {:.2f} ({:.2f} to {:.2f})"
    assert said.format(*without) in text
    suite = [
        number
        for over in ("td3", "sac", "teen alpha=0")
        for number in beats("teen alpha=0.02", over, "report-dm_control", tasks=3)
    ]
    said = "On DeepMind Control TEEN beats TD3 with {:.2f} ({:.2f} to {:.2f}), SAC with {:.2f} ({:.2f} to {:.2f}) and "
    said += "α = 0 with {:.2f} ({:.2f} to {:.2f})."
    assert said.format(*suite) in text
    seven = probability_of_improvement(*([scores(task, label) for task in SEVEN] for label in ("TEEN", "TEEN α = 0")))
    assert "Over all seven tasks it beats α = 0 with {:.2f} ({:.2f} to {:.2f}).".format(*seven) in text
    said = (
        "with probability {:.2f}, interval {:.2f} to {:.2f}; over the four of MuJoCo with {:.2f} ({:.2f} to {:.2f}), "
    )
    said += "over the three of DeepMind Control with {:.2f} ({:.2f} to {:.2f})"
    assert said.format(*seven, *control, *suite[6:]) in flat(DIVERSITY)
    for task in ("Hopper-v4", "Ant-v4"):  # where the bootstrap has no width
        teen, other = (last_means(all_runs(task, label, 500_000, PAPER), 500_000) for label in ("TEEN", "SAC"))
        assert min(teen) > max(other)


def test_the_largest_gains():
    gains = {task: mean(task, "TEEN") / mean(task, "TD3") for task in MUJOCO}
    assert sorted(gains, key=gains.get)[-2:] == ["Hopper-v4", "Ant-v4"]
    assert "The largest gains over TD3 are those on Ant-v4 and Hopper-v4" in flat(PAGE)


@pytest.mark.parametrize(("label", "over"), [("TEEN", "TD3"), ("TEEN", "SAC"), ("TEEN", "TEEN α = 0")])
@pytest.mark.parametrize(("report", "tasks"), [("report", MUJOCO), ("report-dm_control", CONTROL)])
def test_the_probabilities_are_those_of_the_logs(label, over, report, tasks):
    """The mean over tasks of the share of pairs of runs; the runs are those of results/paper."""
    names = {"TEEN": REPORTS[report], "TEEN α = 0": "teen alpha=0", "TD3": "td3", "SAC": "sac"}
    shares = []
    for task in tasks:
        ours, theirs = (last_means(all_runs(task, name, 500_000, PAPER), 500_000) for name in (label, over))
        shares.append(np.mean([a > b for a in ours for b in theirs]))
    assert beats(names[label], names[over], report, tasks=len(shares))[0] == pytest.approx(np.mean(shares))


def test_the_papers_numbers_at_500k():
    """How far ours are from the paper's, by the last 50k and by best so far."""
    text = flat(PAGE)
    by_last, by_best = {}, {}
    for task in MUJOCO:
        for label in ("TEEN", "SAC", "TD3"):
            seeds, paper = all_runs(task, label, 500_000), float(printed(label, task, 500_000).split(" ± ")[0])
            by_last[label, task] = 100 * (np.mean(last_means(seeds, 500_000)) / paper - 1)
            by_best[label, task] = 100 * (np.mean([m[s <= 500_000].max() for s, m in seeds]) / paper - 1)
    teen, sac, td3 = ([by_last[label, task] for task in HALF_MILLION] for label in ("TEEN", "SAC", "TD3"))
    assert (round(teen[0]), round(teen[2])) == (-2, 2)
    assert "with 2 % less and 2 % more. On Walker2d-v4 21 % less, with a spread of 1490 over five runs" in text
    half = 100 * np.array([half_width(task) for task in ("Ant-v4", "Walker2d-v4")])
    assert "its 95 % interval is ± {:.0f} % on Ant-v4, ± {:.0f} % on Walker2d-v4".format(*half) in text
    runs = sorted(scores("Walker2d-v4", "TEEN"), reverse=True)
    assert "TEEN has 21 % less: its five runs have {:.0f}, {:.0f}, {:.0f}, {:.0f} and {:.0f}.".format(*runs) in text
    assert f"the mean on Ant-v4 is itself known to ± {half[0]:.0f} %" in text
    assert round(teen[1]) == -21
    assert f"± {1490}" in last(evaluations(HALF.format("Walker2d", "0.2")), 500_000)
    said = "SAC by {:.0f}, {:.0f} and {:.0f} %, TD3 by {:.0f}, {:.0f} and {:.0f} %"
    assert said.format(*(-d for d in (*sac, *td3))) in text
    said = f"our TD3 and SAC have {-max(sac + td3):.0f} to {-min(sac + td3):.0f} % less than the paper's"
    assert f"On Hopper-v4, Walker2d-v4 and Ant-v4 {said}, which makes the lead larger:" in flat(README)
    spread = -max(sac + td3), -min(sac + td3)
    said = "less than the paper's** on Hopper-v4, Walker2d-v4 and Ant-v4, by {:.0f} to {:.0f} %, which makes"
    assert said.format(*spread) in text
    best = [by_best["TEEN", task] for task in ("Hopper-v4", "Ant-v4", "Walker2d-v4")]
    said = "By best so far Hopper-v4 has {:.0f} % less, Ant-v4 {:.0f} % more and Walker2d-v4 {:.0f} % less |"
    assert said.format(*map(abs, best)) in text
    assert [change > 0 for change in best] == [False, True, False]
    assert all(abs(by_last["TEEN", task]) < 3 for task in ("HalfCheetah-v4", "Hopper-v4", "Ant-v4"))
    baselines = [(label, task) for label in ("SAC", "TD3") for task in HALF_MILLION]
    far = [np.mean([abs(each[key]) for key in baselines]) for each in (by_last, by_best)]
    assert (
        "on average {:.0f} %. By best so far, which may be what the paper prints, "
        "they are {:.0f} % from the paper's on average".format(*far)
        in text
    )


def half_width(task):
    """Half the 95 % interval of TEEN's mean at 500k, over the mean."""
    runs = scores(task, "TEEN")
    return t.ppf(0.975, len(runs) - 1) * sem(runs) / np.mean(runs)


def test_the_papers_numbers_without_the_discriminator():
    rows = [(task, 500_000) for task in SEVEN] + [("HalfCheetah-v4", 1_000_000)]
    away = {}
    for task, step in rows:
        paper = float(printed("TEEN", task, step).split(" ± ")[0])
        away[task, step] = 100 * (np.mean(last_means(all_runs(task, "TEEN α = 0", step, PAPER), step)) / paper - 1)
    near = {task for (task, _), change in away.items() if abs(change) < 4}
    assert near == {"Hopper-v4", "Ant-v4", "cheetah-run", "finger-spin"}
    below = [-change for (task, _), change in away.items() if task not in near]
    assert len(below) == 4
    said = "the means on Hopper-v4, Ant-v4, cheetah-run and finger-spin are within 4 % of the paper's TEEN as well, on"
    assert f"{said} the other four rows of the table {min(below):.0f} to {max(below):.0f} % below." in flat(PAGE)


def test_paired_tests_of_the_two_alphas():
    """The first five runs of each task have the same seeds in the same order."""
    p = [ttest_rel(*(scores(task, label)[:5] for label in ("TEEN", "TEEN α = 0"))).pvalue for task in SEVEN]
    assert min(p) > 0.1
    assert "paired tests of TEEN's two α at 500k show no difference on any task either" in flat(PAGE)


def over_better(who, tasks):
    """The gain over the better of TD3 and SAC on each task, in per cent."""
    ratios = [mean(task, who) / max(mean(task, label) for label in ("TD3", "SAC")) for task in tasks]
    return 100 * (np.mean(ratios) - 1)


def test_the_claims_at_500k():
    text = flat(PAGE)
    claims = (ROOT / "results/paper/claims/claims.md").read_text()
    (row, *_) = re.findall(r"^\| the better of TD3 and SAC \| MuJoCo \| – \|(.*)\|$", claims, re.MULTILINE)
    paper, teen, teen_best, control, control_best = (cell.strip() for cell in row.split("|"))
    assert (teen, control) == tuple(f"{over_better(who, MUJOCO):.1f} %" for who in ("TEEN", "TEEN α = 0"))
    said = (
        f"{teen} more at 500k (by best so far {teen_best}), with α = 0 {control} ({control_best}), where the paper's "
    )
    assert f"{said}tables have {paper}." in text
    assert f"Without Ant-v4 it is {over_better('TEEN', MUJOCO[:3]):.0f} %." in text
    there = [
        mean(task, "TEEN") / max(float(printed(label, task, 500_000).split()[0]) for label in ("TD3", "SAC"))
        for task in MUJOCO
    ]
    assert f"*the paper's* two our TEEN has {100 * (np.mean(there) - 1):.0f} % more, computed in the same way." in text
    suite = [f"{over_better(who, CONTROL):.1f} %" for who in ("TEEN", "TEEN α = 0")]
    assert (
        "On the three of DeepMind Control it has {} more than the better of ours, with α = 0 {}.".format(*suite) in text
    )
    assert f"| the better of TD3 and SAC | DM Control | – | 13.0 % | {suite[0]} (3 of 5 tasks) |" in claims
    p = {}
    for task in MUJOCO:  # Tonic's and Tianshou's SAC, ten seeds each
        there, std = map(
            float, re.match(r"(\d+) ± (\d+)", cells(table_of(PAGE, "task, steps"), f"{task}, 500k")[-1]).groups()
        )
        ours = last_means(all_runs(task, "TEEN", 500_000), 500_000)
        own = np.mean(ours), np.std(ours, ddof=1), len(ours)
        p[task] = ttest_ind_from_stats(*own, there, std, 10, equal_var=False).pvalue
    assert f"below on HalfCheetah (p = {p['HalfCheetah-v4']:.3f}), no lead shown on the other three" in text
    said = "below on HalfCheetah (p = {:.3f}), a lower mean on Walker2d (p = {:.2f}), no difference shown on"
    assert said.format(p["HalfCheetah-v4"], p["Walker2d-v4"]) in text
    assert {f"{p[task]:.2f}" for task in ("Hopper-v4", "Ant-v4")} == {"0.42"}
    said = []
    for task, words in (("HalfCheetah-v4", "1M"), ("Walker2d-v4", "500k")):
        ours, *_, theirs = (cell.split(" ± ")[0] for cell in cells(table_of(PAGE, "task, steps"), f"{task}, {words}"))
        said.append(f"({theirs} against {ours} at {words}")
    said = "Tonic's SAC has more than our TEEN on HalfCheetah {}) and a higher mean on Walker2d {}".format(*said)
    assert f"{said}, p = {p['Walker2d-v4']:.2f})." in flat(README)
    assert "Hopper and Ant (p = 0.42 on both)" in text


def test_gains_in_the_table_of_claims():
    text = flat(PAGE)

    def more(task, label, step=500_000):
        return gain(all_runs(task, "TEEN", step, PAPER), all_runs(task, label, step, PAPER), step)

    cheetah = more("HalfCheetah-v4", "TD3"), more("HalfCheetah-v4", "TD3", 1_000_000)
    both = (all_runs("HalfCheetah-v4", label, 1_000_000, PAPER) for label in ("TEEN", "TD3"))
    said = "**holds** on HalfCheetah-v4 at 500k (+{}). **Suggested** there at 1M (+{}, p = {:.3f}), and"
    assert said.format(*cheetah, p_value(*both, 1_000_000)) in text
    suggested = more("Hopper-v4", "TD3"), more("Ant-v4", "TD3"), more("walker-run", "TD3")
    assert "and on Hopper-v4, Ant-v4 and walker-run (+{}, +{} and +{})".format(*suggested) in text
    assert f"**holds** on Ant-v4 (+{more('Ant-v4', 'SAC')})" in text
    suggested = more("Hopper-v4", "SAC"), more("cheetah-run", "SAC"), more("HalfCheetah-v4", "SAC", 1_000_000)
    assert "on Hopper-v4 (+{}), on cheetah-run (+{}), and on HalfCheetah-v4 at 1M (+{};".format(*suggested) in text


def compared(tasks, label="TEEN"):
    """Return Welch's p and that of ranks, against TD3 and SAC at 500k."""
    found, step = {}, 500_000
    for task in tasks:
        for over in ("TD3", "SAC"):
            ours, theirs = (all_runs(task, name, step, PAPER) for name in (label, over))
            ranks = mannwhitneyu(last_means(ours, step), last_means(theirs, step)).pvalue
            found[task, over] = p_value(ours, theirs, step), ranks
    return found


def test_what_holds_is_suggested_or_not_shown():
    holds, suggested = set(), set()
    for tasks in (MUJOCO, CONTROL):
        p = compared(tasks)
        corrected = holm({pair: welch for pair, (welch, _) in p.items()})
        holds |= {pair for pair in p if corrected[pair] < 0.05}
        suggested |= {pair for pair in p if min(p[pair]) < 0.05} - holds
        if tasks == MUJOCO:
            assert {f"{corrected[pair]:.3f}" for pair in holds} == {"0.039"}
        else:
            assert min(corrected.values()) > 0.18
    assert holds == {("HalfCheetah-v4", "TD3"), ("Ant-v4", "SAC")}
    of_td3 = {(task, "TD3") for task in ("Hopper-v4", "Ant-v4", "walker-run")}
    assert suggested == of_td3 | {("Hopper-v4", "SAC"), ("cheetah-run", "SAC")}
    text = flat(PAGE)
    said = "those over SAC on cheetah-run and over TD3 on walker-run are suggested."
    assert f"none of its gains at 500k is significant; {said}" in text
    assert f"Task by task none holds; {said}" in flat(README)
    together = sorted(holm({pair: welch for pair, (welch, _) in compared(SEVEN).items()}).values())
    assert "in one correction of all fourteen none would stay ({:.3f} and {:.3f})".format(*together[:2]) in text
    control = holm({pair: p for pair, (p, _) in compared(CONTROL, "TEEN α = 0").items()})
    assert f"over SAC its p is {control['cheetah-run', 'SAC']:.3f} with Holm's correction" in text
    assert "With α = 0 one gain stays significant, that over SAC on cheetah-run." in text
    assert {pair for pair, p in control.items() if p < 0.05} == {("cheetah-run", "SAC")}
    assert "with one for all fourteen comparisons of both suites none does" in text
    assert together[0] > 0.05
    assert (
        "HalfCheetah-v4 against TD3 and Ant-v4 against SAC (both 0.039). On DeepMind Control none of six is below 0.18."
        in text
    )
    for pair, words in (
        ("TD3", "**Not shown** on Walker2d-v4, cheetah-run and finger-spin;"),
        ("SAC", "**Not shown** on Walker2d-v4, finger-spin, walker-run, and on HalfCheetah-v4 at 500k"),
    ):
        assert words in text
        named = {task for task in (*MUJOCO, *CONTROL) if (task, pair) not in holds | suggested}
        assert named == set(re.findall(r"[A-Z][A-Za-z2]+-v4|[a-z]+-[a-z]+", words))


def test_the_seeds_that_pretrained_agents_were_chosen_from():
    """Their mean of the last 50,000 steps."""
    share = (ROOT / "docs" / "share.md").read_text()
    runs = {"HalfCheetah-v4": MILLION["TEEN"][1]}
    runs |= {task: half_million(task)[0] for task in (*HALF_MILLION, *CONTROL)}
    for task, run in runs.items():
        end = 1_000_000 if task == "HalfCheetah-v4" else 500_000
        mean, _ = last(evaluations(run), end).split(" ± ")
        (line,) = re.findall(rf"^\| {task} \| .* \| (.*) \|$", share, re.MULTILINE)
        assert line == f"the best of five seeds, whose mean of the last 50,000 of {end:,} steps was {mean}"
