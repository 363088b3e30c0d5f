"""Runs that are far larger than usual: the work is bounded, and what is left out is named."""

import json
import os
import subprocess
import sys

import numpy as np
import pytest

from teen.errors import UserError
from teen.report import compare as comparing
from teen.report import data, figures, metrics, statistics, thinning
from teen.report import runs as reading
from teen.report.compare import compare

from .synthetic import flat, run, write_run

HEADER = "seed,step,policy,episode,return,length\n"


def write_lines(folder, lines, name="eval.csv", header=HEADER):
    folder.mkdir(exist_ok=True)
    (folder / "config.toml").write_text('algo = "td3"\nenv = "Ant-v5"\n')
    (folder / name).write_text(header + "".join(lines))
    return folder


def test_a_small_file_with_many_seeds_and_steps_is_summarised(tmp_path):
    """Its table of seeds and evaluations has four million cells, of which two thousand are filled."""
    folder = write_lines(tmp_path / "many", (f"{k},{k},mean,0,{k},7\n" for k in range(2000)))
    assert (folder / "eval.csv").stat().st_size < 50_000
    shown = data.collect([reading.read(folder)])
    (curve,) = shown["environments"][0]["curves"]
    points = thinning.MOST_NUMBERS // 2007
    assert shown["notes"] == [f"many: 2,000 seeds and 2,000 evaluations; the curve shows {points} of them"]
    assert len(curve["seeds"]) == len(curve["returns"]) == 2000
    assert len(curve["steps"]) == len(curve["iqm"]) == points
    assert curve["steps"][-1] == 1999
    assert curve["mean"] == curve["steps"]  # seed k returns k at step k
    assert shown["scores"][0]["last_mean"] == 1999
    assert len(json.dumps(shown)) < 5_000_000


def test_memory_is_bounded(tmp_path):
    if not os.path.exists("/proc/self/status"):
        pytest.skip("there is no /proc here")
    folder = write_lines(tmp_path / "many", (f"{k},{k},mean,0,{k},7\n" for k in range(2000)))
    program = (
        "import resource, sys; from pathlib import Path; from teen.report.library import Library\n"
        "size = next(int(line.split()[1]) * 1024 for line in open('/proc/self/status') if line.startswith('VmSize'))\n"
        "resource.setrlimit(resource.RLIMIT_AS, (size + 600 * 2**20,) * 2)\n"
        "print(len(Library(Path(sys.argv[1])).data(['many'])[0]))"
    )
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "MALLOC_ARENA_MAX": "1"}  # threads reserve memory
    answer = subprocess.run(
        [sys.executable, "-c", program, str(folder)], env=environment, check=True, capture_output=True, text=True
    )
    assert 1_000_000 < int(answer.stdout) < 5_000_000


def test_usual_runs_are_shown_whole():
    hundred_seeds = [run("Ant-v5", "td3", np.zeros((100, 200))), run("Ant-v5", "teen", np.zeros((10, 2000)))]
    shown = data.collect(hundred_seeds)
    assert shown["notes"] == []
    assert [len(curve["steps"]) for curve in shown["environments"][0]["curves"]] == [200, 2000]


def test_all_curves_together_are_bounded(monkeypatch):
    monkeypatch.setattr(thinning, "MOST_NUMBERS", 1800)
    whole = [run(env, algo, np.ones((2, 100)), path=f"{algo}-{env}") for algo in ("td3", "sac") for env in ("A", "B")]
    short = data.collect(whole[:2])
    assert (short["notes"], len(short["environments"][0]["curves"][0]["steps"])) == ([], 100)  # 2 · 9 · 100 numbers
    shown = data.collect(whole)  # each curve has a quarter: 450 numbers, 9 at each evaluation
    assert [len(curve["steps"]) for part in shown["environments"] for curve in part["curves"]] == [50] * 4
    assert shown["notes"][0] == "td3-A: 2 seeds and 100 evaluations; the curve shows 50 of them"
    split = [run("A", "td3", np.zeros((2, 300)), path=f"part-{k}", seeds=[2 * k, 2 * k + 1]) for k in range(3)]
    assert data.collect(split)["notes"] == [
        "part-0 and 2 more with the same settings: 6 seeds and 300 evaluations; the curve shows 138 of them"
    ]


