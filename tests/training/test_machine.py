"""What machine.json and timing.csv say of a run, and of its resumes."""

import csv
import json
import platform
import shlex
import subprocess
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path

import jax
import pytest

import teen
from teen.cli import main as cli
from teen.config.toml import versions
from teen.training import machine, timing
from teen.training import run as training
from teen.training.timing import Timing
from tests.support import same_in_every_run

FLAGS = (
    "--algo td3 --env tests.toys:PointMass-v0 --seeds 2 --width 8 --batch 16 --warmup 50 --buffer 100 --eval-every 100 "
    "--eval-episodes 1 --log-every 50 --checkpoint-every 70 --lr 0.001,0.002 --sync 10"
)
VARIANTS = ("lr=0.001", "lr=0.002")


def times(run: Path) -> list[tuple[int, float, float]]:
    with (run / "timing.csv").open() as file:
        rows = list(csv.DictReader(file))
    return [(int(row["step"]), float(row["seconds"]), float(row["steps_per_second"])) for row in rows]


def starts(run: Path) -> list[dict]:
    return json.loads((run / "machine.json").read_text())


@pytest.fixture(scope="module")
def cut(tmp_path_factory):
    """Two variants that end at step 130, and their command."""
    run = tmp_path_factory.mktemp("cut") / "a run"
    command = ["train", *FLAGS.split(), "--steps", "130", "--out", str(run)]
    assert cli.main(command) == 0
    return run, command


def test_a_row_for_every_log_evaluation_checkpoint_and_the_end(cut):
    run, _ = cut
    assert not (run / "timing.csv").exists()  # as of eval.csv, each variant has one
    for variant in VARIANTS:
        rows = times(run / variant)
        assert [step for step, *_ in rows] == [50, 70, 100, 130]
        before = 0, 0.0
        for step, seconds, rate in rows:
            assert seconds >= before[1]
            spent = seconds - before[1]
            assert (step - before[0]) / (spent + 0.001) < rate < (step - before[0]) / max(spent - 0.001, 1e-9)
            before = step, seconds


def test_a_start_says_where_and_how(cut):
    run, command = cut
    for variant in VARIANTS:
        (start,) = starts(run / variant)
        assert list(start) == [
            "started", "step", "command", "device", "cpu", "memory_bytes", "os", "versions", "commit", "dirty",
        ]  # fmt: skip
        assert start["step"] == 0
        assert shlex.split(start["command"]) == ["teen", *command]
        assert start["device"] == {"platform": "cpu", "kind": jax.devices()[0].device_kind, "count": 1}
        assert start["cpu"]["cores"] >= 1
        assert start["cpu"]["model"]
        assert start["memory_bytes"] > 2**28
        assert start["os"].startswith(platform.system())
        assert start["versions"] == versions()
        began = datetime.fromisoformat(start["started"])
        assert timedelta() <= datetime.now(UTC) - began < timedelta(hours=2)
        said = json.dumps({name: fact for name, fact in start.items() if name != "command"})
        assert str(Path.home()) not in said
        assert str(machine.CHECKOUT) not in said


def test_a_resume_adds_to_both_and_all_else_is_as_if_there_had_been_no_stop(cut, tmp_path):
    run, _ = cut
    whole = tmp_path / "whole"
    assert cli.main(["train", *FLAGS.split(), "--steps", "300", "--out", str(whole)]) == 0
    before = times(run / VARIANTS[0])
    with (run / VARIANTS[1] / "timing.csv").open("w") as file:
        file.write("damaged\n")
    (run / VARIANTS[1] / "machine.json").unlink()
    assert teen.resume(run, steps=300, show=False).step == 300
    rows = times(run / VARIANTS[0])
    assert rows[:4] == before
    assert [step for step, *_ in rows] == [50, 70, 100, 130, 140, 150, 200, 210, 250, 280, 300]
    assert times(run / VARIANTS[1]) == rows[4:]  # its clock is that of the other
    assert all(one[1] <= other[1] for one, other in pairwise(rows))
    assert [(start["step"], start["command"]) for start in starts(run / VARIANTS[0])][1:] == [(130, "python")]
    assert [start["step"] for start in starts(run / VARIANTS[1])] == [130]
    for variant in VARIANTS:
        assert (run / variant / "train.csv").read_bytes() == (whole / variant / "train.csv").read_bytes()


