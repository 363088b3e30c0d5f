"""A clock that stands still while the process is stopped, as by SIGSTOP or Ctrl-Z: no environment is to blame for that.

Only somebody who runs regularly can tell: the watchdog, which ticks. Without it this is time.monotonic().
"""

import math
import time

# The last tick: when it was, how long the next one may take, and the seconds spent stopped before. One object, so that
# a thread sees all of it or nothing.
_last = (0.0, math.inf, 0.0)


def awake() -> float:
    """Return seconds, as time.monotonic() does, in which the process was not stopped."""
    at, gap, stopped = _last
    return at + min(time.monotonic() - at, gap) - stopped


def tick(gap: float) -> None:
    """Say that the process is awake. If the next tick takes longer than `gap` seconds, it was not."""
    global _last
    at, before, stopped = _last
    now = time.monotonic()
    _last = now, gap, stopped + max(0.0, now - at - max(gap, before))
