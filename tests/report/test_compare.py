import csv
import warnings

import numpy as np
import pytest

from teen.errors import UserError
from teen.report import runs as reading
from teen.report.compare import compare, to_csv

from .synthetic import flat, run, write_flat


def row(rows, **known):
    (match,) = [row for row in rows if all(row[name] == value for name, value in known.items())]
    return match


def test_scores_by_hand():
    comparison = compare([run("Ant-v5", "teen", [[0, 9, 1, 3], [2, 2, 4, 6], [1, 1, 9, 11], [5, 0, 0, 0]])])
    assert comparison.reference == "teen"
    (only,) = comparison.scores
    # last means 2, 5, 10, 0; best 9, 6, 11, 5; the interquartile mean is that of 2 and 5
    wanted = {"env": "Ant-v5", "step": 100_000, "label": "teen", "seeds": 4, "missing": 0, "last_mean": 4.25}
    wanted |= {"last_std": (56.75 / 3) ** 0.5, "best_mean": 7.75, "best_std": (22.75 / 3) ** 0.5, "iqm": 3.5}  # n - 1
    wanted |= {"best_iqm": 7.5}  # of 9 and 6
    assert {name: only[name] for name in wanted} == pytest.approx(wanted)
    assert 0 <= only["iqm_low"] < 3.5 < only["iqm_high"] <= 10
    assert 5 <= only["best_iqm_low"] < 7.5 < only["best_iqm_high"] <= 11
    assert comparison.improvement == comparison.normalised == comparison.notes == []


def test_steps_are_where_runs_end_together_and_milestones():
    long, short = flat("Ant-v5", "teen", [1, 2], 22), flat("Ant-v5", "td3", [1, 2], 14)  # 550k and 350k
    other = flat("Hopper-v5", "td3", [1, 2], 3)
    rows = compare([long, short, other]).scores
    assert [(r["env"], r["step"], r["label"]) for r in rows] == [
        ("Ant-v5", 300_000, "teen"),
        ("Ant-v5", 300_000, "td3"),
        ("Ant-v5", 350_000, "teen"),
        ("Ant-v5", 350_000, "td3"),
        ("Ant-v5", 500_000, "teen"),
        ("Hopper-v5", 75_000, "td3"),
    ]


def test_asked_steps():
    runs = [run("Ant-v5", "teen", [np.arange(1, 9)]), run("Hopper-v5", "teen", [[1, 2]])]
    comparison = compare(runs, [150_000, 60_000, 60_000, 50_000])
    assert [(r["env"], r["step"], r["last_mean"]) for r in comparison.scores] == [
        ("Ant-v5", 50_000, 1.5),
        ("Ant-v5", 60_000, 1.5),
        ("Ant-v5", 150_000, 5.5),
        ("Hopper-v5", 50_000, 1.5),
    ]
    for step in (24_999, 200_001, 10**30):
        with pytest.raises(UserError, match=f"no run has a score at step {step}: .* from 25000 to 200000"):
            compare(runs, [50_000, step])


def test_runs_that_are_rarely_evaluated_have_every_score():
    often, rarely = np.arange(1, 54), np.arange(1, 11)  # td3 ends at 265k, teen was evaluated last at 200k
    runs = [
        run(env, algo, [level * returns, level * returns], every=every)
        for env in ("Ant-v5", "Hopper-v5")
        for algo, level, returns, every in (("td3", 1, often, 5_000), ("teen", 100, rarely, 100_000))
    ]
    comparison = compare(runs)
    teen = row(comparison.scores, env="Ant-v5", label="teen", step=265_000)
    assert (teen["seeds"], teen["last_mean"], teen["iqm"]) == (2, 200, 200)
    assert row(comparison.improvement, env="Ant-v5", label="teen", step=265_000)["probability"] == 1
    assert {r["label"] for r in comparison.normalised if r["step"] == 265_000} == {"teen", "td3"}


def test_seeds_split_over_runs_are_one():
    parts = [
        flat("Ant-v5", "teen", [1, 2], path="a"),
        flat("Ant-v5", "teen", [3], seeds=[7], path="b", backend="gym"),
        flat("Ant-v5", "teen", [9, 9], evaluations=2, seeds=[8, 9], path="c", steps=50_000),
    ]
    together = row(compare(parts, [100_000]).scores)
    assert (together["seeds"], together["missing"], together["last_mean"]) == (3, 2, 2)
    assert row(compare(parts).scores, step=50_000)["last_mean"] == pytest.approx(24 / 5)


