"""Checkpoints are written while training goes on, and hold what they would have held had it waited."""

import errno
import os
import threading
import weakref
from collections import Counter

import numpy as np
import pytest

from teen.cli import main as cli
from teen.disk import checkpoint
from teen.disk.manifest import folder_name
from teen.snapshot import Snapshot
from teen.training import keeper as keeping
from teen.training.keeper import CheckpointKeeper
from teen.training.recorder import Recorder
from tests.training.survival import CHUNK, EVERY, STEPS, TRAIN, assert_same_end, in_the_foreground, newest, trained

LONG = 60  # seconds until a test gives up


def no_thread_is_left():
    return not [thread for thread in threading.enumerate() if thread.name.startswith("checkpoint")]


class Saves:
    """Watches the saves of a run, and keeps a copy of their files."""

    def __init__(self, monkeypatch, run):
        self.run, self.count, self.files = run, 0, {}
        monkeypatch.setattr(checkpoint, "reached", self.reached)

    def reached(self, place):
        if place == "rows written":
            self.count += 1
        elif place == "checkpoint renamed":
            step = min(self.count * EVERY, STEPS)
            paths = [*(self.run / "checkpoint" / folder_name(step)).iterdir()]
            paths += self.run.glob(f"checkpoint/rows-*-{step:012}.safetensors")
            self.files[step] = {path.name: path.read_bytes() for path in paths}


def beside_training(monkeypatch):
    """Hold every save at its beginning until training has gone on for two chunks, or to its end."""
    stepped, sync, moved, steps, saves = Recorder.stepped, Recorder.sync, threading.Condition(), [0], [0]

    def watched(self, step):
        stepped(self, step)
        with moved:
            steps.append(step)
            moved.notify_all()

    def held(self):
        saves[0] += 1
        until = min(saves[0] * EVERY + 2 * CHUNK, STEPS)
        with moved:
            assert moved.wait_for(lambda: steps[-1] >= until, LONG), "training waited for the checkpoint"
        sync(self)

    monkeypatch.setattr(Recorder, "stepped", watched)
    monkeypatch.setattr(Recorder, "sync", held)


@pytest.mark.parametrize("replay", ["device", pytest.param("host", marks=pytest.mark.full)])
def test_training_does_not_change_what_is_being_written(replay, tmp_path):
    """To the byte, in every file of every save. On a CPU snapshots are views of what the next update overwrites."""
    command = [*TRAIN, "--eval-every", str(STEPS), "--replay", replay]  # what is due would depend on the time
    files = []
    for how in (beside_training, in_the_foreground):
        with pytest.MonkeyPatch.context() as patch:
            how(patch)
            saves = Saves(patch, tmp_path / how.__name__)
            assert cli.main([*command, "--out", str(saves.run)]) == 0
            files.append(saves.files)
    assert sorted(files[0]) == [*range(EVERY, STEPS, EVERY), STEPS]
    assert all(len(names) == 3 for names in files[0].values())  # manifest, state, new rows
    assert files[0] == files[1]
    assert no_thread_is_left()


def test_rows_that_could_not_be_written_come_with_the_next_checkpoint(reference, tmp_path, monkeypatch, capsys):
    """The fourth save fails when training is two chunks further: a notice, and the same end."""
    beside_training(monkeypatch)
    saves = Saves(monkeypatch, tmp_path / "run")

    def reached(place):
        saves.reached(place)
        if place == "state written" and saves.count == 4:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(checkpoint, "reached", reached)
    trained(tmp_path / "run")
    (line,) = [line for line in capsys.readouterr().err.splitlines() if line.startswith("notice: ")]
    assert line.startswith(f"notice: the checkpoint of step {4 * EVERY} could not be written: No space left on device;")
    assert f"of step {3 * EVERY} is whole" in line
    assert f"rows-{3 * EVERY:012}-{5 * EVERY:012}.safetensors" in saves.files[5 * EVERY]
    assert_same_end(tmp_path / "run", reference)
    assert no_thread_is_left()


