"""How fast a run goes, and when it will be done."""

import time
from collections import deque
from collections.abc import Callable

WINDOW = 60.0  # seconds whose speed counts
ENOUGH = 3.0  # seconds of learning after which it can be said how long the rest takes
SETTLING = 3  # chunks at the beginning of learning that do not count: programs are compiled
APART = 0.25  # seconds between two marks


class Pace:
    """Measures steps per second over the last minute. The warm-up, in which nothing is learnt, is many times as fast as
    what comes after it: it says nothing about the time left."""

    def __init__(self, steps: int, warmup: int, start: int = 0, clock: Callable[[], float] = time.monotonic):
        """`start` is the step from which a run goes on."""
        self.steps, self.warmup, self.clock = steps, warmup, clock
        self.began = clock()
        self._learnt = 0  # chunks
        self._latest = self.began, start
        self._marks = deque([self._latest])  # (time, step); from the first one on the speed is measured

    def stepped(self, step: int) -> None:
        now = self.clock()
        self._latest = now, step
        if step > self.warmup:
            self._learnt += 1
            if self._learnt <= SETTLING:
                self._marks = deque([self._latest])
        if now - self._marks[-1][0] >= APART:
            self._marks.append(self._latest)
        while len(self._marks) > 1 and now - self._marks[1][0] >= WINDOW:
            self._marks.popleft()

    @property
    def elapsed(self) -> float:
        """Return the seconds since this process began to train."""
        return self.clock() - self.began

    @property
    def rate(self) -> float | None:
        """Return steps per second, once they have been measured."""
        (then, first), (now, last) = self._marks[0], self._latest
        seconds = max(now - then, self.clock() - now)  # the latter where nothing comes any more
        return (last - first) / seconds if last > first and seconds > 0 else None

    @property
    def left(self) -> float | None:
        """Return the seconds to the end, once learning has been timed."""
        rate, (now, step) = self.rate, self._latest
        timed = self._learnt > SETTLING and now - self._marks[0][0] >= ENOUGH
        return (self.steps - step) / rate if rate and timed else None
