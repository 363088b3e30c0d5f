"""What the page shows, against numbers known from how the runs were written."""

import json

import numpy as np
import pytest

from teen import UserError
from teen.report import metrics
from teen.report import runs as reading
from teen.report.data import collect, plain

from .synthetic import EVERY, evaluate, score, write_run


def collected(*folders):
    data = collect([reading.read(folder) for folder in folders])
    json.dumps(data, allow_nan=False)
    return data


def test_curves_have_every_seed_and_their_statistics(tmp_path):
    a = write_run(tmp_path / "a", level=1, members=3)
    b = write_run(tmp_path / "b", "teen", level=2)
    c = write_run(tmp_path / "c", env="Ant-v5", level=3)
    data = collected(a, b, c)
    assert data["labels"] == ["td3", "teen"]
    assert [(part["env"], [curve["label"] for curve in part["curves"]]) for part in data["environments"]] == [
        ("Hopper-v5", ["td3", "teen"]),
        ("Ant-v5", ["td3"]),
    ]
    curve = data["environments"][0]["curves"][1]
    assert curve["steps"] == [EVERY * k for k in range(1, 11)]
    assert curve["returns"] == [[score(2, step, seed) for step in curve["steps"]] for seed in curve["seeds"]]
    assert curve["mean"] == [score(2, step, 1) for step in curve["steps"]]
    assert curve["std"] == [1] * 10  # of 0, 1 and 2, divided by n - 1
    assert curve["iqm"] == curve["mean"]
    assert all(
        low <= middle <= high for low, middle, high in zip(curve["low"], curve["iqm"], curve["high"], strict=True)
    )
    assert curve["count"] == [3] * 10
    ahead = next(row for row in data["improvement"] if row["env"] == "Hopper-v5" and row["label"] == "teen")
    assert (ahead["over"], ahead["probability"]) == ("td3", 1)
    (members,) = data["environments"][0]["members"]
    assert members["policy"] == members["best"] == data["environments"][0]["curves"][0]["mean"]
    assert members["members"] == [value - 1 for value in members["policy"]]
    assert [run["name"] for run in data["runs"]] == ["a", "b", "c"]
    assert data["runs"][1]["settings"]["algo"] == "teen"
    assert data["runs"][1]["versions"] == {"python": "3.11.9", "jax": "0.10.2"}


def test_seeds_of_one_label_may_lie_in_several_folders(tmp_path):
    a = write_run(tmp_path / "a", seeds=(0, 1))
    b = write_run(tmp_path / "b", seeds=(2,), evaluations=12)
    (curve,) = collected(a, b)["environments"][0]["curves"]
    assert curve["seeds"] == [0, 1, 2]
    assert curve["count"] == [3] * 10 + [1] * 2
    assert curve["returns"][0][10:] == [None, None]
    assert curve["mean"][9:11] == [score(1, 10 * EVERY, 1), score(1, 11 * EVERY, 2)]
    assert curve["std"][9:] == [1, None, None]  # one seed has none


def test_what_is_not_finite_becomes_null(tmp_path):
    run = write_run(tmp_path / "a", evaluations=1)
    with (run / "eval.csv").open("a") as file:
        file.write("".join(f"{seed},{2 * EVERY},mean,0,{value},9\n" for seed, value in enumerate(("nan", "inf", "5"))))
    part = collected(run)["environments"][0]
    curve = part["curves"][0]
    assert [row[1] for row in curve["returns"]] == [None, None, 5]
    assert (curve["mean"][1], curve["std"][1], curve["count"][1]) == (5, None, 1)
    q = part["training"]["q"][0]
    assert (q["steps"][0], q["mean"][:5]) == (1000, [None, None, None, None, 5])
    assert plain({"a": [np.nan, np.inf, np.float32(0.5)], "b": float("-inf")}) == {"a": [None, None, 0.5], "b": None}


def test_metrics_are_means_over_seeds_and_thinned(tmp_path):
    run = write_run(tmp_path / "a", evaluations=90)
    loss = collected(run)["environments"][0]["training"]["critic_loss"][0]
    assert len(loss["steps"]) == 300  # 900 in threes
    assert loss["steps"][:2] == [3000, 6000]
    assert loss["mean"][0] == pytest.approx(np.mean([100, 50, 100 / 3]) + 1, rel=1e-6)
    assert loss["std"][0] == pytest.approx(1, rel=1e-6)  # each seed's loss is its number higher: 0, 1 and 2
    assert len(loss["steps"]) <= metrics.MOST_POINTS


def test_std_is_of_the_finite_values_of_a_sample():
    nan, inf = np.nan, np.inf
    values = np.array([[1, 1, nan, nan, 1e200], [2, nan, nan, 7, -1e200], [6, 4, nan, inf, 0]])
    mean, std = metrics.mean_and_std(values)
    np.testing.assert_allclose(mean, [3, 2.5, nan, 7, 0])
    np.testing.assert_allclose(std, [7**0.5, 4.5**0.5, nan, nan, inf])  # 14 / 2 and 4.5 / 1
    assert [part.shape for part in metrics.mean_and_std(np.zeros((0, 0)))] == [(0,), (0,)]


def test_diagnostics_are_read_where_there_are_some(tmp_path):
    run = write_run(tmp_path / "a")
    assert collected(run)["environments"][0]["diagnostics"] == {}
    rows = ["seed,step,quantity,value", "0,1000,coverage,0.5", "1,1000,coverage,0.7", "0,2000,coverage,nan", "0,10"]
    (run / "diagnostics.csv").write_text("\n".join(rows))  # the last line is half written
    assert collected(run)["environments"][0]["diagnostics"] == {
        "coverage": [{"label": "td3", "steps": [1000, 2000], "mean": [0.6, None], "std": [0.1414214, None]}]
    }


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("train.csv", "seed,step,q\n0,1000,0.5\n"),
        ("diagnostics.csv", "seed,step,quantity,value\n0,1000,coverage,0.5\n"),
        ("confusion.csv", "seed,step,member,guess,share\n0,1000,0,0,0.5\n"),
    ],
    ids=range(3),
)
@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("step", "stop"), "it has no column 'step'"),
        (("1000", "inf"), "a step is out of range|invalid literal"),
        (("1000", "-1"), "out of range"),
        (("0.5", "x" * 200_000), "field larger"),
        (("0.5", "half"), "could not convert"),
        ((",0.5", ""), "line 2 has too few columns"),
    ],
    ids=range(6),
)
def test_a_damaged_log_is_named(tmp_path, name, text, change, message):
    run = write_run(tmp_path / "a")
    (run / name).write_text(text)
    collected(run)
    (run / name).write_text(text.replace(*change))
    with pytest.raises(UserError, match=rf"{name} is damaged: .*({message})"):
        collected(run)


def test_unfinished_runs_are_named(tmp_path):
    half = write_run(tmp_path / "half", evaluations=5)
    fresh = write_run(tmp_path / "fresh", "sac", evaluations=0)
    data = collected(half, fresh)
    assert data["notes"] == ["half has 50,000 of 100,000 steps", "fresh has no evaluation yet"]
    assert data["labels"] == ["td3"]
    assert len(data["runs"]) == 2
    assert collected(fresh)["environments"] == []


def test_a_single_seed_and_evaluation_are_enough(tmp_path):
    run = write_run(tmp_path / "a", seeds=(7,), evaluations=0)
    evaluate(run, EVERY, 1, (7,))
    curve = collected(run)["environments"][0]["curves"][0]
    assert curve["seeds"] == [7]
    assert curve["mean"] == curve["low"] == curve["high"] == [17]
    assert curve["std"] == [None]
