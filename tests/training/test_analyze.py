"""`analyze`: a saved agent's diagnosis goes into its run folder."""

import csv
import gzip
import sys
import types

import numpy as np
import pytest

import teen
from teen import algos, envs
from teen.cli.analyze import command
from teen.config.run import RunSettings
from teen.disk.agent import Agent
from teen.disk.folder import RunFolder
from teen.errors import UserError
from teen.training import analyze
from tests.measure.agents import TASK, agents_of
from tests.measure.test_diagnose import RECOGNISING


@pytest.fixture
def run(tmp_path):
    _, cfg, _, weights = agents_of("teen", None, lanes=2)
    settings = RunSettings(algo="teen", env=TASK, seeds=(4, 5))
    folder = RunFolder(tmp_path / "run", settings, cfg)
    folder.begin()
    folder.save_agent(Agent(settings, cfg, 300, weights), envs.make(TASK, 1).spec)
    return tmp_path / "run"


def table(path):
    with path.open() as file:
        return list(csv.DictReader(file))


def test_a_saved_agent_is_analysed_into_its_run_folder(run):
    (run / "diagnostics.csv").write_text("seed,step,quantity,value\n4,100,entropy_all,1.5\n4,300,entropy_all,99\n")
    measured = analyze.analyze(run, episodes=3)
    rows = table(run / "diagnostics.csv")
    assert measured.step == 300
    assert measured.quantities == [(int(r["seed"]), r["quantity"], float(r["value"])) for r in rows[1:]]
    assert rows[0] == {"seed": "4", "step": "100", "quantity": "entropy_all", "value": "1.5"}
    assert {row["step"] for row in rows[1:]} == {"300"}
    assert [row["quantity"] for row in rows[1:]] == RECOGNISING * 2
    assert "99" not in [row["value"] for row in rows]

    shares = table(run / "confusion.csv")
    assert len(shares) == 2 * 9
    assert sum(float(row["share"]) for row in shares) == pytest.approx(6)
    scores = table(run / "members.csv")
    assert {row["policy"] for row in scores} == {"0", "1", "2", "random member", "mean action"}
    mean = np.mean([float(row["return"]) for row in scores if (row["seed"], row["policy"]) == ("5", "mean action")])
    (row,) = [row for row in rows if (row["seed"], row["quantity"]) == ("5", "return_mean_action")]
    assert float(row["value"]) == pytest.approx(mean)

    before = (run / "diagnostics.csv").read_text()
    analyze.analyze(run, episodes=3)
    assert (run / "diagnostics.csv").read_text() == before


@pytest.fixture(scope="module")
def compressed():
    return gzip.compress(b"seed,step,quantity,value\n4,100,entropy_all,1.5\n")


def test_compressed_rows_of_before_are_kept(run, compressed):
    """What reads a run takes a plain file before a compressed one."""
    (run / "diagnostics.csv.gz").write_bytes(compressed)
    analyze.analyze(run, episodes=2)
    assert {row["step"] for row in table(run / "diagnostics.csv")} == {"100", "300"}
    assert {row["step"] for row in table(run / "members.csv")} == {"300"}
    (run / "diagnostics.csv").write_text("seed,step,quantity,value\n4,200,entropy_all,1.5\n")
    analyze.analyze(run, episodes=2)
    assert {row["step"] for row in table(run / "diagnostics.csv")} == {"200", "300"}


def test_damaged_compressed_rows_are_named_before_anything_is_played(run, compressed, monkeypatch):
    monkeypatch.setattr(analyze, "examine", lambda *_: pytest.fail("played"))
    for damage in (compressed[:-9], b"no gzip", compressed[:30] + b"x" * 9):
        (run / "diagnostics.csv.gz").write_bytes(damage)
        with pytest.raises(teen.UserError, match=r"diagnostics\.csv\.gz cannot be read"):
            analyze.analyze(run, episodes=2)


def test_the_command(run, capsys):
    later = "seed,step,quantity,value\n4,900,entropy_all,123456\n"  # of a training that was killed after its checkpoint
    (run / "diagnostics.csv").write_text(later)
    assert command([str(run), "--episodes", "2"]) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert "kl_members" in text
    assert "after 300 steps" in text
    assert "1.235e+05" not in text
    with pytest.raises(teen.UserError, match="at least 1"):
        command([str(run), "--episodes", "0"])
    (run / "diagnostics.csv").write_text("something else\n")
    with pytest.raises(teen.UserError, match=r"diagnostics.csv is damaged: its first line is not seed,step"):
        command([str(run), "--episodes", "2"])


def test_an_algorithm_without_insight_trains_and_is_not_diagnosed(tmp_path, monkeypatch):
    plain = types.ModuleType("tests.plain_td3")
    plain.ALGORITHM = algos.find("td3")._replace(insight=None)
    monkeypatch.setitem(sys.modules, "tests.plain_td3", plain)
    small = {"seeds": 1, "steps": 20, "warmup": 10, "eval_every": 20, "eval_episodes": 1, "width": 8, "show": False}
    for case in ({}, {"normalise_obs": True}):
        out = tmp_path / f"run{len(case)}"
        with pytest.raises(UserError, match="give its Algorithm an `insight`"):
            teen.train("tests.plain_td3", TASK, **small, **case, diagnose_every=20, out=tmp_path / "diagnosed")
        teen.train("tests.plain_td3", TASK, **small, **case, out=out)
        with pytest.raises(UserError, match="give its Algorithm an `insight`"):
            analyze.analyze(out)