def test_chosen_steps_are_even_and_end_with_the_last():
    steps = np.arange(10, 1010, 10)
    assert thinning.chosen(steps, 100) is steps
    assert thinning.chosen(steps, 1).tolist() == [1000]
    for most in (2, 3, 7, 50, 99):
        chosen = thinning.chosen(steps, most)
        assert (len(chosen), chosen[-1]) == (most, 1000)
        assert np.ptp(np.diff(chosen)) <= 10


def test_curves_of_many_evaluations_are_thinned(monkeypatch):
    monkeypatch.setattr(thinning, "MOST_POINTS", 10)
    many = run("Ant-v5", "teen", np.arange(40.0)[None])
    many = many._replace(members={int(step): np.full((1, 3), float(step)) for step in many.steps})
    shown = data.collect([many])
    (members,), (curve,) = (shown["environments"][0][kind] for kind in ("members", "curves"))
    assert shown["notes"] == ["r: 1 seed and 40 evaluations; the curve shows 10 of them"]
    assert len(members["steps"]) == len(curve["steps"]) == 10
    assert members["members"] == members["steps"]


def test_many_seeds_have_fewer_resamples_and_are_named(monkeypatch):
    monkeypatch.setattr(statistics, "MOST_DRAWS", 8000)
    few, many = flat("Ant-v5", "td3", np.arange(4)), flat("Ant-v5", "sac", np.arange(80))
    note = "sac on Ant-v5 has 80 seeds: its intervals are of 100 resamples"
    assert compare([few, many]).notes == [note]
    assert (statistics.resamples_of(4), statistics.resamples_of(80), statistics.resamples_of(10**6)) == (2000, 100, 1)


def test_too_many_seeds_are_not_compared(monkeypatch):
    monkeypatch.setattr(comparing, "MOST_SEEDS", 5)
    assert len(compare([flat("Ant-v5", "td3", [1, 2, 3]), flat("Ant-v5", "sac", [1, 2])]).scores) == 2
    with pytest.raises(UserError, match="these runs have 6 seeds, and at most 5 are compared: name fewer runs"):
        compare([flat("Ant-v5", "td3", [1, 2, 3]), flat("Hopper-v5", "sac", [1, 2, 3])])


def test_too_many_labels_are_not_compared_with_each_other(monkeypatch):
    monkeypatch.setattr(comparing, "MOST_LABELS", 3)
    runs = [flat("Ant-v5", f"algo{k}", [1, 2]) for k in range(4)]
    assert len(compare(runs[:3]).improvement) == 6
    comparison = compare(runs)
    assert (len(comparison.scores), comparison.improvement) == (4, [])
    assert comparison.notes == ["there are 4 labels: beyond 3, none is compared with each other one"]


@pytest.mark.parametrize("count", [1, 2, 3, 4, 5, 10, 17])
def test_a_curves_intervals_are_of_sorted_resamples(count):
    """What is counted there, drawn and sorted here: the same draws, the same interval."""
    returns = np.random.default_rng(count).normal(size=(count, 3))
    _, low, high = statistics.iqm_curve(returns, resamples=200, seed=7)
    drawn = np.random.default_rng(7).integers(count, size=(200, count))
    cut = count // 4
    means = [np.sort(column[drawn], axis=1)[:, cut : count - cut].mean(1) for column in np.sort(returns, axis=0).T]
    np.testing.assert_allclose([low, high], np.quantile(means, (0.025, 0.975), axis=1))


