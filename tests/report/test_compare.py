import csv
import warnings
from pathlib import Path

import numpy as np
import pytest

from teen.errors import UserError
from teen.report import compare as comparing
from teen.report import runs as reading
from teen.report.compare import command, compare
from teen.report.runs import Run

EVERY = 25_000


def run(env, algo, returns, seeds=None, path="r", every=EVERY, **settings) -> Run:
    """Returns are (seed, evaluation)."""
    returns = np.array(returns, float)
    steps = every * np.arange(1, returns.shape[1] + 1)
    seeds = list(range(len(returns))) if seeds is None else seeds
    own = {"algo": algo, "env": env, "seeds": seeds, **settings}
    return Run(Path(path), own, {}, seeds, steps, returns, np.ones(returns.shape, int), {}, {})


def flat(env, algo, scores, evaluations=4, **settings) -> Run:
    """Every evaluation of a seed says the same."""
    return run(env, algo, np.repeat(np.array(scores, float)[:, None], evaluations, 1), **settings)


def row(rows, **known):
    (found,) = [row for row in rows if all(row[name] == value for name, value in known.items())]
    return found


def write(folder: Path, algo="teen", env="Ant-v5", scores=(1.0, 2.0), seeds=None, steps=(25_000, 50_000)) -> Path:
    """A run directory."""
    seeds = list(range(len(scores))) if seeds is None else seeds
    folder.mkdir(parents=True)
    (folder / "config.toml").write_text(f'algo = "{algo}"\nenv = "{env}"\nseeds = {seeds}\n')
    lines = [f"{seed},{step},mean,0,{s},9\n" for step in steps for seed, s in zip(seeds, scores, strict=True)]
    (folder / "eval.csv").write_text("seed,step,policy,episode,return,length\n" + "".join(lines))
    return folder


