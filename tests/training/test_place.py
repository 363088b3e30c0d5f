"""The place where a run writes: nobody else's folder is touched, and nothing is changed before all has been checked."""

import os
import shutil
import signal
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from teen.cli import main as cli
from teen.config.run import RunSettings
from teen.disk import folder
from teen.disk.lock import locked
from teen.engine import evaluate, worker
from teen.training import recorder as recording
from teen.training.keeper import CheckpointKeeper
from teen.training.recorder import Recorder
from tests import toys
from tests.disk.test_forgery import Forged
from tests.training.survival import TRAIN, assert_same_end, in_the_foreground, stopped_by


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize("moment", ["trained", "evaluated", "snapshot"])
def test_a_run_whose_folder_was_replaced_stops_and_writes_nothing_more(tmp_path, monkeypatch, capsys, moment):
    """Both would write there, each into the other's logs. A save that has begun is waited for: it would be copied half
    written."""
    in_the_foreground(monkeypatch)
    run, original, theirs = tmp_path / "run", getattr(Recorder, moment), {}

    def replaced(self, *args):
        if run.exists() and not theirs:
            run.rename(tmp_path / "moved")
            shutil.copytree(tmp_path / "moved", run)  # as if another run had come as far
            theirs.update(contents(run), moved=contents(tmp_path / "moved"))
        return original(self, *args)

    monkeypatch.setattr(Recorder, moment, replaced)
    assert cli.main([*TRAIN, "--out", str(run)]) == 5
    assert f"teen: {run} is no longer the folder that this run locked" in capsys.readouterr().err
    moved = theirs.pop("moved")
    assert contents(run) == theirs
    assert contents(tmp_path / "moved") == moved


def test_a_run_that_was_moved_goes_on_where_it_is(tmp_path, monkeypatch, reference):
    run, saves = tmp_path / "run", []
    original = CheckpointKeeper._write

    def moved(self, *args):
        saves.append(original(self, *args))
        if len(saves) == 2:
            run.rename(tmp_path / "moved")

    with monkeypatch.context() as patch:
        patch.setattr(CheckpointKeeper, "_write", moved)
        assert cli.main([*TRAIN, "--out", str(run)]) == 5
    assert not run.exists()
    (tmp_path / "moved" / "lock").unlink()  # that of the run that moved: it was not there to remove it
    assert cli.main(["train", "--resume", str(tmp_path / "moved")]) == 0
    assert_same_end(tmp_path / "moved", reference)


@pytest.fixture(scope="module")
def two(tmp_path_factory):
    """Return a program with two variants, stopped between checkpoints: its logs are longer than they say."""
    run = tmp_path_factory.mktemp("two") / "run"
    with stopped_by(signal.SIGTERM, Recorder, "stepped", 13):
        assert cli.main([*TRAIN, "--gamma", "0.9,0.95", "--out", str(run)]) == 143
    for name in ("gamma=0.9", "gamma=0.95"):
        with (run / name / "eval.csv").open("a") as log:
            log.write("0,999,mean,0,1.0,40\n")
    return run


def cut_log(run: Path) -> None:
    os.truncate(run / "gamma=0.95" / "eval.csv", 20)


def damage_diagnosis(run: Path) -> None:
    (run / "gamma=0.95" / "diagnostics.csv").write_text("seed,step,quantity,value\n0,1\n")


def link_log(run: Path) -> None:
    (run / "gamma=0.95" / "train.csv").rename(run / "elsewhere")
    (run / "gamma=0.95" / "train.csv").symlink_to("../elsewhere")


def drop_parameter(run: Path) -> None:
    shutil.rmtree(min(run.glob("checkpoint/step-*"))) if len(list(run.glob("checkpoint/step-*"))) > 1 else None
    forged = Forged(run)
    del forged.arrays[next(name for name in forged.arrays if "actor" in name)]
    forged.sign_arrays()


def other_setting(run: Path) -> None:
    config = run / "gamma=0.95" / "config.toml"
    config.write_text(config.read_text().replace("gamma = 0.95", "gamma = 0.5"))


@pytest.mark.parametrize("spoil", [cut_log, damage_diagnosis, link_log, drop_parameter, other_setting])
def test_a_resume_that_is_refused_changes_nothing(two, tmp_path, spoil, capsys):
    """In no variant: the first one's logs used to be cut before the second one's were looked at."""
    run = shutil.copytree(two, tmp_path / "run")
    spoil(run)
    before = contents(run)
    assert cli.main(["train", "--resume", str(run)]) == 2
    assert capsys.readouterr().err.splitlines()[-1].startswith("teen: ")
    assert contents(run) == before