def test_scores_are_compared_in_blocks(monkeypatch):
    rng = np.random.default_rng(0)
    x, y = [rng.integers(9, size=n) for n in (13, 8)], [rng.integers(9, size=n) for n in (11, 9)]
    whole = statistics.probability_of_improvement(x, y)
    monkeypatch.setattr(statistics, "BLOCK", 30)
    assert statistics.probability_of_improvement(x, y) == pytest.approx(whole)
    wins = [np.mean([(a > b) + (a == b) / 2 for a in one for b in other]) for one, other in zip(x, y, strict=True)]
    assert whole.value == pytest.approx(np.mean(wins))


def test_a_discriminator_of_very_many_members_is_left_out(tmp_path):
    folder = write_run(tmp_path / "a")
    shares = (f"0,{step},{z},{guess},0.5\n" for step in (10, 20) for z in range(100) for guess in range(100))
    (folder / "confusion.csv").write_text("seed,step,member,guess,share\n" + "".join(shares))
    assert metrics.confusion([reading.read(folder)]) is None
    with (folder / "confusion.csv").open("a") as file:
        file.write("0,30,0,0,0.25\n0,30,1,0,0.5\n1,30,0,0,0.75\n")
    step, table = metrics.confusion([reading.read(folder)])
    assert step == 30
    np.testing.assert_array_equal(table, [[0.5, np.nan], [0.5, np.nan]])


@pytest.mark.parametrize("name", ["q{}", "q" * 101])
def test_too_many_or_too_long_quantities_are_refused(tmp_path, name):
    folder = write_run(tmp_path / "a")
    rows = (f"0,10,{name.format(k)},1.0\n" for k in range(metrics.MOST_QUANTITIES + 1))
    (folder / "diagnostics.csv").write_text("seed,step,quantity,value\n" + "".join(rows))
    with pytest.raises(UserError, match=r"diagnostics\.csv is too large: it has more than 256 quantities"):
        data.collect([reading.read(folder)])


def test_figures_of_very_many_environments_and_labels(monkeypatch):
    monkeypatch.setattr(figures, "MOST_PANELS", 2)
    monkeypatch.setattr(figures, "MOST_NAMED", 2)
    runs = [run(env, algo, [[1, 2]]) for env in "ABC" for algo in ("td3", "sac", "x" * 200)]
    shown = data.collect(runs)
    made = {name for name, _ in figures.plot({**shown, "environments": shown["environments"][:2]})}
    assert "all-mean.png" in made
    figure = figures._figure(shown["environments"], shown["labels"], "mean")
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["td3", "sac"]
    monkeypatch.setattr(figures, "files", lambda name, make: [(name, b"")])
    assert {name for name, _ in figures.plot(shown)} == {f"{env}-{kind}" for env in "ABC" for kind in ("mean", "iqm")}


def test_absurd_numbers_warn_nobody(tmp_path):
    """Warnings are errors here. Returns beyond 1e100 count as missing, other numbers as they are."""
    values = ("1e308", "-1e308", "1e100", "-1e100", "5e-324", "nan", "inf")
    for k, algo in enumerate(("td3", "sac")):
        for env in ("A", "B"):
            rows = "".join(
                f"{seed},{step},{policy},0,{values[(seed + step + k) % 7]},7\n"
                for seed in range(3)
                for step in (1, 2, 3, 2**53)
                for policy in ("mean", 0, 1)
            )
            folder = write_run(tmp_path / f"{algo}-{env}", algo, env, evaluations=0)
            (folder / "eval.csv").write_text(HEADER + rows)
            metric = "".join(f"{seed},{step},{values[(seed + step) % 7]}\n" for seed in range(3) for step in range(9))
            (folder / "train.csv").write_text("seed,step,q\n" + metric)
            (folder / "diagnostics.csv").write_text(
                "seed,step,quantity,value\n" + "".join(f"0,{k},x,{value}\n" for k, value in enumerate(values))
            )
    shown = data.collect(reading.read_all(reading.find([tmp_path])))
    json.dumps(shown, allow_nan=False)
    assert len(list(figures.plot(shown))) == 12
