"""Environments that hang: in Python, outside it, with and without its lock, in the main thread and in others."""

import math
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest

from teen import envs
from teen.envs import board, clock, watchdog
from teen.errors import EnvironmentFault
from tests.envs.watching import ROOT, start

LOCKED = "holds Python's lock; logs and the last checkpoint are kept"
TRAIN = (
    "train --algo td3 --width 8 --batch 16 --steps 40 --warmup 10 --eval-every 20 --eval-episodes 4 --log-every 20 "
    "--env-timeout 1 --env tests.toys:Faulty-locks-v1"
)
IMPATIENT = (
    "import sys; from teen.envs import watchdog; watchdog.GRACE = 0.5; from teen.cli.main import main; sys.exit(main())"
)


@pytest.mark.parametrize("where", ["main", "thread", "beside"])
def test_a_hang_that_keeps_pythons_lock_ends_the_process(where):
    """No thread of that process can do anything any more."""
    with start("tests.toys:Faulty-locks-v0", where, "1", "0.5") as process:
        output, error = process.communicate(timeout=120)
    assert process.returncode == 3
    (line,) = error.splitlines()
    assert line.startswith("teen: environment tests.toys:Faulty-locks-v0 hangs in copy 1: ")
    assert "did not return within 1 s" in line
    assert line.endswith(LOCKED)
    assert output == ""


def test_a_full_standard_error_does_not_hold_up_the_end():
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    while True:
        try:
            os.write(writer, bytes(4096))
        except BlockingIOError:
            break
    os.set_blocking(writer, True)
    with start("tests.toys:Faulty-locks-v0", "main", "1", "0.5", stderr=writer) as process:
        assert process.wait(120) == 3
    os.close(writer)
    os.close(reader)


@pytest.mark.parametrize(("seed", "where"), [(3, "training"), (2, "an evaluation")])
def test_the_command_ends_with_exit_code_3(seed, where, tmp_path):
    """Copies with an odd seed lock at once. Of the first evaluation's four start seeds of seed 2, some are odd."""
    out = tmp_path / "run"
    command = [sys.executable, "-c", IMPATIENT, *TRAIN.split(), "--seeds", f"{seed},", "--out", str(out)]
    environment = {**os.environ, "PYTHONPATH": "src"}
    done = subprocess.run(command, cwd=ROOT, env=environment, text=True, capture_output=True, timeout=300, check=False)
    assert done.returncode == 3
    assert done.stderr.splitlines()[-1].endswith(LOCKED), where
    assert (out / "config.toml").exists()


def test_a_hang_that_heeds_signals_is_interrupted_from_outside():
    """A regular expression keeps Python's lock, but looks for signals: the fault is as precise as any other."""
    output, error = start("tests.toys:Faulty-matches-v0", "main", "1", "60").communicate(timeout=120)
    assert output.endswith("failed in lane 1, seed 3, step 25: did not return within 1 s (--env-timeout)\n")
    assert error == ""


def test_time_spent_stopped_does_not_count():
    """Stopped for 8 s in a step of half a second. Steps may take 6 s; the sentinel would end it after 6.5."""
    with (
        start("a step that waits", "main", "6", "0.5") as main,
        start("a step that waits", "thread", "6", "0.5") as other,
    ):
        for process in (main, other):
            assert process.stdout.readline() == "waiting\n"
            process.send_signal(signal.SIGSTOP)
        time.sleep(8)
        for process in (main, other):
            process.stdin.write("x")
            process.stdin.flush()
            process.send_signal(signal.SIGCONT)
        for process in (main, other):
            output, error = process.communicate(timeout=120)
            assert (output, error, process.returncode) == ("went on\n", "", 0)


def children(process: int) -> list[int]:
    return [int(child) for child in Path(f"/proc/{process}/task/{process}/children").read_text().split()]


def surplus_files(sentinel: int, process: int) -> dict[int, str]:
    """Return the open files of a sentinel, but for those that it is given: memory, nothing, and standard error."""
    files = {int(path.name): os.readlink(path) for path in Path(f"/proc/{sentinel}/fd").iterdir()}
    given = "/memfd:teen (deleted)", "/dev/null", os.readlink(f"/proc/{process}/fd/2")
    return {number: file for number, file in files.items() if file not in given}


@pytest.mark.skipif(not os.path.exists("/proc/self/fd"), reason="reads /proc")
def test_the_sentinel_holds_nothing_and_does_not_outlive_its_process():
    with start("a step that waits", "main", "60", "10") as process:
        assert process.stdout.readline() == "waiting\n"
        (sentinel,) = children(process.pid)
        deadline = time.monotonic() + 60  # while it starts it reads its own program
        while surplus_files(sentinel, process.pid) and time.monotonic() < deadline:
            time.sleep(0.1)
        assert surplus_files(sentinel, process.pid) == {}
        assert os.readlink(f"/proc/{sentinel}/cwd") == "/"
        process.kill()
        process.communicate(timeout=60)  # ends when nobody holds standard error any more


class Work:
    """Steps of one lane, the second of which waits for a lock: in a thread, nothing can interrupt that."""

    def __init__(self):
        self.lock, self.steps, self.ended = threading.Lock(), 0, threading.Event()
        self.lanes = envs.Lanes(envs.make("tests.toys:PointMass-v0", 1), [3])
        self.lanes.envs.envs[0].unwrapped.step = self.step
        self.lock.acquire()

    def step(self, action):
        if self.steps == 1:
            self.lock.acquire()
        self.steps += 1
        return np.zeros(1), 0.0, False, False, {}

    def __call__(self):
        try:
            while True:
                self.lanes.step(np.zeros((1, 1)))
        finally:
            self.ended.set()


