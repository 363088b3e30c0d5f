"""Requests to stop reach a run at once, whatever its main thread is doing: real signals to real processes."""

import os
import pty
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from teen.training.stopping import stop_requests

from .held import STEP

CHUNK = 10
TRAIN = (
    "train --algo td3 --width 8 --batch 16 --steps 1000 --warmup 500 --eval-every 1000 --log-every 500 "
    f"--sync {CHUNK} --env-timeout 120"
).split()
PATIENCE = 300  # seconds after which a test has failed
AT_ONCE = "teen: stopped at once; logs and the last checkpoint are kept, the agent is not saved\n"
HINTS = {
    signal.SIGINT: "notice: stopping after this chunk, press again to stop at once\n",
    signal.SIGTERM: "notice: stopping after this chunk, a second signal stops at once\n",
}


@contextmanager
def held(where: str, folder: Path, **options) -> Iterator[subprocess.Popen[str]]:
    """A run in the midst of its third chunk, which does not end while it is held."""
    command = [sys.executable, "-m", "teen", *TRAIN, "--env", f"tests.training.held:Held-{where}-v0"]
    environment = {**os.environ, "PYTHONPATH": "src", "HELD_UNTIL": str(folder / "go"), "TERM": "xterm"}
    process = subprocess.Popen(
        [*command, "--out", str(folder / "run")],
        env=environment,
        text=True,
        **{"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **options},
    )
    try:
        read_until(process, "held\n")
        yield process
    finally:
        process.kill()
        process.communicate(timeout=PATIENCE)


def read_until(process: subprocess.Popen[str], line: str) -> None:
    """Wait for a line on standard error."""
    seen = []
    for text in process.stderr:
        seen.append(text)
        if text == line:
            return
    raise AssertionError(f"there was no {line!r} but {seen}")


def test_ctrl_c_is_answered_at_once_and_heeded_at_the_end_of_the_chunk(tmp_path):
    with held("inside", tmp_path) as process:
        process.send_signal(signal.SIGINT)
        read_until(process, HINTS[signal.SIGINT])
        (tmp_path / "go").touch()
        _, errors = process.communicate(timeout=PATIENCE)
    assert process.returncode == 130
    step = -(-STEP // CHUNK) * CHUNK
    assert f"stopped after {step} steps; the agent so far is saved" in errors
    assert (tmp_path / "run" / "agent" / "agent.json").exists()


@pytest.mark.parametrize(
    ("number", "where"), [(signal.SIGINT, "inside"), (signal.SIGINT, "outside"), (signal.SIGTERM, "outside")]
)
def test_a_second_signal_ends_a_run_inside_a_chunk(number, where, tmp_path):
    with held(where, tmp_path) as process:
        process.send_signal(number)
        read_until(process, HINTS[number])
        process.send_signal(number)
        _, errors = process.communicate(timeout=PATIENCE)
    assert process.returncode == 128 + number
    assert errors == AT_ONCE
    assert not (tmp_path / "run" / "agent").exists()


def test_a_terminal_gets_the_answer_and_its_cursor_back(tmp_path):
    main, other = pty.openpty()
    with held("outside", tmp_path, stdout=other) as process:
        os.close(other)
        screen = os.read(main, 65536)
        process.send_signal(signal.SIGINT)
        while b"press again to stop at once" not in screen:  # above the display
            screen += os.read(main, 65536)
        process.send_signal(signal.SIGINT)
        while True:
            try:
                screen += os.read(main, 65536)
            except OSError:  # the terminal closes with the process
                break
        _, errors = process.communicate(timeout=PATIENCE)
    os.close(main)
    assert process.returncode == 130
    assert errors == AT_ONCE
    assert b"warm-up until step 500" in screen
    assert screen.rindex(b"\x1b[?25h") > screen.rindex(b"\x1b[?25l")  # shown again after it was hidden


def outcome(block: str) -> list[str]:
    """Run lines of code inside of a block that receives requests, in a process of its own; return what it prints."""
    begin = "import os, signal, sys\nfrom teen.training.stopping import stop_requests\n"
    code = f"{begin}with stop_requests() as stop:\n    {block}\nprint(stop.signal)"
    environment = {**os.environ, "PYTHONPATH": "src"}
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=environment, timeout=PATIENCE
    )
    return [*done.stdout.splitlines(), *done.stderr.splitlines()]


def test_a_signal_to_a_forked_process_is_not_ours():
    """Ctrl-C in a terminal reaches all of its processes: it would count twice."""
    child = "os.kill(os.getpid(), signal.SIGINT); os._exit(0)"
    assert outcome(f"pid = os.fork()\n    if not pid: {child}\n    os.waitpid(pid, 0)") == ["None"]


def test_a_terminal_that_closes_counts_once():
    lines = outcome("for number in (15, 1, 1): os.kill(os.getpid(), number)")
    assert lines == ["15", HINTS[signal.SIGTERM].strip()]


def test_handlers_are_as_before_afterwards():
    before = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)]
    with stop_requests() as stop:
        assert signal.getsignal(signal.SIGINT) not in before
    assert not stop.made()
    assert [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)] == before
    assert signal.set_wakeup_fd(-1) == -1
