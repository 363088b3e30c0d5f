"""The progress of a run: a live display on a terminal, plain lines elsewhere."""

import sys
import time

import numpy as np
from rich.console import Console, Group
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from ..engine.evaluate import HEADLINE, Episode

SHOWN_METRICS = ("critic_loss", "q", "discriminator_accuracy", "diversity_bound", "clipped_share", "action_spread")


def headline_mean(episodes: list[Episode]) -> float:
    return float(np.mean([e.score for e in episodes if e.policy == HEADLINE]))


def duration(seconds: float) -> str:
    minutes, seconds = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{seconds:02}" if hours else f"{minutes}:{seconds:02}"


class Progress:
    def __init__(self, steps: int, lanes: list[str], show: bool, start: int = 0):
        """`lanes` are the names of the lanes, `start` is the step from which a run goes on."""
        self.steps, self.lanes, self.show = steps, lanes, show
        self.step = start
        self.scores: dict[str, float] = {}
        self.metrics: dict[str, float] = {}
        self._marks = [(time.monotonic(), start)]  # (time, step) of the last seconds, for the speed
        self._live: Live | None = None

    def __enter__(self) -> "Progress":
        if self.show and sys.stdout.isatty():
            self._live = Live(get_renderable=self._render, refresh_per_second=4, console=Console())
            self._live.start()
        return self

    def __exit__(self, *exception: object) -> None:
        if self._live:
            self._live.stop()

    def stepped(self, step: int) -> None:
        self.step = step

    def trained(self, metrics: dict[str, np.ndarray]) -> None:
        """Take the metrics of the lanes that are not in quarantine."""
        self.metrics = {name: float(metrics[name].mean()) for name in SHOWN_METRICS if name in metrics}

    def evaluated(self, step: int, episodes: list[list[Episode]]) -> None:
        """Take the episodes of each lane; a lane in quarantine has none."""
        self.scores = {name: headline_mean(rows) for name, rows in zip(self.lanes, episodes, strict=True) if rows}
        if self.show and not self._live:
            rate, left = self._speed()
            scores = "  ".join(f"{lane}: {score:.1f}" for lane, score in self.scores.items())
            print(f"step {step}/{self.steps}  {rate:.0f} steps/s  {left} left  {scores}", flush=True)

    def _speed(self) -> tuple[float, str]:
        """Return steps per second and the time left."""
        now = time.monotonic()
        self._marks = [m for m in self._marks if now - m[0] < 30][-200:] or self._marks[-1:]
        then, step = self._marks[0]
        rate = (self.step - step) / max(now - then, 1e-9)
        self._marks.append((now, self.step))
        return rate, duration((self.steps - self.step) / rate) if rate > 0 else "?"

    def _render(self) -> Group:
        rate, left = self._speed()
        head = Text(f"step {self.step:,} of {self.steps:,}   {rate:,.0f} steps/s   {left} left")
        scores = Table(box=None, padding=(0, 2, 0, 0))
        scores.add_column("lane")
        scores.add_column("last evaluation", justify="right")
        for lane in self.lanes:
            scores.add_row(lane, f"{self.scores[lane]:.1f}" if lane in self.scores else "–")
        metrics = Text("   ".join(f"{name} {value:.3g}" for name, value in self.metrics.items()), style="dim")
        bar = Table.grid()  # a bar by itself does not end its line
        bar.add_row(ProgressBar(total=self.steps, completed=self.step, width=60))
        return Group(head, bar, scores, metrics)
