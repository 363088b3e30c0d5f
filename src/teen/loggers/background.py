"""A logger in a thread of its own: whatever it does, training neither waits for it nor ends with it."""

import queue
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress

from ..errors import notice, one_line
from .base import Logger, Row, Run

MOST_WAITING = 1_000  # reports: about as many as a run of a million steps has
PATIENCE = 10.0  # seconds that the end of a run waits for what is left
LONGEST_REASON = 300  # characters


class Background:
    """Hands rows to a logger. One that raises, or that falls so far behind that its queue is full, or that does not
    come to its end in time, is dropped with one notice."""

    def __init__(self, name: str, logger: Logger, run: Run):
        self.name, self.logger, self.run = name, logger, run
        self.dropped = False
        self._dropping = threading.Lock()
        self._waiting: queue.Queue[Sequence[Row] | None] = queue.Queue(MOST_WAITING)  # None: the end
        # A daemon: a process that ends does not wait for it.
        self._thread = threading.Thread(target=self._work, name=f"logger {name}", daemon=True)
        try:
            self._thread.start()
        except RuntimeError as error:  # the system has no more threads
            self._drop(_described(error))

    def put(self, rows: Sequence[Row] | None) -> None:
        """Hand over rows, or None for the end. Returns at once."""
        if self.dropped:
            return
        try:
            self._waiting.put_nowait(rows)
        except queue.Full:
            self._drop(f"it is too slow, and {MOST_WAITING} reports wait for it")

    def wait(self, seconds: float) -> None:
        """Wait for the end, which has been put, for so long at most. Nobody waits for a logger that was dropped."""
        if not self.dropped:
            self._thread.join(seconds)
        if self._thread.is_alive():
            self._drop(f"it was not done {PATIENCE:g} s after the end of training")

    def _drop(self, reason: str) -> None:
        """Give the logger up, and say so; the first reason is the one to tell of."""
        with self._dropping:
            if self.dropped:
                return
            self.dropped = True
        with suppress(queue.Empty):
            while True:  # nobody needs these any more
                self._waiting.get_nowait()
        with suppress(queue.Full):
            self._waiting.put_nowait(None)
        with suppress(OSError, ValueError):  # standard error may be closed
            notice(f"logger {self.name} is dropped, and training goes on without it: {reason[:LONGEST_REASON]}")

    def _work(self) -> None:
        try:
            self.logger.begin(self.run)
            for rows in self._batches():
                self.logger.log(rows)
        except BaseException as error:  # also SystemExit: it is somebody else's code
            self._drop(_described(error))
        try:
            self.logger.close()
        except BaseException as error:
            self._drop(_described(error))

    def _batches(self) -> Iterator[list[Row]]:
        """Yield all rows that have come since the last time, until the end."""
        ended = False
        while not ended:
            reports = [self._waiting.get()]
            with suppress(queue.Empty):
                while True:
                    reports.append(self._waiting.get_nowait())
            rows = [row for report in reports for row in report or ()]
            ended = self.dropped or None in reports
            if rows and not self.dropped:
                yield rows


def close(loggers: Sequence[Background], wait: bool = True) -> None:
    """Let all loggers come to their end, and wait until they have, but not for longer than PATIENCE for all of them
    together."""
    until = time.monotonic() + PATIENCE
    for logger in loggers:
        logger.put(None)
    for logger in loggers if wait else ():
        logger.wait(max(0.0, until - time.monotonic()))


def _described(error: BaseException) -> str:
    return f"{type(error).__name__}: {one_line(error)}"