def in_thread(function):
    """Return what a function returns or raises in a thread."""
    outcome = []

    def run():
        try:
            outcome.append(function())
        except BaseException as error:
            outcome.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join(120)
    return outcome[0]


def test_in_a_thread_a_hang_raises_and_what_hung_does_nothing_afterwards(monkeypatch):
    monkeypatch.setattr(watchdog, "GRACE", 0.5)
    work = Work()
    fault = in_thread(lambda: envs.watched(0.5, [work.lanes.envs], work))
    assert isinstance(fault, EnvironmentFault)
    assert "hangs in lane 0: it did not return within 0.5 s and cannot be interrupted" in str(fault)
    work.lanes.envs.close()  # does not wait for it, nor pull the ground from under it
    work.lock.release()  # the step goes on at last
    assert work.ended.wait(60)
    assert work.steps == 1


def test_in_a_thread_python_is_interrupted(monkeypatch):
    lanes = envs.Lanes(envs.make("tests.toys:Faulty-spins-v0", 2), [2, 3])
    fault = in_thread(
        lambda: envs.watched(0.5, [lanes.envs], lambda: [lanes.step(np.zeros((2, 1))) for _ in range(30)])
    )
    assert isinstance(fault, EnvironmentFault)
    assert "lane 1, seed 3, step 25: did not return within 0.5 s (--env-timeout)" in str(fault)


@pytest.mark.parametrize("run", [lambda function: function(), in_thread])
def test_what_the_work_returns_or_raises_is_handed_on(run):
    pool = envs.make("tests.toys:PointMass-v0", 1)
    assert run(lambda: envs.watched(60, [pool], lambda: 7)) == 7
    with pytest.raises(ZeroDivisionError):
        envs.watched(60, [pool], lambda: 1 / 0)
    assert isinstance(in_thread(lambda: envs.watched(60, [pool], lambda: 1 / 0)), ZeroDivisionError)


def test_handlers_of_signals_are_given_back():
    seen = []
    pool = envs.make("tests.toys:PointMass-v0", 1)
    numbers = (signal.SIGQUIT, signal.SIGALRM)
    before = [signal.signal(number, lambda number, frame: seen.append(number)) for number in numbers]
    try:
        envs.watched(60, [pool], lambda: in_thread(lambda: envs.watched(60, [pool], lambda: None)))
        for number in numbers:
            os.kill(os.getpid(), number)
        assert seen == list(numbers)
        envs.watched(60, [pool], lambda: os.kill(os.getpid(), signal.SIGALRM))  # nothing is late
    finally:
        for number, handler in zip(numbers, before, strict=True):
            signal.signal(number, handler)


def test_without_another_process_the_thread_watches_alone(monkeypatch, capsys):
    def refuse(*_, **__):
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(board.subprocess, "Popen", refuse)
    lanes = envs.Lanes(envs.make("tests.toys:Faulty-spins-v0", 2), [2, 3])
    with pytest.raises(EnvironmentFault, match=r"did not return within 0\.5 s"):
        envs.watched(0.5, [lanes.envs], lambda: [lanes.step(np.zeros((2, 1))) for _ in range(30)])
    (notice,) = capsys.readouterr().err.splitlines()
    assert notice.startswith("notice: an environment that hangs and keeps Python's lock will not be ended: ")


def test_pools_outside_python_need_no_sentinel(monkeypatch):
    monkeypatch.setattr(board.subprocess, "Popen", None)
    pool = envs.make("Hopper-v4", 1, "envpool")
    assert envs.watched(60, [pool], lambda: pool.reset([0], [1]).shape) == (1, 11)


class Stuck:
    """A pool that hangs outside Python."""

    name, in_python = "Stuck-v0", False

    def busy(self):
        return None, clock.awake() - 100


def test_where_a_person_works_the_process_is_not_ended(monkeypatch, capsys):
    monkeypatch.setattr(sys, "ps1", ">>> ", raising=False)
    monkeypatch.setattr(board.subprocess, "Popen", None)
    told = threading.Event()
    monkeypatch.setattr(watchdog, "notice", lambda line: (print(line), told.set()))
    python = envs.make("tests.toys:PointMass-v0", 1)
    assert envs.watched(0.1, [Stuck(), python], lambda: told.wait(60))
    assert "Stuck-v0 hangs in lane unknown" in capsys.readouterr().out


def test_in_a_thread_a_pool_outside_python_raises():
    release = threading.Event()
    fault = in_thread(lambda: envs.watched(0.1, [Stuck()], lambda: release.wait(60)))
    release.set()
    assert "Stuck-v0 hangs in lane unknown" in str(fault)


def test_the_clock_counts_what_lies_between_regular_ticks(monkeypatch):
    """Ticks may be 2 s apart. A gap of 10 s counts as 2, and so do times without a tick."""
    now = 100.0
    monkeypatch.setattr(clock, "_last", (0.0, math.inf, 0.0))
    monkeypatch.setattr(clock.time, "monotonic", lambda: now)
    assert clock.awake() == 100
    clock.tick(2)
    now = 101.5
    assert clock.awake() == 101.5
    clock.tick(2)
    now = 111.5  # ten seconds later
    assert clock.awake() == 103.5
    clock.tick(2)
    assert clock.awake() == 103.5
    now = 112.5
    assert clock.awake() == 104.5
    clock.tick(math.inf)  # nobody ticks any more
    now = 212.5
    assert clock.awake() == 204.5
