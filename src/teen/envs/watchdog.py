"""End a run whose environment hangs."""

import os
import signal
import sys
import threading
import time
from collections.abc import Sequence
from types import FrameType

from ..errors import CopyFault
from .adapter import Envs

GRACE = 10.0  # seconds that an interrupted step has to end, before the process is ended


class Watchdog:
    """Watches how long a step takes.

    Past the limit a CopyFault interrupts the main thread. A step that hangs outside Python cannot be interrupted: then
    the process ends with exit code 3. Logs and checkpoints are on disk by then.
    """

    def __init__(self, limit: float, watched: Sequence[Envs]):
        self.limit, self.watched = limit, watched
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True, name="environment watchdog")
        self._main = threading.current_thread() is threading.main_thread()
        self._fault: CopyFault | None = None

    def __enter__(self) -> "Watchdog":
        if self._main:
            self._previous = signal.signal(signal.SIGALRM, self._interrupt)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()
        if self._main:
            signal.signal(signal.SIGALRM, self._previous)

    def _interrupt(self, number: int, frame: FrameType | None) -> None:
        if self._fault:
            fault, self._fault = self._fault, None
            raise fault

    def _watch(self) -> None:
        interrupted: float | None = None  # the start time of the step that was interrupted
        while not self._stop.wait(min(1.0, self.limit / 4)):
            for envs in self.watched:
                busy = envs.busy()
                if busy is None or time.monotonic() - busy[1] < self.limit:
                    continue
                copy, since = busy
                if copy is not None and self._main and interrupted != since:  # None: it hangs outside Python
                    interrupted = since
                    self._fault = CopyFault(copy, f"did not return within {self.limit:g} s (--env-timeout)")
                    signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGALRM)
                elif copy is None or time.monotonic() - since > self.limit + GRACE:
                    lane = "unknown" if copy is None else copy
                    print(
                        f"teen: environment {envs.name} hangs in lane {lane}: it did not return within "
                        f"{self.limit:g} s and cannot be interrupted; logs and the last checkpoint are kept",
                        file=sys.stderr,
                        flush=True,
                    )
                    os._exit(3)
