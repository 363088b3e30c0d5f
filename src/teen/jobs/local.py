"""Carry out jobs on this machine, one after the other, each in a process of its own: what kills that process is a
failure of that job alone."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Any, BinaryIO

from ..disk import lock
from ..errors import InUse, notice
from . import markers
from .place import Folder, Place, address
from .planned import PlannedJob, Resources, Result

Told = Callable[[Result], None]

CHILD = (sys.executable, "-P", "-m", "teen.jobs.child")  # -P: no modules from the current folder
LONGEST_RESULT = 2**16  # bytes: what a pipe holds without a reader
PATIENCE = 2.0  # seconds for the last words of a process that has ended
LINGER = 20.0  # seconds for a process whose launcher was killed to stop with a checkpoint


def run(
    jobs: Sequence[PlannedJob],
    place: Place,
    told: Told,
    resources: Resources | None = None,
    retries: int = 3,
    show: bool = True,
    begin: Callable[[], None] = lambda: None,
) -> int | None:
    """Carry out jobs, and tell the result of each. Return the signal that ended it early. Jobs that another process
    trains are left to it, so that several may share the work. They are looked at again at the end: if a launcher was
    killed, the process of its job stops a moment later. `begin` is called first: here nothing stands in their way."""
    begin()
    with Runner(place, _environment(resources), show) as runner:
        left = list(jobs)
        for last in (False, True):
            if last:
                _linger(place, left, runner)
            taken: list[PlannedJob] = []
            for job in left:
                if runner.asked is not None:
                    return runner.asked
                result = _taken(place, job) or runner.carried_out(job, retries)
                if result.state == "taken" and not last:
                    notice(f"{result.error}; this process goes on with the next job")
                    taken.append(job)
                    continue
                told(result)
                if result.state == "stopped":
                    return runner.asked or result.signal
            left = taken
        return runner.asked


def _taken(place: Place, job: PlannedJob) -> Result | None:
    """Return that another process trains a job, if one does; at a URL that is not known."""
    folder = place.root / job.name if isinstance(place, Folder) else None
    if folder is None or not (process := lock.holder(folder)):
        return None
    return Result(job.name, "taken", error=str(InUse(folder, process)))


def _linger(place: Place, jobs: Sequence[PlannedJob], runner: "Runner") -> None:
    """Wait a while, until nobody trains one of these jobs any more."""
    end = time.monotonic() + LINGER
    while jobs and all(_taken(place, job) for job in jobs) and runner.asked is None and time.monotonic() < end:
        time.sleep(0.2)


def _environment(resources: Resources | None) -> Mapping[str, str]:
    """Return the variables of a process that gets these resources."""
    if resources is None:
        return os.environ
    from .packing import environment

    return {**os.environ, **environment(resources)}


class Runner:
    """Starts processes, and passes on to the one that works what asks this one to stop."""

    def __init__(self, place: Place, environment: Mapping[str, str], show: bool):
        self.place, self.environment, self.show = place, environment, show
        self.asked: int | None = None  # the first signal
        self._unsent: deque[int] = deque()
        self._child: subprocess.Popen[bytes] | None = None
        self._previous: dict[int, Any] = {}

    def __enter__(self) -> "Runner":
        if threading.current_thread() is threading.main_thread():  # Python has no handlers elsewhere
            numbers = [signal.SIGINT, signal.SIGTERM, signal.SIGHUP]
            heeded = [n for n in numbers if signal.getsignal(n) != signal.SIG_IGN]
            self._previous = {n: signal.signal(n, self._stop) for n in heeded}
            if signal.getsignal(signal.SIGTSTP) == signal.SIG_DFL:
                self._previous[signal.SIGTSTP] = signal.signal(signal.SIGTSTP, self._pause)
        return self

    def __exit__(self, *exception: object) -> None:
        for number, handler in self._previous.items():
            signal.signal(number, handler)
        if self._child and self._child.poll() is None:  # an error of ours
            self._child.terminate()

    def carried_out(self, job: PlannedJob, retries: int) -> Result:
        """Carry out a job, again where its process was killed: it goes on from its checkpoint."""
        for attempt in range(retries + 1):
            result, killed_by = self._attempt(job)
            if killed_by is None or self.asked is not None or attempt == retries:
                return result
            notice(f"{job.name}: the process was killed by {name_of(killed_by)}; it goes on from its checkpoint")
        raise AssertionError("there is at least one attempt")

    def _attempt(self, job: PlannedJob) -> tuple[Result, int | None]:
        """Return how a process ended, and the signal that killed it. Its own result counts, where it gave one."""
        with self._started(job) as (child, reader, words):
            child.wait()
        answer = _result(reader)
        os.close(reader)
        if answer is not None:
            return answer, None
        markers.remove_running(self.place, job.name, child.pid)
        killed_by = -child.returncode if child.returncode < 0 else None
        if self.asked is not None:
            return Result(job.name, "stopped", signal=self.asked), killed_by
        how = f"was killed by {name_of(killed_by)}" if killed_by else f"ended with exit code {child.returncode}"
        hint = "; is there enough memory?" if killed_by == signal.SIGKILL else ""
        error = markers.last_lines("\n".join([*words, f"the process {how}{hint}"]))
        markers.write_failed(self.place, job.name, error)
        return Result(job.name, "failed", error=error), killed_by

    @contextmanager
    def _started(self, job: PlannedJob) -> Iterator[tuple[subprocess.Popen[bytes], int, deque[str]]]:
        """Start the process of a job: in a process group of its own, so that Ctrl-C reaches it once, through us."""
        reader, writer = os.pipe()
        os.set_blocking(reader, False)
        child = subprocess.Popen(
            [*CHILD, str(writer)],
            stdin=subprocess.PIPE,
            stderr=subprocess.PIPE,
            pass_fds=[writer],
            env=self.environment,
            process_group=0,
        )
        os.close(writer)
        self._child = child
        self._pass_on()  # what came meanwhile
        assert child.stdin
        assert child.stderr
        words: deque[str] = deque(maxlen=markers.LINES)
        echo = threading.Thread(target=_echo, args=(child.stderr, words), daemon=True, name="standard error of a job")
        echo.start()
        order = {"job": job._asdict(), "place": address(self.place), "show": self.show}
        with suppress(BrokenPipeError):  # it has died already
            child.stdin.write(json.dumps(order).encode() + b"\n")
            child.stdin.flush()
        try:
            yield child, reader, words
        finally:
            with suppress(BrokenPipeError):
                child.stdin.close()
            echo.join(PATIENCE)  # a process that it left behind may keep the pipe open
            self._child = None

    def _stop(self, number: int, frame: Any) -> None:
        self.asked = self.asked or number
        self._unsent.append(number)
        self._pass_on()

    def _pass_on(self) -> None:
        """Send each signal once: a second one asks to stop at once. A handler may run in the middle of this."""
        with suppress(IndexError):
            while self._child:
                self._child.send_signal(self._unsent.popleft())

    def _pause(self, number: int, frame: Any) -> None:
        """Answer Ctrl-Z: the process of the job, which is in another group, pauses as long as this one."""
        child = self._child
        if child:
            child.send_signal(signal.SIGSTOP)
        os.kill(os.getpid(), signal.SIGSTOP)
        if child:
            child.send_signal(signal.SIGCONT)


def _echo(stream: BinaryIO, words: deque[str]) -> None:
    """Pass on what a process says on standard error, and remember the last lines."""
    with stream, suppress(ValueError, OSError):
        for line in stream:
            text = line.decode(errors="replace")
            words.append(text.rstrip("\n"))
            sys.stderr.write(text)
            sys.stderr.flush()


def _result(reader: int) -> Result | None:
    """Return the result that a process has written; None if it did not come to that."""
    try:
        return Result(**json.loads(os.read(reader, LONGEST_RESULT)))
    except (OSError, ValueError, TypeError):
        return None


def name_of(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
