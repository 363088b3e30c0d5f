"""Requests to stop a run."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


class StopRequest:
    """The first Ctrl-C or SIGTERM asks training to stop; later ones end the process as usual."""

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

    def restore() -> None:
        for number, handler in previous.items():
            signal.signal(number, handler)

    previous = {number: signal.signal(number, receive) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield request
    finally:
        restore()
