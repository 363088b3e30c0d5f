"""What is said in short of four tasks at 500k, and of the paper's claims there."""

import re

import numpy as np
import pytest
from scipy.stats import ttest_ind_from_stats

from .logs import ROOT, evaluations, gain, last, last_means, p_value
from .pages import DIVERSITY, PAGE, README, beats, cells, flat, printed, table_of
from .runs import HALF, HALF_MILLION, MILLION, PAPER, all_runs

FOUR = ("HalfCheetah-v4", *HALF_MILLION)


def test_what_is_said_in_short():
    text, readme = flat(PAGE), flat(README)
    td3, sac, control = (beats("teen alpha=0.2", over) for over in ("td3", "sac", "teen alpha=0"))
    assert "TD3 with probability {:.2f} (95 % interval {:.2f} to {:.2f})".format(*td3) in text
    assert "one of SAC with {:.2f} ({:.2f} to {:.2f})".format(*sac) in text
    assert "beats one with α = 0 with probability {:.2f} ({:.2f} to {:.2f})".format(*control) in text
    assert "with probability {:.2f}, interval {:.2f} to {:.2f}: on average".format(*control) in flat(DIVERSITY)
    without = [number for over in ("td3", "sac") for number in beats("teen alpha=0", over)]
    said = "With α = 0 the ensemble beats TD3 with {:.2f} ({:.2f} to {:.2f}) and SAC with {:.2f} ({:.2f} to {:.2f})"
    assert said.format(*without) in text
    cheetah = [all_runs("HalfCheetah-v4", label, 500_000) for label in ("TEEN α = 0", "SAC")]
    assert np.mean(last_means(cheetah[0], 500_000)) < np.mean(last_means(cheetah[1], 500_000))
    assert f"a lower mean than SAC at 500k (p = {p_value(*cheetah, 500_000):.2f})" in text
    for task in ("Hopper-v4", "Ant-v4"):  # where the bootstrap has no width
        teen, other = (last_means(all_runs(task, label, 500_000, PAPER), 500_000) for label in ("TEEN", "SAC"))
        assert min(teen) > max(other)
    said = "{:.2f} (95 % interval {:.2f} to {:.2f}), and one of SAC with {:.2f} ({:.2f} to {:.2f})"
    assert said.format(*td3, *sac) in readme
    assert "α = 0 with probability {:.2f} ({:.2f} to {:.2f})".format(*control) in readme


@pytest.mark.parametrize(("label", "over"), [("TEEN", "TD3"), ("TEEN", "SAC"), ("TEEN", "TEEN α = 0")])
def test_the_probabilities_are_those_of_the_logs(label, over):
    """The mean over four tasks of the share of pairs of runs; the runs are those of results/paper."""
    names = {"TEEN": "teen alpha=0.2", "TEEN α = 0": "teen alpha=0", "TD3": "td3", "SAC": "sac"}
    shares = []
    for task in FOUR:
        ours, theirs = (last_means(all_runs(task, name, 500_000, PAPER), 500_000) for name in (label, over))
        shares.append(np.mean([a > b for a in ours for b in theirs]))
    assert beats(names[label], names[over])[0] == pytest.approx(np.mean(shares))


def test_the_papers_numbers_at_500k():
    """How far ours are from the paper's, by the last 50k and by best so far."""
    text = flat(PAGE)
    by_last, by_best = {}, {}
    for task in FOUR:
        for label in ("TEEN", "SAC", "TD3"):
            seeds, paper = all_runs(task, label, 500_000), float(printed(label, task, 500_000).split(" ± ")[0])
            by_last[label, task] = 100 * (np.mean(last_means(seeds, 500_000)) / paper - 1)
            by_best[label, task] = 100 * (np.mean([m[s <= 500_000].max() for s, m in seeds]) / paper - 1)
    teen, sac, td3 = ([by_last[label, task] for task in HALF_MILLION] for label in ("TEEN", "SAC", "TD3"))
    assert (round(teen[0]), round(teen[2])) == (-2, 2)
    assert "with 2 % less and 2 % more. On Walker2d-v4 21 % less, with a spread of 1490 over five runs" in text
    assert round(teen[1]) == -21
    assert f"± {1490}" in last(evaluations(HALF.format("Walker2d", "0.2")), 500_000)
    said = "SAC by {:.0f}, {:.0f} and {:.0f} %, TD3 by {:.0f}, {:.0f} and {:.0f} %"
    assert said.format(*(-d for d in (*sac, *td3))) in text
    assert f"our TD3 and SAC have {-max(sac + td3):.0f} to {-min(sac + td3):.0f} % less than the paper's" in text
    assert all(abs(by_last["TEEN", task]) < 3 for task in ("HalfCheetah-v4", "Hopper-v4", "Ant-v4"))
    baselines = [(label, task) for label in ("SAC", "TD3") for task in HALF_MILLION]
    far = [np.mean([abs(each[key]) for key in baselines]) for each in (by_last, by_best)]
    assert (
        "on average {:.0f} %. By best so far, which may be what the paper prints, "
        "they are {:.0f} % from the paper's on average".format(*far)
        in text
    )


