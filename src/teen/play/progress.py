"""How far a film is: a bar on a terminal, lines elsewhere; on standard error."""

import sys
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, TextColumn, TimeElapsedColumn
from rich.progress import Progress as Bar

LINES = 10  # of an episode, where there is no terminal


class Progress:
    def __init__(self, episodes: int, limit: int | None, show: bool = True):
        """`limit` is the most steps of an episode, where it is known."""
        self.episodes, self.limit, self.show = episodes, limit, show
        self._bar: Bar | None = None
        self._said = 0
        if show and sys.stderr.isatty():
            columns = TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn()
            self._bar = Bar(*columns, console=Console(stderr=True), transient=True)
            self._task = self._bar.add_task("", total=None if limit is None else episodes * limit)

    def __enter__(self) -> Self:
        if self._bar:
            self._bar.start()
        return self

    def __exit__(self, *exception: object) -> None:
        if self._bar:
            self._bar.stop()

    def at(self, episode: int, step: int) -> None:
        """Tell the step of an episode, which count from 0."""
        of = f" of {self.episodes}" if self.episodes > 1 else ""
        line = f"episode {episode + 1}{of}, step {step:,}" + (f" of {self.limit:,}" if self.limit else "")
        if self._bar:
            self._bar.update(self._task, description=line, completed=episode * (self.limit or 0) + step)
        elif self.show:
            part = step // max((self.limit or 1000) // LINES, 1)
            if step and part != self._said:
                self._said = part
                print(line, file=sys.stderr, flush=True)