def test_a_fault_names_the_checkpoint_that_was_under_way(tmp_path, monkeypatch, capsys):
    """The environments fail at step 25 of an episode, in the middle of a save that ends later."""
    run, failed = tmp_path / "run", threading.Event()
    monkeypatch.setattr(checkpoint, "reached", lambda place: failed.wait(LONG))
    original = CheckpointKeeper.close
    monkeypatch.setattr(CheckpointKeeper, "close", lambda self: (failed.set(), original(self)))
    command = [*TRAIN, "--env", "tests.toys:Faulty-raises-v0", "--checkpoint-every", "20", "--out", str(run)]
    assert cli.main(command) == 3
    assert "the checkpoint of step 20 is whole" in capsys.readouterr().err
    assert newest(run).step == 20
    assert no_thread_is_left()


def test_an_error_in_the_thread_ends_the_run(tmp_path, monkeypatch):
    places = Counter()

    def reached(place):
        places[place] += 1
        if places["state written"] == 3:
            raise ZeroDivisionError("a mistake")

    monkeypatch.setattr(checkpoint, "reached", reached)
    with pytest.raises(ZeroDivisionError, match="a mistake"):
        cli.main([*TRAIN, "--out", str(tmp_path / "run")])
    assert newest(tmp_path / "run").step == 2 * EVERY
    assert places["rows written"] == 3
    assert no_thread_is_left()


def test_more_rows_than_memory_should_hold_twice_are_written_while_training_waits(reference, tmp_path, monkeypatch):
    written_by, original = [], CheckpointKeeper._write

    def write(self, *args):
        written_by.append(threading.current_thread())
        original(self, *args)

    monkeypatch.setattr(keeping, "MOST_COPIED", EVERY - 1)
    monkeypatch.setattr(CheckpointKeeper, "_write", write)
    trained(tmp_path / "run")
    assert set(written_by[:-1]) == {threading.main_thread()}  # the last one has the rows of ten steps
    assert_same_end(tmp_path / "run", reference)


# The keeper alone


class Writer:
    """Notes what happens, and is slow if told to be."""

    def __init__(self, error=None):
        self.newest, self.error, self.events = None, error, []
        self.may_end = threading.Event()

    def first_missing(self, step):
        return self.newest or 0

    def save(self, step, snapshot, rows):
        self.events.append(f"save {step}")
        assert self.may_end.wait(LONG)
        if self.error:
            raise self.error
        self.rows = [np.array(block) for _, block in rows(0, step)]
        self.newest = step
        self.events.append(f"saved {step}")


class Logs:
    def snapshot(self):
        return Snapshot({}, {})

    def sync(self):
        pass


def asked(writer, keeper, step, block=None):
    def rows(first, last):
        writer.events.append(f"copy {first} to {last}")
        yield first, np.zeros((1, last - first, 2)) if block is None else block

    keeper(step, Snapshot({}, {}), rows)


def test_a_second_checkpoint_waits_for_the_first():
    """It copies the rows that the first one has not written, and this is known only then."""
    writer = Writer()
    keeper = CheckpointKeeper(writer, Logs(), {})
    asked(writer, keeper, 10)
    second = threading.Thread(target=asked, args=(writer, keeper, 20))
    second.start()
    second.join(0.3)
    assert second.is_alive()
    writer.may_end.set()
    second.join(LONG)
    assert keeper.written() == 20
    assert writer.events == ["copy 0 to 10", "save 10", "saved 10", "copy 10 to 20", "save 20", "saved 20"]


@pytest.mark.parametrize("ask", ["written", "close", "the next"])
def test_an_error_reaches_whoever_comes_next(ask):
    writer = Writer(error=ValueError("a mistake"))
    writer.may_end.set()
    keeper = CheckpointKeeper(writer, Logs(), {})
    asked(writer, keeper, 10)
    with pytest.raises(ValueError, match="a mistake"):
        asked(writer, keeper, 20) if ask == "the next" else getattr(keeper, ask)()
    assert keeper.written() is None  # told once
    assert writer.events == ["copy 0 to 10", "save 10"]


def test_a_copy_is_taken_and_freed_once_it_is_written():
    writer, block, kept = Writer(), np.ones((1, 10, 2)), []
    keeper = CheckpointKeeper(writer, Logs(), {})
    original = writer.save

    def save(step, snapshot, rows):
        kept.extend(weakref.ref(array) for _, array in rows(0, step))
        original(step, snapshot, rows)

    writer.save = save
    asked(writer, keeper, 10, block)
    block[:] = 2
    writer.may_end.set()
    assert keeper._writing is not None
    keeper._writing.join()  # nobody has asked for the result yet
    np.testing.assert_array_equal(writer.rows, np.ones((1, 1, 10, 2)))
    assert [array() for array in kept] == [None]