def test_a_seed_that_occurs_twice_is_refused():
    twice = [
        flat("Ant-v5", "teen", [1, 2], path="a", alpha=0.2),
        flat("Ant-v5", "teen", [1, 2], path="b", alpha=0.0),
        flat("Ant-v5", "teen", [4, 5], path="c", seeds=[4, 1], alpha=0.2),
    ]
    with pytest.raises(UserError, match=r"seed 1 of teen alpha=0\.2 on Ant-v5 occurs twice: in a and in c"):
        compare(twice)
    assert len(compare(twice[:2]).scores) == 2


def test_a_quarantined_seed_is_missing_from_then_on():
    gone = run("Ant-v5", "teen", [[1, 2, 3, 4], [9, 9, np.nan, np.nan], [9, 9, 9, np.nan]])
    gone.settings["seeds"] = [0, 1, 2, 3]  # the last one never reached an evaluation
    comparison = compare([gone], [50_000, 100_000])
    early, late = (row(comparison.scores, step=step) for step in (50_000, 100_000))
    assert (early["seeds"], early["missing"]) == (3, 1)
    assert (late["seeds"], late["missing"], late["last_mean"], late["best_mean"]) == (1, 3, 3.5, 4)
    assert (late["last_std"], late["best_std"]) == (None, None)  # of one seed


def test_an_infinite_return_is_as_good_as_none(tmp_path):
    folder = write_flat(tmp_path / "a", scores=(1.0, 2.0, 3.0), steps=(25_000, 50_000))
    with (folder / "eval.csv").open("a") as file:
        file.write("0,75000,mean,0,inf,9\n0,75000,mean,1,-inf,9\n1,75000,mean,0,inf,9\n2,75000,mean,0,4.0,9\n")
        file.write("2,75000,0,0,inf,9\n2,75000,1,0,6.0,9\n")
    read = reading.read(folder)
    np.testing.assert_array_equal(read.members[75_000][2], [np.nan, 6])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        late = row(compare([read]).scores, step=75_000)
    assert (late["seeds"], late["missing"], late["last_mean"], late["iqm"], late["best_mean"]) == (1, 2, 3.5, 3.5, 4)


def test_a_run_that_has_just_begun_is_left_out_and_named():
    begun = run("Ant-v5", "teen", np.zeros((0, 0)), path="new")
    comparison = compare([flat("Ant-v5", "teen", [1, 2]), begun])
    assert (len(comparison.scores), comparison.notes) == (1, ["new has no evaluation yet: it is left out"])
    with pytest.raises(UserError, match="nothing to compare"):
        compare([begun])


def test_improvement_of_each_over_each():
    comparison = compare(
        [
            flat("Ant-v5", "teen", [1, 2, 3]),
            flat("Ant-v5", "td3", [0, 2]),
            flat("Ant-v5", "sac", [-1, -1]),
            flat("Hopper-v5", "teen", [5, 5]),
            flat("Hopper-v5", "td3", [5, 5]),
        ]
    )
    ant = {(r["label"], r["over"]): r for r in comparison.improvement if r["env"] == "Ant-v5"}
    assert len(ant) == 6
    assert ant["teen", "td3"]["probability"] == pytest.approx(4.5 / 6)  # 4 of 6 pairs won, 1 a tie
    assert [ant["teen", "sac"][k] for k in ("probability", "low", "high")] == [1, 1, 1]
    for (label, over), pair in ant.items():
        assert pair["low"] == pytest.approx(1 - ant[over, label]["high"])
        assert pair["probability"] == pytest.approx(1 - ant[over, label]["probability"])
    everywhere = row(comparison.improvement, env="all", label="teen")  # sac is on one environment alone
    assert (everywhere["over"], everywhere["environments"]) == ("td3", 2)
    assert everywhere["probability"] == pytest.approx((0.75 + 0.5) / 2)


