"""Scores of what was trained, beside the paper's and others'."""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from ..report import statistics
from ..report.compare import Scores, scores_at
from . import numbers
from .page import UNKNOWN, Row, Table, plus_minus
from .store import Trained

NOTE = (
    "Ours are mean ± sample standard deviation (n − 1) over seeds, of each seed's mean over the evaluations of the "
    f"last {statistics.LAST:,} steps and of its best evaluation so far; an IQM is of the score to its left. The paper "
    "says neither which of the two it prints nor what its ± is."
)
WINDOW = f"last {statistics.LAST // 1000}k"


class Cell(NamedTuple):
    """One entry at one step."""

    trained: Trained
    step: int
    last: np.ndarray  # (seed,) means over the last evaluations; empty where the step was not reached
    best: np.ndarray  # (seed,)
    paper: numbers.Score | None

    @property
    def env(self) -> str:
        return self.trained.need.env

    @property
    def label(self) -> str:
        return self.trained.entry.name

    @property
    def shown(self) -> bool:
        """Whether we or the paper have a number."""
        return bool(self.last.size or self.paper)

    @property
    def missing(self) -> str:
        ends = max((int(run.steps[-1]) for run in self.trained.runs), default=0)
        if self.last.size or ends >= self.step:
            return self.trained.lacking
        return f"ours end at {ends:,}" if ends else "not trained"

    def mean(self, kind: str = "last") -> float | None:
        values = self.last if kind == "last" else self.best
        return float(values.mean()) if values.size else None

    def row(self) -> Row:
        return {
            "env": self.env,
            "step": self.step,
            "label": self.label,
            "seeds": int(self.last.size),
            "wanted": len(self.trained.need.seeds),
            "last_mean": self.mean(),
            "last_std": statistics.sample_std(self.last),
            "best_mean": self.mean("best"),
            "best_std": statistics.sample_std(self.best),
            **_iqm_columns("iqm", self.last),
            **_iqm_columns("best_iqm", self.best),
            "paper_mean": self.paper.mean if self.paper else None,
            "paper_spread": self.paper.spread if self.paper else None,
            "missing": self.missing,
        }


def _iqm_columns(name: str, scores: np.ndarray) -> Row:
    interval = statistics.iqm_interval([scores]) if scores.size else (None, None, None)
    return dict(zip((name, f"{name}_low", f"{name}_high"), interval, strict=True))


def steps_shown(trained: Sequence[Trained]) -> list[int]:
    """Return the paper's steps, and those at which our runs are to end."""
    return sorted({*numbers.STEPS, *(item.need.steps for item in trained)})


def step_of_figure(ours: Iterable[int]) -> tuple[int, int]:
    """Return the step at which a figure shows our scores, and that of the paper's beside them. `ours` has the step of
    every score of ours; shown is the step that most have, the latest of several. Beside one for which the paper prints
    nothing stands the paper's last."""
    count = Counter(ours)
    shown = max(count, key=lambda step: (count[step], step), default=numbers.STEPS[-1])
    return shown, shown if shown in numbers.STEPS else numbers.STEPS[-1]


def cells(trained: Sequence[Trained], steps: Sequence[int]) -> list[Cell]:
    """Return a cell for each entry and step, ordered by task, step and entry."""
    envs = list(dict.fromkeys(item.need.env for item in trained))
    return [_cell(item, step) for env in envs for step in steps for item in trained if item.need.env == env]


def _cell(trained: Trained, step: int) -> Cell:
    scores = scores_at({"": trained.runs}, step).get("", Scores(np.empty(0), np.empty(0), 0))
    paper = numbers.in_paper(trained.entry.paper, trained.need.env, step)
    return Cell(trained, step, scores.last, scores.best, paper)


def score_tables(cells: Sequence[Cell]) -> list[Table]:
    """Return a table for each task and step at which we or the paper have a number."""
    ours = (f"ours, {WINDOW}", "IQM [95 %]", "ours, best so far", "IQM [95 %]")
    columns = ("", "seeds", *ours, "the paper", "missing")
    tables = []
    for env, step in dict.fromkeys((cell.env, cell.step) for cell in cells if cell.shown):
        lines = [_line(cell.row()) for cell in cells if (cell.env, cell.step) == (env, step)]
        tables.append(Table(f"{env} at step {step:,}", columns, lines))
    return tables


def _line(row: Row) -> list[str]:
    seeds = f"{row['seeds']} of {row['wanted']}" if row["seeds"] < row["wanted"] else str(row["seeds"])
    return [
        row["label"],
        seeds if row["seeds"] else UNKNOWN,
        plus_minus(row["last_mean"], row["last_std"]),
        _interval(row, "iqm"),
        plus_minus(row["best_mean"], row["best_std"]),
        _interval(row, "best_iqm"),
        plus_minus(row["paper_mean"], row["paper_spread"]),
        row["missing"],
    ]


def _interval(row: Row, name: str) -> str:
    if not row["seeds"]:
        return UNKNOWN
    return f"{row[name]:.0f} [{row[f'{name}_low']:.0f}, {row[f'{name}_high']:.0f}]"


def reference_tables(cells: Sequence[Cell]) -> list[Table]:
    """Return what others measured with the same algorithm on the same task, at the same step; no table for nothing."""
    rows = []
    for cell in cells:
        for reference in numbers.references(cell.trained.entry.paper, cell.env, cell.step):
            place = cell.env, f"{cell.step:,}", reference.algo, reference.env
            last = f"{plus_minus(*reference.last)} ({reference.window})" if reference.last else UNKNOWN
            best = plus_minus(*reference.best) if reference.best else UNKNOWN
            rows.append([*place, last, best, str(reference.seeds), reference.source, reference.note])
    columns = ("task", "step", "algorithm", "version", "last", "best so far", "seeds", "source", "note")
    return [Table("Others' results", columns, rows)] if rows else []
