"""A run outlives the death of its process, a full disk, requests to stop and a second process in its folder: it goes on
and ends as if nothing had happened."""

import os
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

from teen.cli import main as cli
from teen.disk import checkpoint, logs
from teen.engine.trainer import Trainer
from teen.errors import UserError
from teen.measure import diagnose
from teen.training import run as training
from teen.training.recorder import Recorder
from tests.training.survival import (
    A_MOMENT,
    A_STEP,
    CHUNK,
    EVERY,
    PLACES,
    STEPS,
    TRAIN,
    WARMUP,
    assert_same_end,
    in_the_foreground,
    newest,
    start,
    stopped_by,
    stopped_in_an_evaluation,
    trained,
)

SAVES = -(-STEPS // EVERY)  # checkpoints of a whole run; the last one comes early


def resumed(run: Path) -> None:
    assert cli.main(["train", "--resume", str(run)]) == 0


# Death


class Moment(NamedTuple):
    place: str
    number: float

    @classmethod
    def random(cls, place: str, rng: np.random.Generator) -> "Moment":
        if place == A_MOMENT:
            return cls(place, round(rng.uniform(0, 4), 2))
        return cls(place, int(rng.integers(1, STEPS // CHUNK + 1) if place == A_STEP else rng.integers(2, SAVES + 1)))

    @property
    def kept(self) -> range:
        """Of which step the newest whole checkpoint may be at this moment; 0: there is none."""
        every = range(0, STEPS + 1)
        if self.place == A_STEP:  # a checkpoint of the same step would come just after; the last one may be under way
            newest = int(self.number * CHUNK - 1) // EVERY * EVERY
            return every[max(0, newest - EVERY) : newest + 1 : EVERY]
        if self.place in (A_MOMENT, "pruned one"):
            return every
        whole = self.number if self.place == "checkpoint renamed" else self.number - 1
        newest = min(int(whole) * EVERY, STEPS)
        return every[newest : newest + 1]


def moments() -> list[Moment]:
    """Twenty: of every place in a save, of steps, and of the clock. The first four come up on every change."""
    rng = np.random.default_rng(18)
    often = ["manifest written", A_STEP, "rows renamed", A_MOMENT]
    others = [*PLACES, *PLACES[:4], A_STEP, A_STEP, A_STEP, A_STEP, A_MOMENT, A_MOMENT]
    return [Moment.random(place, rng) for place in often + others]


@pytest.mark.parametrize(
    "moment",
    [
        pytest.param(m, marks=() if i < 2 else pytest.mark.full, id=f"{m.place} {m.number}")
        for i, m in enumerate(moments())
    ],
)
def test_a_run_killed_at_any_moment_goes_on_to_the_same_end(moment, reference, tmp_path):
    run = tmp_path / "run"
    child = start("die", *moment, [*TRAIN, "--out", str(run)])
    _, errors = child.communicate(timeout=300)
    assert child.returncode == -signal.SIGKILL, errors
    if not list(run.glob("checkpoint/step-" + "[0-9]" * 12)):  # it died before it had kept anything
        assert 0 in moment.kept
        with pytest.raises(UserError, match="there is no checkpoint"):
            training.resume(run, show=False)
        return
    assert newest(run).step in moment.kept
    assert newest(run).damaged == []
    assert training.resume(run, show=False).step == STEPS
    assert_same_end(run, reference)


@pytest.mark.parametrize("place", ["manifest written", *(pytest.param(p, marks=pytest.mark.full) for p in PLACES[:3])])
def test_a_run_killed_while_it_trains_beside_a_save_goes_on_to_the_same_end(place, reference, tmp_path):
    """The kill comes two chunks after the checkpoint was taken, and finds it half written."""
    run = tmp_path / "run"
    child = start("later", place, 4, [*TRAIN, "--out", str(run)])
    _, errors = child.communicate(timeout=300)
    assert child.returncode == -signal.SIGKILL, errors
    assert newest(run).step == 3 * EVERY
    assert training.resume(run, show=False).step == STEPS
    assert_same_end(run, reference)


def test_a_run_killed_before_its_first_checkpoint_was_whole_has_none(tmp_path, capsys):
    run = tmp_path / "run"
    child = start("die", "manifest written", 1, [*TRAIN, "--out", str(run)])
    child.communicate(timeout=300)
    assert child.returncode == -signal.SIGKILL
    assert cli.main(["train", "--resume", str(run)]) == 2
    assert "there is no checkpoint" in capsys.readouterr().err


@pytest.mark.full
def test_a_run_may_die_again_and_again(reference, tmp_path):
    """The second death meets the first one's leftovers in the same save."""
    run = tmp_path / "run"
    arguments = [*TRAIN, "--out", str(run)]
    for place, number, kept in [
        ("state written", 3, 60),
        ("manifest written", 1, 60),
        ("pruned one", 1, 90),
        ("rows written", 4, 180),
    ]:
        child = start("die", place, number, arguments)
        child.communicate(timeout=300)
        assert child.returncode == -signal.SIGKILL
        assert newest(run).step == kept
        arguments = ["train", "--resume", str(run)]
    resumed(run)
    assert_same_end(run, reference)


# Requests to stop


@pytest.mark.parametrize(
    ("number", "code", "patched", "name", "count", "steps"),
    [
        (signal.SIGTERM, 143, Trainer, "_learn", 6, [WARMUP + 6 * CHUNK]),
        (signal.SIGINT, 130, Trainer, "_learn", 13, [WARMUP + 13 * CHUNK]),
        # The first two saves call it five times each; training goes on beside the third, until the fourth.
        (signal.SIGTERM, 143, checkpoint, "reached", 11, range(3 * EVERY, 4 * EVERY + 1, CHUNK)),
    ],
    ids=["in an update", "ctrl-c in an update", "in a save"],
)
def test_a_request_to_stop_leaves_a_checkpoint_of_that_step(
    number, code, patched, name, count, steps, reference, tmp_path, capsys
):
    run = tmp_path / "run"
    with stopped_by(number, patched, name, count):
        assert cli.main([*TRAIN, "--out", str(run)]) == code
    errors, step = capsys.readouterr().err, newest(run).step
    assert step in steps
    assert f"stopped after {step} steps" in errors
    assert f"teen train --resume {run}" in errors
    resumed(run)
    assert_same_end(run, reference)


def test_an_evaluation_that_was_stopped_begins_again(reference, tmp_path, capsys):
    run = tmp_path / "run"
    with stopped_in_an_evaluation(2):
        assert cli.main([*TRAIN, "--out", str(run)]) == 143
    assert f"teen train --resume {run}" in capsys.readouterr().err
    saved = newest(run)
    assert saved.step in (200, 210)  # whether the signal comes before or after the loop looks for it
    assert [due["step"] for due in saved.snapshot.facts["engine"]["evaluator"].values()] == [200]
    assert {line.split(",")[1] for line in (run / "eval.csv").read_text().splitlines()[1:]} == {"100"}
    resumed(run)
    assert_same_end(run, reference)


@pytest.mark.parametrize("diagnosis", [1, 2])
def test_a_diagnosis_that_was_stopped_begins_again(diagnosis, tmp_path, monkeypatch):
    """SIGTERM comes 50 steps after it began: evaluations have gone on, and it has not ended."""
    command, calls, original = [*TRAIN, "--diagnose-every", "100", "--diagnose-episodes", "1"], [], diagnose.diagnose

    def slow(*args, wanted, **options):
        calls.append(args)
        while len(calls) == diagnosis and wanted():
            time.sleep(0.01)
        return original(*args, wanted=wanted, **options)

    run, whole, step = tmp_path / "run", tmp_path / "whole", 100 * diagnosis
    with monkeypatch.context() as patch, stopped_by(signal.SIGTERM, Recorder, "stepped", (step + 50) // CHUNK):
        patch.setattr(diagnose, "diagnose", slow)
        assert cli.main([*command, "--out", str(run)]) == 143
    assert [due["step"] for due in newest(run).snapshot.facts["engine"]["diagnoser"].values()] == [step]
    resumed(run)
    assert cli.main([*command, "--out", str(whole)]) == 0
    assert_same_end(run, whole)
    rows = (whole / "diagnostics.csv").read_text().splitlines()[1:]
    assert {row.split(",")[1] for row in rows} == {"100", "200", "300", str(STEPS)}
    for name in logs.REPLACED:
        if (whole / name).exists():
            assert (run / name).read_bytes() == (whole / name).read_bytes(), name


# A full disk


@pytest.fixture
def disk(tmp_path):
    """A disk of one megabyte."""
    path = tmp_path / "disk"
    path.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(path)]
    try:
        mounted = subprocess.run(command, capture_output=True, text=True)
    except FileNotFoundError:
        pytest.skip("there is no mount command here")
    if mounted.returncode:
        pytest.skip(f"mounting a small disk is not permitted here: {mounted.stderr.strip()}")
    yield path
    subprocess.run(["umount", "-l", str(path)], check=True)


def fill(disk: Path) -> None:
    with (disk / "filler").open("wb", buffering=0) as file, suppress(OSError):
        while True:
            file.write(bytes(4096))
    assert shutil.disk_usage(disk).free == 0


def test_a_diagnosis_for_a_disk_that_cannot_be_written_is_not_even_begun(reference, disk, capsys):
    shutil.copytree(reference, disk / "run", ignore=shutil.ignore_patterns("checkpoint", "*.png"))
    subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
    assert cli.main(["analyze", str(disk / "run")]) == 2
    assert capsys.readouterr().err == (
        f"teen: {disk / 'run'} cannot be written, and a diagnosis belongs there: copy the run elsewhere\n"
    )


class FillingUp:
    """The disk is full from the middle of a save on, for good or until the save has been given up."""

    def __init__(self, disk: Path, save: int, for_good: bool):
        self.disk, self.save, self.for_good = disk, save, for_good
        self.passed: Counter[str] = Counter()
        self.kept_meanwhile = 0

    def reached(self, place: str) -> None:
        self.passed[place] += 1
        if place == "rows renamed" and self.passed[place] == self.save:
            fill(self.disk)
        elif place == "pruned one" and (self.disk / "filler").exists() and not self.for_good:
            self.kept_meanwhile = newest(self.disk / "run").step
            (self.disk / "filler").unlink()


def told(capsys) -> list[str]:
    """What standard error says beside where the replay is. There is never a traceback."""
    lines = [line for line in capsys.readouterr().err.splitlines() if not line.startswith("replay: ")]
    assert all(line.startswith(("notice: ", "teen: ")) for line in lines)
    return lines


def test_training_goes_on_past_a_checkpoint_for_which_there_is_no_room(disk, reference, monkeypatch, capsys):
    hook = FillingUp(disk, 4, for_good=False)
    in_the_foreground(monkeypatch)  # else a log may find the disk full, which ends the run
    monkeypatch.setattr(checkpoint, "reached", hook.reached)
    trained(disk / "run")
    (line,) = told(capsys)
    assert line.startswith(f"notice: the checkpoint of step {4 * EVERY} could not be written: No space left on device;")
    assert f"of step {3 * EVERY} is whole" in line
    assert hook.kept_meanwhile == 3 * EVERY
    assert_same_end(disk / "run", reference)


def test_a_last_checkpoint_for_which_there_is_no_room_is_told_by_the_exit_code(disk, reference, monkeypatch, capsys):
    run = disk / "run"
    hook = FillingUp(disk, SAVES, for_good=False)
    monkeypatch.setattr(checkpoint, "reached", hook.reached)
    assert cli.main([*TRAIN, "--out", str(run)]) == 5
    before = EVERY * (SAVES - 1)
    notice, last = told(capsys)
    assert last == notice.replace("notice: ", "teen: ")
    assert f"the checkpoint of step {STEPS} could not be written" in last
    assert f"of step {before} is whole" in last
    assert f"teen train --resume {run} goes on" in last
    assert newest(run).step == hook.kept_meanwhile == before
    assert (run / "agent" / "weights.safetensors").exists()
    resumed(run)
    assert_same_end(run, reference)


def test_a_disk_that_stays_full_ends_a_run_in_one_line(disk, reference, monkeypatch, capsys):
    run = disk / "run"
    monkeypatch.setattr(checkpoint, "reached", FillingUp(disk, 4, for_good=True).reached)
    assert cli.main([*TRAIN, "--out", str(run)]) == 5
    *notices, last = told(capsys)
    assert all("No space left on device" in line for line in (*notices, last))
    assert last.startswith("teen: ")
    assert all(line.startswith("notice: ") for line in notices)
    assert newest(run).step == 3 * EVERY
    (disk / "filler").unlink()
    resumed(run)
    assert_same_end(run, reference)


def test_a_run_that_finds_the_disk_full_begins_once_there_is_room(disk, reference, capsys):
    (disk / "run").mkdir()
    fill(disk)
    assert cli.main([*TRAIN, "--out", str(disk / "run")]) == 2
    (line,) = told(capsys)
    assert "cannot be written: No space left on device" in line
    (disk / "filler").unlink()
    trained(disk / "run")
    assert_same_end(disk / "run", reference)


# Two processes


def contents(run: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in run.rglob("*") if path.is_file()}


def test_a_second_process_is_kept_out_until_the_first_is_killed(reference, tmp_path, capsys):
    run = tmp_path / "run"
    child = start("wait", A_STEP, 15, [*TRAIN, "--out", str(run)])
    try:
        assert "waiting\n" in child.stdout  # reads on until then
        before = contents(run)
        assert cli.main(["train", "--resume", str(run)]) == 2
        (line,) = told(capsys)
        assert f"process {child.pid}" in line
        assert contents(run) == before
    finally:
        child.kill()
        child.communicate(timeout=60)
    assert (run / "lock").read_text() == f"{child.pid}\n"
    assert newest(run).step == 120
    resumed(run)
    assert_same_end(run, reference)


HOLDING = """
import fcntl, os, sys
file = open(sys.argv[1], "w")
fcntl.flock(file, fcntl.LOCK_EX)
print(os.getpid(), file=file, flush=True)
print("holding", flush=True)
sys.stdin.read()
"""


@pytest.mark.parametrize("used", [False, True], ids=["new", "used"])
def test_nobody_is_told_to_remove_a_folder_where_somebody_trains(used, reference, tmp_path, capsys):
    run = tmp_path / "run"
    shutil.copytree(reference, run) if used else run.mkdir()
    command = [sys.executable, "-c", HOLDING, str(run / "lock")]
    with subprocess.Popen(command, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        assert child.stdout.readline() == "holding\n"
        before = contents(run)
        assert cli.main([*TRAIN, "--out", str(run)]) == 2
        child.stdin.close()
    (line,) = told(capsys)
    assert f"process {child.pid}" in line
    assert contents(run) == before


def test_a_lock_is_no_way_out_of_the_run_folder(reference, tmp_path, capsys):
    elsewhere, run = tmp_path / "elsewhere", tmp_path / "run"
    elsewhere.write_text("keep me")
    run.mkdir()
    os.symlink(elsewhere, run / "lock")
    assert cli.main(["train", "--resume", str(run)]) == 2
    assert len(told(capsys)) == 1
    assert elsewhere.read_text() == "keep me"
