"""The progress of a run: a live display on a terminal or in a notebook, plain lines elsewhere."""

import io
import os
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from importlib import import_module
from typing import Any

import numpy as np
from rich.console import Console, Group
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from ..engine.evaluate import Episode, headline_mean
from ..engine.plan import Plan
from .pace import Pace
from .screen import duration, flowed, score_lines

SHOWN_METRICS = ("critic_loss", "q", "discriminator_accuracy", "diversity_bound", "clipped_share", "action_spread")
NOTEBOOK = 100, 60  # columns and lines of a display in a notebook
REFRESH = 0.5  # seconds between two displays in a notebook
SHOW_CURSOR = b"\x1b[?25h\n"


class Progress:
    def __init__(
        self,
        plan: Plan,
        variants: Sequence[str],
        seeds: Sequence[int],
        show: bool,
        start: int = 0,
        clock: Callable[[], float] = time.monotonic,
    ):
        """`variants` are names, empty if there is only one; `start` is the step from which a run goes on."""
        self.plan, self.variants, self.seeds, self.show = plan, variants, seeds, show
        self.step, self.evaluation = start, 0  # the latest step, and that of the last evaluation
        self.scores: list[float | None] = [None] * (len(variants) * len(seeds))  # of each lane
        self.metrics: dict[str, float] = {}
        self.pace = Pace(plan.steps, plan.warmup, start, clock)
        self._live: Live | None = None
        self._notebook: Notebook | None = None

    def __enter__(self) -> "Progress":
        console = Console()
        if self.show and console.is_jupyter:
            self._notebook = Notebook(self.drawn)
        elif self.show and sys.stdout.isatty():
            self._live = Live(get_renderable=lambda: self.drawn(*console.size), refresh_per_second=4, console=console)
            self._live.start(refresh=True)
        elif self.show and self.warming_up:
            print(self.warming_up, flush=True)
        return self

    def __exit__(self, *exception: object) -> None:
        if self._live:
            self._live.stop()
        if self._notebook:
            self._notebook.refresh()

    def leave(self) -> None:
        """Give the terminal back, from any thread: the process ends now."""
        if self._live:
            with suppress(OSError):  # its window may be closed
                os.write(self._live.console.file.fileno(), SHOW_CURSOR)

    def stepped(self, step: int) -> None:
        self.step = step
        self.pace.stepped(step)
        if self._notebook:
            self._notebook.refresh(REFRESH)

    def trained(self, metrics: dict[str, np.ndarray]) -> None:
        """Take the metrics of the lanes that are not in quarantine."""
        self.metrics = {name: float(metrics[name].mean()) for name in SHOWN_METRICS if name in metrics}

    def evaluated(self, step: int, episodes: list[list[Episode]]) -> None:
        """Take the episodes of each lane; a lane in quarantine has none."""
        self.scores = [headline_mean(rows) if rows else None for rows in episodes]
        self.evaluation = step
        if self.show and not self._live and not self._notebook:
            names = [f"{variant} seed {seed}".strip() for variant in self.variants for seed in self.seeds]
            known = zip(names, self.scores, strict=True)
            scores = [f"{name}: {score:.1f}" for name, score in known if score is not None]
            print("  ".join([f"step {step}/{self.plan.steps}", *self._times(), *scores]), flush=True)

    @property
    def warming_up(self) -> str:
        """Say until when nothing is learnt; empty afterwards."""
        return f"warm-up until step {self.plan.warmup:,}" if self.step < self.plan.warmup else ""

    def drawn(self, width: int, height: int) -> Group:
        """Return what fits a screen."""
        head = flowed([f"step {self.step:,} of {self.plan.steps:,}", *self._times()], width)
        metrics = flowed([f"{name} {value:.3g}" for name, value in self.metrics.items()], width)
        title = f"last evaluation, at step {self.evaluation:,}" if self.evaluation else "no evaluation yet"
        title += ": mean ± std over seeds" if len(self.seeds) > 1 else ""
        count = len(self.seeds)
        scores = [self.scores[i * count : (i + 1) * count] for i in range(len(self.variants))]
        room = max(height - len(head) - len(metrics) - 3, 2)  # the bar, the title, and a line for the cursor
        lines = score_lines(self.variants, self.seeds, scores, width, room)
        bar = Table.grid()  # a bar by itself does not end its line
        bar.add_row(ProgressBar(total=self.plan.steps, completed=self.step, width=min(60, width)))
        return Group(_text(head), bar, _text([title, *lines]), *([_text(metrics, "dim")] if metrics else []))

    def _times(self) -> list[str]:
        """Say how fast it goes. Without learning nobody knows how long it takes."""
        rate, left = self.pace.rate, self.pace.left
        fields = [
            self.warming_up,
            "" if rate is None else f"{rate:,.0f} steps/s" if rate >= 10 else f"{rate:.2g} steps/s",
            f"{duration(self.pace.elapsed)} elapsed",
            "" if left is None else f"{duration(left)} left",
        ]
        return [field for field in fields if field]


class Notebook:
    """A display in a notebook's cell that is replaced again and again. Rich's own would need ipywidgets."""

    def __init__(self, drawn: Callable[[int, int], Group]):
        display = import_module("IPython.display").display  # a notebook has it

        self.drawn = drawn
        self._shown = time.monotonic()
        self._handle: Any = display(self._bundle(), raw=True, display_id=True)

    def refresh(self, after: float = 0) -> None:
        """Draw again, if the last time is so many seconds ago."""
        if time.monotonic() - self._shown >= after:
            self._handle.update(self._bundle(), raw=True)
            self._shown = time.monotonic()

    def _bundle(self) -> dict[str, str]:
        """Return the same as text and as HTML."""
        width, height = NOTEBOOK
        console = Console(
            file=io.StringIO(), record=True, width=width, height=height, force_jupyter=False, force_terminal=True,
            color_system="truecolor", legacy_windows=False,
        )  # fmt: skip
        console.print(self.drawn(width, height))
        html = console.export_html(inline_styles=True, clear=False, code_format="<pre>{code}</pre>")
        return {"text/plain": console.export_text(), "text/html": html}


def _text(lines: list[str], style: str = "") -> Text:
    return Text("\n".join(lines), style=style, no_wrap=True, overflow="ellipsis")
