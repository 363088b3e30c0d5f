"""The time that training takes, over all its resumes."""

import time
from typing import NamedTuple


class Mark(NamedTuple):
    """A row of timing.csv."""

    step: int
    seconds: float  # since training began, without the time between a stop and a resume
    rate: float  # steps a second since the mark before


class Timing:
    def __init__(self, step: int = 0, seconds: float = 0.0):
        """Training goes on now, from this step, after so many seconds."""
        self._began = time.monotonic() - seconds
        self._last = Mark(step, seconds, 0.0)

    def mark(self, step: int) -> Mark | None:
        """Return where training is now; None if it has taken no step since the mark before."""
        if step == self._last.step:
            return None
        seconds = time.monotonic() - self._began
        rate = (step - self._last.step) / max(seconds - self._last.seconds, 1e-9)
        self._last = Mark(step, seconds, rate)
        return self._last
