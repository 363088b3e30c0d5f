"""Requests to stop a run.

Python runs a signal's handler in the main thread, between two steps of its own. While that thread is inside XLA or a
simulator, for seconds maybe, no handler runs, and of two equal signals one is lost. So a thread listens: Python writes
the number of each signal to a pipe the moment it comes.
"""

import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

from ..errors import notice

KEPT = "logs and the last checkpoint are kept, the agent is not saved"
GRACE = 2.0  # seconds that the main thread has to end by itself after the second request

_writer = -1  # the end of the pipe that Python writes to


def _leave_in_child() -> None:
    """Keep a forked process from writing to the pipe: Ctrl-C reaches it as well, and would count twice."""
    if _writer != -1:
        signal.set_wakeup_fd(-1)


os.register_at_fork(after_in_child=_leave_in_child)


class StopRequest:
    """The first Ctrl-C, SIGTERM or SIGHUP (its terminal was closed) asks training to stop; a second one ends the
    process."""

    def __init__(self) -> None:
        self.signal: int | None = None
        self.urgent = False  # whether there was a second one

    def made(self) -> bool:
        return self.signal is not None


@contextmanager
def stop_requests(leave: Callable[[], None] = lambda: None) -> Iterator[StopRequest]:
    """Receive requests while the block runs. `leave` is called, in another thread, before the process ends inside the
    block. Outside the main thread there are no requests: Python has no handlers there."""
    global _writer
    request = StopRequest()
    if threading.current_thread() is not threading.main_thread():
        yield request
        return
    owner, left = os.getpid(), threading.Event()

    def receive(number: int, frame: Any) -> None:
        """Handle a signal in the main thread, whenever that gets there."""
        if request.urgent and previous[number] == signal.SIG_DFL and os.getpid() == owner:
            return  # the listener ends the process, with its last words
        if request.urgent or os.getpid() != owner:  # a forked process has no listener
            restore()
        if request.urgent:
            signal.raise_signal(number)  # as usual: KeyboardInterrupt, or what the program has asked for
        request.signal = request.signal or number

    def restore() -> None:
        for number, handler in previous.items():
            signal.signal(number, handler)

    def listen() -> None:
        first = True
        while number := int.from_bytes(os.read(reader, 1), "big"):  # 0: the pipe is closed
            if number not in previous:  # the watchdog has its own
                continue
            if first:
                first, request.signal = False, request.signal or number
                again = "press again to stop" if number == signal.SIGINT else "a second signal stops"
                with suppress(OSError, ValueError):  # standard error may be closed
                    notice(f"stopping after this chunk, {again} at once")
            elif number != signal.SIGHUP:  # a terminal that closes sends it more than once
                request.urgent = True
                return _insist(number, previous[number], left, leave)

    requests = [signal.SIGINT, signal.SIGTERM]
    if signal.getsignal(signal.SIGHUP) != signal.SIG_IGN:  # nohup asks to go on without a terminal
        requests.append(signal.SIGHUP)
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    outer, _writer = _writer, writer  # a callback may train as well
    before = signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
    previous: dict[int, Any] = {number: signal.signal(number, receive) for number in requests}
    listener = threading.Thread(target=listen, daemon=True, name="stop requests")
    listener.start()
    try:
        yield request
    finally:
        left.set()
        restore()
        signal.set_wakeup_fd(before)
        os.close(writer)
        _writer = outer
        listener.join()
        os.close(reader)


def _insist(number: int, handler: Any, left: threading.Event, leave: Callable[[], None]) -> None:
    """End what the main thread does as a second signal usually would, and if it does not heed that, the process."""
    if handler == signal.SIG_IGN:
        return
    from ..envs.board import is_interactive  # loaded by now; those who only read KEPT do without environments
    from ..envs.sentinel import say

    if handler != signal.SIG_DFL:
        signal.pthread_kill(threading.main_thread().ident or 0, number)  # again: for it, two may have been one
        if is_interactive() or left.wait(GRACE):  # a person at Python's prompt would lose more than this run
            return
    leave()
    say(f"stopped at once; {KEPT}")
    os._exit(128 + number)  # as a shell reports a signal