def test_processes_that_start_together_get_a_folder_each(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    settings, together = RunSettings(algo="td3", env="Pendulum-v1"), threading.Barrier(8)

    def claim(_):
        together.wait()
        return folder.claim(settings)

    with ThreadPoolExecutor(8) as pool:
        claimed = list(pool.map(claim, range(8)))
    assert {str(path) for path in claimed} == {f"runs/td3-Pendulum-v1-{k}" for k in range(1, 9)}
    assert all(path.is_dir() for path in claimed)


def test_a_run_that_fails_before_its_first_file_leaves_no_folder(tmp_path, monkeypatch, capsys):
    def broken(self, *, seed=None, options=None):
        raise RuntimeError("no simulator")

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(toys.PointMass, "reset", broken)
    assert cli.main(TRAIN) == 3
    assert "reset raised RuntimeError: no simulator" in capsys.readouterr().err
    assert list((tmp_path / "runs").iterdir()) == []


def test_a_run_that_began_and_ended_there_meanwhile_is_kept(tmp_path, capsys, monkeypatch):
    """The folder was free when it was looked at; the lock is free again."""
    run = tmp_path / "run"
    original = folder.check_free

    def late(out, **options):
        original(out, **options)
        if not run.exists():
            with locked(run):
                (run / "eval.csv").write_text("theirs")

    monkeypatch.setattr(folder, "check_free", late)
    assert cli.main([*TRAIN, "--out", str(run)]) == 2
    assert "exists already" in capsys.readouterr().err
    assert (run / "eval.csv").read_text() == "theirs"


def test_a_log_that_cannot_be_written_leaves_no_thread_behind(tmp_path, monkeypatch, capsys):
    """A thread that still evaluates when Python exits can crash it (SIGABRT instead of exit code 5)."""
    evaluating = threading.Event()
    original = evaluate.rollout

    def rollout(envs, policy, seeds, starts, lanes, wanted):
        evaluating.set()
        while wanted():
            threading.Event().wait(0.01)
        return original(envs, policy, seeds, starts, lanes, wanted)

    def full(self, *args):
        evaluating.wait(60)
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(evaluate, "rollout", rollout)
    monkeypatch.setattr(recording.RunFolder, "log_training", full)
    assert cli.main([*TRAIN, "--checkpoint-every", "0", "--log-every", "110", "--out", str(tmp_path / "run")]) == 5
    assert evaluating.is_set()
    assert [thread.name for thread in threading.enumerate() if "evaluation" in thread.name] == []
    line = capsys.readouterr().err.splitlines()[-1]
    assert line == f"teen: {tmp_path / 'run'} cannot be written: No space left on device; there is no checkpoint yet"


@pytest.fixture
def heeded():
    """SIGHUP is not ignored, even if these tests run under nohup."""
    previous = signal.signal(signal.SIGHUP, signal.SIG_DFL)
    yield
    signal.signal(signal.SIGHUP, previous)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_run_that_is_stopped_before_its_first_step_can_go_on(tmp_path, number, reference, capsys, heeded):
    run = tmp_path / "run"
    with stopped_by(number, Recorder, "begin", 1):
        assert cli.main([*TRAIN, "--out", str(run)]) == 128 + number
    assert "stopped before the first step" in capsys.readouterr().err
    assert cli.main(["train", "--resume", str(run)]) == 0
    assert_same_end(run, reference)


def test_a_terminal_that_closes_sends_more_than_one_signal(tmp_path, heeded):
    """The shell sends one, the system another."""
    run = tmp_path / "run"
    with stopped_by(signal.SIGHUP, Recorder, "stepped", 3), stopped_by(signal.SIGHUP, Recorder, "snapshot", 1):
        assert cli.main([*TRAIN, "--out", str(run)]) == 129
    assert (run / "agent" / "agent.json").exists()


def test_nohup_is_respected(tmp_path):
    previous = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with stopped_by(signal.SIGHUP, Recorder, "stepped", 3):
            assert cli.main([*TRAIN, "--out", str(tmp_path / "run")]) == 0
    finally:
        signal.signal(signal.SIGHUP, previous)


def test_other_cores_are_noticed(stopped, tmp_path, monkeypatch, capsys):
    """XLA splits sums by the number of cores, which changes their last bits."""
    run = shutil.copytree(stopped, tmp_path / "run")
    monkeypatch.setattr("teen.training.run.cores", lambda: 3)
    assert cli.main(["train", "--resume", str(run)]) == 0
    err = capsys.readouterr().err
    assert f"notice: made on {worker.cores()} cores, and here are 3: it goes on, but not bit for bit" in err


@pytest.mark.parametrize("harm", [Path.unlink, lambda path: os.truncate(path, 0)], ids=["deleted", "emptied"])
def test_a_log_that_vanishes_while_training_comes_back_with_its_columns(tmp_path, monkeypatch, harm):
    run, original = tmp_path / "run", Recorder.evaluated
    harmed = []

    def evaluated(self, step, episodes):
        if step == 200 and not harmed:
            harmed.append(harm(run / "eval.csv"))
        original(self, step, episodes)

    monkeypatch.setattr(Recorder, "evaluated", evaluated)
    assert cli.main([*TRAIN, "--out", str(run)]) == 0
    lines = (run / "eval.csv").read_text().splitlines()
    assert lines[0] == "seed,step,policy,episode,return,length"
    assert {line.split(",")[1] for line in lines[1:]} == {"200", "300", "310"}