def mean(task, label):
    return np.mean(last_means(all_runs(task, label, 500_000, PAPER), 500_000))


def over_better(who, tasks):
    """The gain over the better of TD3 and SAC on each task, in per cent."""
    ratios = [mean(task, who) / max(mean(task, label) for label in ("TD3", "SAC")) for task in tasks]
    return 100 * (np.mean(ratios) - 1)


def test_the_claims_at_500k():
    text = flat(PAGE)
    claims = (ROOT / "results/paper/claims/claims.md").read_text()
    (row, *_) = re.findall(r"^\| the better of TD3 and SAC \| MuJoCo \| – \|(.*)\|$", claims, re.MULTILINE)
    paper, teen, teen_best, control, control_best = (cell.strip() for cell in row.split("|"))
    assert (teen, control) == tuple(f"{over_better(who, FOUR):.1f} %" for who in ("TEEN", "TEEN α = 0"))
    said = (
        f"{teen} more at 500k (by best so far {teen_best}), with α = 0 {control} ({control_best}), where the paper's "
    )
    assert f"{said}tables have {paper}." in text
    assert f"without it {over_better('TEEN', FOUR[:3]):.0f} %." in text
    p = {}
    for task in FOUR:  # Tonic's and Tianshou's SAC, ten seeds each
        there, std = map(
            float, re.match(r"(\d+) ± (\d+)", cells(table_of(PAGE, "task, steps"), f"{task}, 500k")[-1]).groups()
        )
        ours = last_means(all_runs(task, "TEEN", 500_000), 500_000)
        own = np.mean(ours), np.std(ours, ddof=1), len(ours)
        p[task] = ttest_ind_from_stats(*own, there, std, 10, equal_var=False).pvalue
    said = "below on HalfCheetah (p = {:.3f}), a lower mean on Walker2d (p = {:.2f}), no difference shown on"
    assert said.format(p["HalfCheetah-v4"], p["Walker2d-v4"]) in text
    assert {f"{p[task]:.2f}" for task in ("Hopper-v4", "Ant-v4")} == {"0.42"}
    assert "Hopper and Ant (p = 0.42 on both)" in text


def test_gains_in_the_table_of_claims():
    text = flat(PAGE)

    def more(task, label, step=500_000):
        return gain(all_runs(task, "TEEN", step, PAPER), all_runs(task, label, step, PAPER), step)

    cheetah = more("HalfCheetah-v4", "TD3"), more("HalfCheetah-v4", "TD3", 1_000_000)
    assert "**holds** on HalfCheetah-v4 (+{} at 500k, +{} at 1M)".format(*cheetah) in text
    likely = more("Hopper-v4", "TD3"), more("Ant-v4", "TD3")
    assert "on Hopper-v4 and Ant-v4 at 500k (+{} and +{})".format(*likely) in text
    assert f"**holds** on Ant-v4 at 500k (+{more('Ant-v4', 'SAC')})" in text
    likely = more("Hopper-v4", "SAC"), more("HalfCheetah-v4", "SAC", 1_000_000)
    assert "on Hopper-v4 at 500k (+{}) and on HalfCheetah-v4 at 1M (+{};".format(*likely) in text


def test_holms_correction():
    """What stays below 0.05 when the smallest of eight p is multiplied by 8, the next by 7, and so on."""
    pairs = [(task, label) for task in FOUR for label in ("TD3", "SAC")]
    p = {
        (task, label): p_value(*(all_runs(task, name, 500_000, PAPER) for name in ("TEEN", label)), 500_000)
        for task, label in pairs
    }
    corrected, least = {}, 0.0
    for place, pair in enumerate(sorted(pairs, key=p.get)):
        least = corrected[pair] = max(least, (8 - place) * p[pair])
    assert {pair for pair in pairs if corrected[pair] < 0.05} == {("HalfCheetah-v4", "TD3"), ("Ant-v4", "SAC")}
    assert {f"{corrected[pair]:.3f}" for pair in pairs if corrected[pair] < 0.05} == {"0.039"}
    assert "HalfCheetah-v4 against TD3 and Ant-v4 against SAC (both 0.039)" in flat(PAGE)


def test_the_seeds_that_pretrained_agents_were_chosen_from():
    """Their mean of the last 50,000 steps."""
    share = (ROOT / "docs" / "share.md").read_text()
    runs = {"HalfCheetah-v4": MILLION["TEEN"][1]} | {task: HALF.format(task[:-3], "0.2") for task in HALF_MILLION}
    for task, run in runs.items():
        end = 1_000_000 if task == "HalfCheetah-v4" else 500_000
        mean, _ = last(evaluations(run), end).split(" ± ")
        (line,) = re.findall(rf"^\| {task} \| .* \| (.*) \|$", share, re.MULTILINE)
        assert line == f"the best of five seeds, whose mean of the last 50,000 of {end:,} steps was {mean}"