def test_the_same_twice_is_the_same_but_for_these_two(tmp_path):
    settings = {"seeds": 1, "steps": 60, "warmup": 20, "eval_every": 60, "log_every": 20, "width": 8, "batch": 16}
    for name in ("one", "two"):
        teen.train("td3", "tests.toys:Counter-v0", out=tmp_path / name, show=False, **settings)
    one, two = (same_in_every_run(tmp_path / name) for name in ("one", "two"))
    assert one == two
    assert {"eval.csv", "train.csv", "config.toml", "curve.png", "agent/agent.json"} < one.keys()
    assert not {"timing.csv", "machine.json"} & one.keys()
    assert starts(tmp_path / "one")[0]["command"] == "python"
    # Without checkpoints, too, the end has a row.
    teen.train("td3", "tests.toys:Counter-v0", out=tmp_path / "none", show=False, checkpoint_every=0, **settings)
    assert [step for step, *_ in times(tmp_path / "none")] == [20, 40, 60]


def test_time_between_a_stop_and_a_resume_does_not_count(monkeypatch):
    now = [1000.0]
    monkeypatch.setattr(timing.time, "monotonic", lambda: now[0])
    first = Timing()
    now[0] += 4
    assert first.mark(100) == (100, 4.0, 25.0)
    now[0] += 2
    assert first.mark(100) is None
    assert first.mark(130) == (130, 6.0, 15.0)
    now[0] += 86_400
    later = Timing(130, 6.0)
    now[0] += 5
    assert later.mark(140) == (140, 11.0, 2.0)


def git(checkout, *arguments):
    who = ["-c", "user.name=somebody", "-c", "user.email=nobody@example.org", "-c", "commit.gpgsign=false"]
    done = subprocess.run(["git", "-C", checkout, *who, *arguments], check=True, capture_output=True, text=True)
    return done.stdout.strip()


@pytest.fixture
def checkout(tmp_path):
    """A repository with the package in it, of one commit."""
    (tmp_path / "src" / "teen").mkdir(parents=True)
    (tmp_path / "src" / "teen" / "code.py").write_text("x = 1\n")
    (tmp_path / "notes").write_text("note\n")
    git(tmp_path, "init", "--quiet")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "--quiet", "-m", "first")
    return tmp_path


def test_the_commit_of_a_checkout_and_whether_its_code_is_changed(checkout, monkeypatch):
    commit = git(checkout, "rev-parse", "HEAD")
    monkeypatch.setenv("GIT_DIR", "/nowhere")  # as in a hook of another repository
    assert machine.source(checkout) == {"commit": commit, "dirty": False}
    (checkout / "notes").write_text("another\n")
    assert machine.source(checkout)["dirty"] is False
    (checkout / "src" / "teen" / "code.py").write_text("x = 2\n")
    before = (checkout / ".git" / "index").read_bytes()
    assert machine.source(checkout) == {"commit": commit, "dirty": True}
    assert (checkout / ".git" / "index").read_bytes() == before


def test_without_git_or_a_repository_there_is_no_commit(checkout, tmp_path, monkeypatch):
    nothing = {"commit": None, "dirty": None}
    assert machine.source(tmp_path / "elsewhere") == nothing
    monkeypatch.setenv("PATH", str(tmp_path / "empty"))
    assert machine.source(checkout) == nothing
    monkeypatch.undo()
    (checkout / ".git" / "HEAD").write_text("nonsense")
    assert machine.source(checkout) == nothing


def test_a_git_that_hangs_is_not_waited_for(checkout, tmp_path, monkeypatch):
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "git").write_text("#!/bin/sh\nexec sleep 60\n")
    (tmp_path / "bin" / "git").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:/usr/bin:/bin")
    monkeypatch.setattr(machine, "PATIENCE", 0.2)
    assert machine.source(checkout) == {"commit": None, "dirty": None}


def test_the_paper_says_its_own_command(tmp_path, monkeypatch):
    """Its runs are not begun by `teen train`."""
    commands = []

    def run(job, out, show=True, command=machine.PYTHON):
        commands.append(command)
        raise teen.UserError("enough")

    monkeypatch.setattr(training, "train_job", run)
    arguments = ["paper", "ablation-alpha", "--smoke", "--run", "--out", str(tmp_path)]
    cli.main(arguments)
    assert set(commands) == {shlex.join(["teen", *arguments])}
