"""A process beside the trainer. It ends a trainer whose environment never gives Python's lock back.

The watchdog is a thread of the trainer, and needs that lock. This is run by path, with the standard library alone. It
reads numbers that the trainer keeps in shared memory, its standard input, and it sees hangs by their standing still.
"""

import mmap
import os
import select
import signal
import sys
import time
from contextlib import suppress

# What the numbers are: how often the watchdog has looked; since when the step is busy that is to be interrupted; and
# from STEPS on, two for each pool: since when a copy is busy, 0 if none is, and which.
BEAT, LATE, STEPS = 0, 1, 2


def watch(trainer: int, limit: float, grace: float, ending: int, interrupted: int, names: list[str]) -> None:
    """Watch until the trainer is gone, or end it by the signal `ending`. The first `interrupted` of the named pools
    are stepped in its main thread: there a step is interrupted first, since some C code heeds signals."""
    numbers = memoryview(mmap.mmap(0, 8 * (STEPS + 2 * len(names)))).cast("d")
    period = period_of(limit)
    before: list[float] = []
    still, last = 0.0, time.monotonic()  # seconds for which nothing has changed in the midst of a step
    while os.getppid() == trainer:
        time.sleep(period)
        now = time.monotonic()
        passed, last = min(now - last, 2 * period), now  # this process may have been stopped as well
        seen = [numbers[BEAT], *numbers[STEPS:]]
        busy = [pool for pool in range(len(names)) if numbers[STEPS + 2 * pool]]
        if seen != before or not busy:
            before, still = seen, 0.0
        elif not is_stopped(trainer):
            still += passed
        if still > limit + grace:
            say(
                f"environment {names[busy[0]]} hangs in copy {seen[2 + 2 * busy[0]]:g}: it did not return within "
                f"{limit:g} s and cannot be interrupted, because it holds Python's lock; logs and the last checkpoint "
                "are kept"
            )
            return end(trainer, ending)
        elif still > limit and busy[0] < interrupted and numbers[LATE] != numbers[STEPS + 2 * busy[0]]:
            numbers[LATE] = numbers[STEPS + 2 * busy[0]]
            os.kill(trainer, signal.SIGALRM)


def is_stopped(process: int) -> bool:
    """Return whether a process is stopped by a signal or a debugger; False where the system does not say."""
    try:
        with open(f"/proc/{process}/stat", "rb") as file:
            return file.read().rpartition(b")")[2].split()[0] in (b"T", b"t")
    except OSError:
        return False


def period_of(limit: float) -> float:
    """Return the seconds between two looks at steps that may take `limit` seconds."""
    return max(0.01, min(1.0, limit / 4))


def say(line: str) -> None:
    """Write a line to standard error, unless nobody reads it: what follows must not wait for that."""
    with suppress(OSError, ValueError):
        if select.select([], [2], [], 1)[1]:
            os.write(2, f"teen: {line}\n".encode(errors="replace"))


def end(process: int, number: int) -> None:
    """End the parent process by a signal, and if it does not heed it, at once."""
    for attempt in (number, signal.SIGKILL):
        if os.getppid() == process:
            os.kill(process, attempt)
            time.sleep(2)


if __name__ == "__main__":
    _, process, limit, grace, ending, interrupted, *names = sys.argv
    watch(int(process), float(limit), float(grace), int(ending), int(interrupted), names)
