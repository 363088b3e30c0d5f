"""Requests to stop a run."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


class StopRequest:
    """The first Ctrl-C, SIGTERM or SIGHUP (its terminal was closed) asks training to stop; later ones end the process
    as usual."""

    def __init__(self) -> None:
        self.signal: int | None = None

    def made(self) -> bool:
        return self.signal is not None


@contextmanager
def stop_requests() -> Iterator[StopRequest]:
    """Receive requests while the block runs. Outside the main thread there are none: Python has no handlers there."""
    request = StopRequest()
    if threading.current_thread() is not threading.main_thread():
        yield request
        return

    def receive(number: int, frame: Any) -> None:
        request.signal = number
        restore()
        if signal.SIGHUP in previous:  # a terminal that closes sends it more than once
            signal.signal(signal.SIGHUP, signal.SIG_IGN)

    def restore() -> None:
        for number, handler in previous.items():
            signal.signal(number, handler)

    requests = [signal.SIGINT, signal.SIGTERM]
    if signal.getsignal(signal.SIGHUP) != signal.SIG_IGN:  # nohup asks to go on without a terminal
        requests.append(signal.SIGHUP)
    previous = {number: signal.signal(number, receive) for number in requests}
    try:
        yield request
    finally:
        restore()
