"""End what steps an environment that hangs.

A step that hangs in Python, or where Python heeds signals, is interrupted: a CopyFault. One that goes on even so is
given up. In the main thread that ends the process; in another it raises in the caller. One that keeps Python's lock
stops every thread, this watchdog among them: then the sentinel ends the process.
"""

import contextvars
import ctypes
import math
import os
import signal
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from types import FrameType
from typing import NamedTuple, TypeVar

import numpy as np

from ..errors import CopyFault, EnvironmentFault, notice
from . import clock
from .adapter import GivenUp, Watched
from .board import is_interactive, posted
from .sentinel import BEAT, LATE, period_of, say

T = TypeVar("T")
GRACE = 10.0  # seconds that an interrupted step has to end, before it is given up


def watched(limit: float, pools: Sequence[Watched], work: Callable[[], T], beside: Sequence[Watched] = ()) -> T:
    """Return `work()`, which steps `pools`. A step that takes longer than `limit` seconds is an environment's fault.

    `beside` are stepped by other threads, which watch over them, except that nobody could if Python's lock were kept.
    Outside the main thread the work is done in a thread of its own, so that the caller can leave it behind.
    """
    if threading.current_thread() is not threading.main_thread():
        return _in_thread(limit, pools, work, beside)
    with Watchdog(limit, pools, beside):
        return work()


class Late(NamedTuple):
    """A step that has taken too long."""

    envs: Watched
    copy: int | range | None
    since: float
    hopeless: bool  # whether it has been interrupted in vain, or cannot be

    def described(self, limit: float) -> str:
        if isinstance(self.copy, range):
            lane = f"lane {self.copy[0]}" if len(self.copy) == 1 else f"one of lanes {self.copy[0]} to {self.copy[-1]}"
        else:
            lane = "lane unknown" if self.copy is None else f"lane {self.copy}"
        return (
            f"environment {self.envs.name} hangs in {lane}: it did not return within {limit:g} s and cannot be "
            "interrupted; logs and the last checkpoint are kept"
        )


class Watch:
    """Looks at pools again and again, every `period` seconds."""

    def __init__(self, limit: float, pools: Sequence[Watched], numbers: np.ndarray):
        """`numbers` are those that the sentinel reads."""
        self.limit, self.pools, self.numbers = limit, pools, numbers
        self.period = period_of(limit)
        self._reported = 0.0  # since when the step is busy that is to be interrupted
        self._tick()

    def _tick(self) -> None:
        clock.tick(2 * self.period)
        self.numbers[BEAT] += 1

    def look(self) -> Late | None:
        """Return a step that is to be interrupted, and later, if it is still busy, the same as hopeless."""
        self._tick()
        for envs in self.pools:
            busy = envs.busy()
            if busy is None or (seconds := clock.awake() - busy[1]) < self.limit:
                continue
            copy, since = busy
            outside = not isinstance(copy, int)  # of Python: there it cannot be interrupted
            if outside or (since == self._reported and seconds > self.limit + GRACE):
                return Late(envs, copy, since, hopeless=True)
            if since != self._reported:
                self._reported = since
                return Late(envs, copy, since, hopeless=False)
        return None


class Watchdog:
    """Watches, in a thread, what the main thread does in a block."""

    def __init__(self, limit: float, pools: Sequence[Watched], beside: Sequence[Watched] = ()):
        self.limit, self.pools = limit, pools
        self._post = posted(limit, GRACE, pools, beside)
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True, name="environment watchdog")

    def __enter__(self) -> "Watchdog":
        self._previous = signal.signal(signal.SIGALRM, self._interrupt)
        self._numbers = self._post.__enter__()
        self._watch = Watch(self.limit, self.pools, self._numbers)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()
        self._post.__exit__(None, None, None)
        signal.signal(signal.SIGALRM, self._previous or signal.SIG_DFL)

    def _interrupt(self, number: int, frame: FrameType | None) -> None:
        """Handle the signal of the thread or the sentinel: the step that it is for may have ended meanwhile."""
        for envs in self.pools:
            busy = envs.busy()
            if busy and busy[1] == self._numbers[LATE] and isinstance(busy[0], int):
                raise CopyFault(busy[0], too_long(self.limit))

    def _run(self) -> None:
        told = 0.0  # of which hopeless step
        while not self._stop.wait(self._watch.period):
            late = self._watch.look()
            if late and late.hopeless and not is_interactive():
                say(late.described(self.limit))
                os._exit(3)
            elif late and late.hopeless and told != late.since:
                told = late.since
                notice(f"{late.described(self.limit)}. Interrupt or restart Python to end it")
            elif late and not late.hopeless:
                self._numbers[LATE] = late.since
                signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGALRM)
        clock.tick(math.inf)


def _in_thread(limit: float, pools: Sequence[Watched], work: Callable[[], T], beside: Sequence[Watched]) -> T:
    outcome: Future[T] = Future()
    context = contextvars.copy_context()

    def run() -> None:
        try:
            outcome.set_result(context.run(work))
        except BaseException as error:  # handed to the thread that waits
            outcome.set_exception(error)

    thread = threading.Thread(target=run, daemon=True, name="watched work")
    with posted(limit, GRACE, (), (*pools, *beside)) as numbers:
        watch = Watch(limit, pools, numbers)
        thread.start()
        try:
            while thread.is_alive():
                thread.join(watch.period)
                late = watch.look()
                if late and late.hopeless:
                    raise EnvironmentFault(f"{late.described(limit)}, and its thread is left behind")
                if late:
                    _raise_in(thread, _fault(limit))
        finally:
            clock.tick(math.inf)
            if thread.is_alive():
                _raise_in(thread, GivenUp)  # as soon as the step returns, if ever: nothing else may follow
    return outcome.result()


def too_long(limit: float) -> str:
    return f"did not return within {limit:g} s (--env-timeout)"


def _fault(limit: float) -> type[CopyFault]:
    """Return a class: an exception for another thread is made there, without arguments."""

    class TookTooLong(CopyFault):
        def __init__(self) -> None:
            super().__init__(None, too_long(limit))

    return TookTooLong


def _raise_in(thread: threading.Thread, kind: type[BaseException]) -> None:
    """Raise an exception in another thread, at its next step in Python. A later one replaces it until then."""
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread.ident or 0), ctypes.py_object(kind))