def test_scores_by_hand():
    found = compare([run("Ant-v5", "teen", [[0, 9, 1, 3], [2, 2, 4, 6], [1, 1, 9, 11], [5, 0, 0, 0]])])
    assert found.reference == "teen"
    (only,) = found.scores
    # last means 2, 5, 10, 0; best 9, 6, 11, 5; the interquartile mean is that of 2 and 5
    wanted = {"env": "Ant-v5", "step": 100_000, "label": "teen", "seeds": 4, "missing": 0, "last_mean": 4.25}
    wanted |= {"last_std": np.std([2, 5, 10, 0]), "best_mean": 7.75, "best_std": np.std([9, 6, 11, 5]), "iqm": 3.5}
    wanted |= {"best_iqm": 7.5}  # of 9 and 6
    assert {name: only[name] for name in wanted} == pytest.approx(wanted)
    assert 0 <= only["iqm_low"] < 3.5 < only["iqm_high"] <= 10
    assert 5 <= only["best_iqm_low"] < 7.5 < only["best_iqm_high"] <= 11
    assert found.improvement == found.normalised == found.notes == []


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
    found = compare(runs, [150_000, 60_000, 60_000, 50_000])
    assert [(r["env"], r["step"], r["last_mean"]) for r in found.scores] == [
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
    found = compare(runs)
    teen = row(found.scores, env="Ant-v5", label="teen", step=265_000)
    assert (teen["seeds"], teen["last_mean"], teen["iqm"]) == (2, 200, 200)
    assert row(found.improvement, env="Ant-v5", label="teen", step=265_000)["probability"] == 1
    assert {r["label"] for r in found.normalised if r["step"] == 265_000} == {"teen", "td3"}


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
    found = compare([gone], [50_000, 100_000])
    early, late = (row(found.scores, step=step) for step in (50_000, 100_000))
    assert (early["seeds"], early["missing"]) == (3, 1)
    assert (late["seeds"], late["missing"], late["last_mean"], late["best_mean"]) == (1, 3, 3.5, 4)


def test_an_infinite_return_is_as_good_as_none(tmp_path):
    folder = write(tmp_path / "a", scores=(1.0, 2.0, 3.0), steps=(25_000, 50_000))
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
    found = compare([flat("Ant-v5", "teen", [1, 2]), begun])
    assert (len(found.scores), found.notes) == (1, ["new has no evaluation yet: it is left out"])
    with pytest.raises(UserError, match="nothing to compare"):
        compare([begun])


def test_improvement_of_each_over_each():
    found = compare(
        [
            flat("Ant-v5", "teen", [1, 2, 3]),
            flat("Ant-v5", "td3", [0, 2]),
            flat("Ant-v5", "sac", [-1, -1]),
            flat("Hopper-v5", "teen", [5, 5]),
            flat("Hopper-v5", "td3", [5, 5]),
        ]
    )
    ant = {(r["label"], r["over"]): r for r in found.improvement if r["env"] == "Ant-v5"}
    assert len(ant) == 6
    assert ant["teen", "td3"]["probability"] == pytest.approx(4.5 / 6)  # 4 of 6 pairs won, 1 a tie
    assert [ant["teen", "sac"][k] for k in ("probability", "low", "high")] == [1, 1, 1]
    for (label, over), own in ant.items():
        assert own["low"] == pytest.approx(1 - ant[over, label]["high"])
        assert own["probability"] == pytest.approx(1 - ant[over, label]["probability"])
    everywhere = row(found.improvement, env="all", label="teen")  # sac is on one environment alone
    assert (everywhere["over"], everywhere["environments"]) == ("td3", 2)
    assert everywhere["probability"] == pytest.approx((0.75 + 0.5) / 2)


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
    found = compare(runs)
    assert found.reference == "td3"
    note = "Pendulum-v1 is not in the normalised scores at step 100000: the mean of td3 there is not positive"
    assert found.notes == [note]
    lacking = compare([*runs, flat("Walker2d-v5", "teen", [1])])
    assert lacking.notes == [note, "Walker2d-v5 is not in the normalised scores at step 100000: td3 has no score there"]
    assert compare([runs[1], flat("Hopper-v5", "sac", [1])]).notes == []  # nobody has two environments
    assert {r["label"] for r in found.normalised} == {"teen", "td3"}  # sac shares one environment alone
    teen = row(found.normalised, label="teen")  # 2, 4 and 0.25, 0.75
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
    comparing.to_csv(rows, tmp_path / "scores.csv")
    with (tmp_path / "scores.csv").open() as file:
        (read,) = csv.DictReader(file)
    assert (read["env"], float(read["last_mean"])) == ("Ant-v5", rows[0]["last_mean"])
    for bad in (tmp_path, tmp_path / "no" / "such.csv"):
        with pytest.raises(UserError, match="cannot be written"):
            comparing.to_csv(rows, bad)


def test_the_command(tmp_path, capsys):
    write(tmp_path / "runs" / "a", "teen", scores=(30.0, 40.0, 50.0))
    write(tmp_path / "runs" / "b", "td3", scores=(10.0, 20.0))
    write(tmp_path / "runs" / "c", "td3", env="x:y:[bold]Hopper-v5", scores=(1.0, 3.0))
    write(tmp_path / "runs" / "d", "teen", env="x:y:[bold]Hopper-v5", scores=(1.0,))
    write(tmp_path / "runs" / "new", "sac", scores=())
    assert command([str(tmp_path / "runs"), "--csv", str(tmp_path / "out.csv"), "--steps", "50_000,25000"]) == 0
    out, err = capsys.readouterr()
    lines = [" ".join(line.strip("│").split()) for line in out.splitlines()]
    first = lines.index("teen │ 25,000 │ 3 │ last 50k │ 40.0 ± 8.2 │ 40.0 [30.0, 50.0]")
    assert lines[first + 1] == "│ │ │ best so far │ 40.0 ± 8.2 │ 40.0 [30.0, 50.0]"
    assert any("divided by the mean of td3" in line for line in lines)
    assert "Ant-v5 at step 50,000: P(row beats column), 95 % interval" in " ".join(lines)
    assert any(line.startswith("x:y:[bold]Hopper-v5") for line in lines)
    assert "1.00 1.00–1.00" in out
    assert err == f"{tmp_path / 'runs' / 'new'} has no evaluation yet: it is left out\n"
    written = {path.name: len(path.read_text().splitlines()) for path in tmp_path.glob("*.csv")}
    assert written == {"out.csv": 9, "out-improvement.csv": 13, "out-normalised.csv": 5}


def test_files_of_an_earlier_comparison_do_not_stay(tmp_path):
    for env in ("Ant-v5", "Hopper-v5"):
        for algo in ("teen", "td3"):
            write(tmp_path / env / algo, algo, env)
    asked = ["--csv", str(tmp_path / "out.csv")]
    for folders, left in ((["Ant-v5", "Hopper-v5"], 3), (["Ant-v5"], 2), (["Ant-v5/teen"], 1)):
        assert command([*(str(tmp_path / folder) for folder in folders), *asked]) == 0
        assert len(list(tmp_path.glob("*.csv"))) == left


def test_the_matrix_is_of_the_step_with_most_labels(capsys):
    longer = [flat("Ant-v5", algo, [1, 2], 14) for algo in ("teen", "td3")]
    found = compare([*longer, flat("Ant-v5", "sac", [3, 4], 12)], [275_000, 300_000, 350_000])
    comparing.print_tables(found)
    assert {row["step"] for row in found.improvement} == {275_000, 300_000, 350_000}
    assert [line for line in capsys.readouterr().out.splitlines() if "P(row" in line] == [
        "Ant-v5 at step 300,000: P(row beats column), 95 % interval; last 50k, then best so far"
    ]


def test_missing_seeds_show_in_the_table(capsys):
    comparing.print_tables(compare([run("Ant-v5", "teen", [[1, 1], [2, np.nan], [3, 3]])]))
    assert "2 of 3" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "required: RUN .see teen compare --help"),
        (["nowhere"], "nowhere is not a folder"),
        (["a", "--steps", "300k"], "--steps '300k' names no steps: write 300000,1000000"),
        (["a", "--steps", "0"], "--steps '0' names no steps"),
        (["a", "--steps", "900000"], "no run has a score at step 900000"),
        (["a", "--reference", "sac"], "--reference 'sac' is none of the labels here: teen"),
        (["a", "--csv", "no/such.csv"], r"no/such\.csv cannot be written: No such file"),
        (["a", "b"], "seed 0 of teen on Ant-v5 occurs twice: in a and in b"),
        (["a", "--step", "1"], "unrecognized arguments"),
    ],
    ids=range(9),
)
def test_mistakes_are_told(tmp_path, monkeypatch, arguments, message):
    monkeypatch.chdir(tmp_path)
    write(Path("a"))
    write(Path("b"))
    with pytest.raises(UserError, match=message):
        command(arguments)
