"""A thread that does what it is given, in order; and how many can run at once."""

import os
import threading
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from queue import SimpleQueue
from typing import TypeVar

T = TypeVar("T")
LOW_PRIORITY = 10  # what is added to the niceness of a thread that shall only use cores that others leave


def cores() -> int:
    """Return how many cores this process may use. XLA splits sums by them, so they are part of a result."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class Worker:
    """A daemon thread: one that hangs in a simulator does not keep the process from ending."""

    def __init__(self, name: str, low_priority: bool = False):
        self._work: SimpleQueue[Callable[[], None] | None] = SimpleQueue()
        self._thread = threading.Thread(target=self._run, args=(low_priority,), daemon=True, name=name)
        self._thread.start()

    def submit(self, work: Callable[[], T]) -> Future[T]:
        future: Future[T] = Future()

        def run() -> None:
            try:
                future.set_result(work())
            except BaseException as error:  # handed to whoever waits
                future.set_exception(error)

        self._work.put(run)
        return future

    def close(self, timeout: float) -> None:
        """Let the thread end once it has done what it was given, and wait for that so many seconds."""
        self._work.put(None)
        self._thread.join(timeout)

    def _run(self, low_priority: bool) -> None:
        if low_priority:
            with suppress(AttributeError, OSError):  # Linux: of this thread, and of those that it starts
                os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), LOW_PRIORITY)
        while work := self._work.get():
            work()
