"""Loggers of a user's own, good and bad."""

import threading


class Good:
    """Keeps what it was told."""

    def __init__(self):
        self.runs, self.batches, self.closed = [], [], 0

    def begin(self, run):
        self.runs.append(run)

    def log(self, rows):
        self.batches.append(list(rows))

    def close(self):
        self.closed += 1

    @property
    def rows(self):
        return [row for batch in self.batches for row in batch]


class Reached(Good):
    """Knows when a method is reached: `_reach` is told its name."""

    def begin(self, run):
        super().begin(run)
        self._reach("begin")

    def log(self, rows):
        super().log(rows)
        self._reach("log")

    def close(self):
        super().close()
        self._reach("close")


class Raises(Reached):
    def __init__(self, where, error=None, count=1):
        super().__init__()
        self.where, self.error, self.left = where, error or RuntimeError(f"no\n{where} \x1b[31mtoday"), count

    def _reach(self, where):
        if where == self.where:
            self.left -= 1
            if self.left == 0:
                raise self.error


class Hangs(Reached):
    """Does not return from a method before `freed` is set."""

    def __init__(self, where):
        super().__init__()
        self.where, self.reached, self.freed = where, threading.Event(), threading.Event()

    def _reach(self, where):
        if where == self.where:
            self.reached.set()
            self.freed.wait()