def test_differences_and_gains():
    """The difference on one environment, in returns; the gain on one, and on average over those that both have."""
    comparison = compare(
        [
            flat("Ant-v5", "teen", [3, 5]),
            flat("Ant-v5", "td3", [1.5, 2.5]),
            flat("Hopper-v5", "teen", [15, 25]),
            flat("Hopper-v5", "td3", [15, 25]),
            flat("Hopper-v5", "sac", [-1, -2]),
            flat("Walker-v5", "sac", [5, 6]),
        ]
    )

    def between(env, label, over):
        return row(comparison.improvement, env=env, label=label, over=over)

    ant = between("Ant-v5", "teen", "td3")
    assert (ant["difference"], ant["gain"]) == pytest.approx((2, 1))
    assert ant["difference_low"] < 0 < 4 < ant["difference_high"]
    back = between("Ant-v5", "td3", "teen")
    assert (back["difference"], back["gain"]) == pytest.approx((-2, -0.5))
    assert (back["difference_low"], back["difference_high"]) == pytest.approx(
        (-ant["difference_high"], -ant["difference_low"])
    )
    together = between("all", "teen", "td3")
    assert (together["environments"], together["difference"]) == (2, None)
    assert together["gain"] == pytest.approx(2**0.5 - 1)
    assert together["gain_low"] < 0 < 2**0.5 - 1 < together["gain_high"]
    below_zero = between("Hopper-v5", "teen", "sac")  # a difference, but no ratio
    assert (below_zero["difference"], below_zero["gain"]) == (21.5, None)


def test_single_seeds_have_no_difference():
    rows = compare([flat("Ant-v5", "teen", [2]), flat("Ant-v5", "td3", [1, 3])]).improvement
    assert [[row[name] for name in ("difference", "difference_low", "gain", "gain_high")] for row in rows] == [
        [None] * 4
    ] * 2


def test_a_difference_of_returns_that_are_too_large_is_unknown():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        rows = compare([flat("Ant-v5", "teen", [1e200, 9e307]), flat("Ant-v5", "td3", [1, 3])]).improvement
    assert {(row["difference"], row["gain"]) for row in rows} == {(None, None)}


def test_improvement_of_the_best_so_far_may_be_another():
    early, late = (
        run("Ant-v5", "teen", [[9, 9, 0, 0], [5, 5, 0, 0]]),
        run("Ant-v5", "td3", [[1, 1, 1, 1], [6, 6, 6, 6]]),
    )
    one, other = compare([early, late]).improvement
    assert (one["label"], one["probability"], one["best_probability"]) == ("teen", 0, 0.75)
    assert (other["label"], other["probability"], other["best_probability"]) == ("td3", 1, 0.25)
    assert other["best_low"] == 1 - one["best_high"] < 0.25 < other["best_high"] == 1 - one["best_low"]


def test_normalised_by_the_reference():
    runs = [
        flat("Ant-v5", "teen", [20, 40]),
        flat("Ant-v5", "td3", [10, 10]),
        flat("Hopper-v5", "teen", [1, 3]),
        flat("Hopper-v5", "td3", [4, 4], evaluations=6),
        flat("Pendulum-v1", "teen", [-100]),
        flat("Pendulum-v1", "td3", [-200]),
        flat("Hopper-v5", "sac", [4, 4]),
    ]
    comparison = compare(runs)
    assert comparison.reference == "td3"
    note = "Pendulum-v1 is not in the normalised scores at step 100000: the mean of td3 there is not positive"
    assert comparison.notes == [note]
    lacking = compare([*runs, flat("Walker2d-v5", "teen", [1])])
    assert lacking.notes == [note, "Walker2d-v5 is not in the normalised scores at step 100000: td3 has no score there"]
    assert compare([runs[1], flat("Hopper-v5", "sac", [1])]).notes == []  # nobody has two environments
    assert {r["label"] for r in comparison.normalised} == {"teen", "td3"}  # sac shares one environment alone
    teen = row(comparison.normalised, label="teen")  # 2, 4 and 0.25, 0.75
    assert (teen["step"], teen["environments"], teen["reference"]) == (100_000, 2, "td3")
    assert teen["mean"] == pytest.approx((3 + 0.5) / 2)
    assert teen["iqm"] == pytest.approx((0.75 + 2) / 2)
    assert 0.25 <= teen["iqm_low"] < teen["iqm"] < teen["iqm_high"] <= 4
    other = compare(runs, reference="teen")
    assert row(other.normalised, label="td3")["mean"] == pytest.approx((1 / 3 + 2) / 2)
    with pytest.raises(UserError, match=r"--reference 'redq' is none of the labels here: teen, td3, sac"):
        compare(runs, reference="redq")


def test_rows_as_csv(tmp_path):
    rows = compare([flat("Ant-v5", "teen", [0.1, 0.2])]).scores
    to_csv(rows, tmp_path / "scores.csv")
    with (tmp_path / "scores.csv").open() as file:
        (read,) = csv.DictReader(file)
    assert (read["env"], float(read["last_mean"])) == ("Ant-v5", rows[0]["last_mean"])
    for bad in (tmp_path, tmp_path / "no" / "such.csv"):
        with pytest.raises(UserError, match="cannot be written"):
            to_csv(rows, bad)
