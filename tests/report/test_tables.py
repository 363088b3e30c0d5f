"""A comparison in the terminal, and the command."""

import csv
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import t as student

from teen.cli.compare import command
from teen.errors import UserError
from teen.report.compare import compare
from teen.report.tables import print_tables

from .synthetic import flat, run, write_flat


def test_the_command(tmp_path, capsys):
    write_flat(tmp_path / "runs" / "a", "teen", scores=(30.0, 40.0, 50.0))
    write_flat(tmp_path / "runs" / "b", "td3", scores=(10.0, 20.0))
    write_flat(tmp_path / "runs" / "c", "td3", env="x:y:[bold]Hopper-v5", scores=(1.0, 3.0))
    write_flat(tmp_path / "runs" / "d", "teen", env="x:y:[bold]Hopper-v5", scores=(1.0,))
    write_flat(tmp_path / "runs" / "new", "sac", scores=())
    assert command([str(tmp_path / "runs"), "--csv", str(tmp_path / "out.csv"), "--steps", "50_000,25000"]) == 0
    out, err = capsys.readouterr()
    lines = [" ".join(line.strip("│").split()) for line in out.splitlines()]
    first = lines.index("teen │ 25,000 │ 3 │ last 50k │ 40.0 ± 10.0 │ 40.0 [30.0, 50.0]")
    assert lines[first + 1] == "│ │ │ best so far │ 40.0 ± 10.0 │ 40.0 [30.0, 50.0]"
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
            write_flat(tmp_path / env / algo, algo, env)
    asked = ["--csv", str(tmp_path / "out.csv")]
    for folders, left in ((["Ant-v5", "Hopper-v5"], 3), (["Ant-v5"], 2), (["Ant-v5/teen"], 1)):
        assert command([*(str(tmp_path / folder) for folder in folders), *asked]) == 0
        assert len(list(tmp_path.glob("*.csv"))) == left


def test_the_matrix_is_of_the_step_with_most_labels(capsys):
    longer = [flat("Ant-v5", algo, [1, 2], 14) for algo in ("teen", "td3")]
    comparison = compare([*longer, flat("Ant-v5", "sac", [3, 4], 12)], [275_000, 300_000, 350_000])
    print_tables(comparison)
    assert {row["step"] for row in comparison.improvement} == {275_000, 300_000, 350_000}
    assert [line for line in capsys.readouterr().out.splitlines() if "P(row" in line] == [
        "Ant-v5 at step 300,000: P(row beats column), 95 % interval; last 50k, then best so far"
    ]


def test_differences_on_one_environment_and_gains_on_all(capsys):
    """An environment where no difference is known, of single seeds, has no table of them."""
    known = [flat(env, algo, scores) for env in ("Ant-v5", "Hopper-v5") for algo, scores in
             (("teen", [300, 500]), ("td3", [150, 250]))]  # fmt: skip
    single = [flat("Walker-v5", algo, [1]) for algo in ("rnd", "sac")]
    print_tables(compare([*known, *single]))
    lines = capsys.readouterr().out.splitlines()
    assert [line for line in lines if "less that of" in line] == [
        f"{env} at step 100,000: mean of the row less that of the column, 95 % interval; last 50k"
        for env in ("Ant-v5", "Hopper-v5")
    ]
    text = " ".join(" ".join(lines).split())
    assert "at step 100,000: the row's average gain over the column in %, 95 % interval; last 50k" in text
    half = student.ppf(0.975, 12_500**2 / (100**4 + 50**4)) * 12_500**0.5  # standard errors of 100 and 50
    ends = f"[{200 - half:.1f}, {200 + half:.1f}]", f"[{-200 - half:.1f}, {-200 + half:.1f}]"
    assert f"│ teen │ │ 200.0 │ │ │ │ {ends[0]} │" in text
    assert f"│ td3 │ -200.0 │ │ │ │ {ends[1]} │ │" in text
    factor = np.exp(student.ppf(0.975, 4) * 0.25)  # each mean has a quarter of itself as standard error
    ends = [f"[{100 * (ratio / factor - 1):.1f}, {100 * (ratio * factor - 1):.1f}]" for ratio in (2, 0.5)]
    assert f"│ teen │ │ 100.0 (2) │ │ │ │ {ends[0]} │" in text
    assert f"│ td3 │ -50.0 (2) │ │ │ │ {ends[1]} │ │" in text


def test_a_difference_of_almost_nothing_has_no_sign(capsys):
    print_tables(compare([flat("Ant-v5", "teen", [1.0, 2.98]), flat("Ant-v5", "td3", [1.0, 3.0])]))
    out = capsys.readouterr().out
    assert " 0.0 │" in out
    assert "-0.0 " not in out


def test_a_single_seed_has_no_standard_deviation(tmp_path, capsys):
    folder = write_flat(tmp_path / "a", scores=(7.0,))
    assert command([str(folder), "--csv", str(tmp_path / "out.csv")]) == 0
    lines = [" ".join(line.strip("│").split()) for line in capsys.readouterr().out.splitlines()]
    first = lines.index("teen │ 50,000 │ 1 │ last 50k │ 7.0 ± – │ 7.0 [7.0, 7.0]")
    assert lines[first + 1] == "│ │ │ best so far │ 7.0 ± – │ 7.0 [7.0, 7.0]"
    with (tmp_path / "out.csv").open() as file:
        (row,) = csv.DictReader(file)
    assert (row["last_mean"], row["last_std"], row["best_std"]) == ("7.0", "", "")


def test_missing_seeds_show_in_the_table(capsys):
    print_tables(compare([run("Ant-v5", "teen", [[1, 1], [2, np.nan], [3, 3]])]))
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
        (["a", "--step", "1"], "there is no --step: did you mean --steps?"),
    ],
    ids=range(9),
)
def test_mistakes_are_told(tmp_path, monkeypatch, arguments, message):
    monkeypatch.chdir(tmp_path)
    write_flat(Path("a"))
    write_flat(Path("b"))
    with pytest.raises(UserError, match=message):
        command(arguments)
