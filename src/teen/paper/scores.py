"""Scores of what was trained, beside the paper's and others'."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ..report import statistics
from ..report.compare import scores_at
from . import numbers
from .draw import UNKNOWN, Row, Table, spread
from .store import Trained

NOTE = (
    "Ours are mean ± standard deviation over seeds, of each seed's mean over the evaluations of the last "
    f"{statistics.LAST:,} steps and of its best evaluation so far; an IQM is of the score to its left. The paper says "
    "neither which of the two it prints nor what its ± is."
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
    def why_none(self) -> str:
        if self.last.size:
            return ""
        ends = max((int(run.steps[-1]) for run in self.trained.runs), default=0)
        if ends >= self.step:
            return self.trained.lacking
        return f"ours end at {ends:,}" if ends else "not trained"

    def mean(self, kind: str = "last") -> float | None:
        values = self.last if kind == "last" else self.best
        return float(values.mean()) if values.size else None

    def row(self) -> Row:
        entry = self.trained.entry
        iqm, best_iqm = statistics.iqm_interval([self.last]), statistics.iqm_interval([self.best])
        known = self.last.size > 0
        return {
            "env": entry.need.env,
            "step": self.step,
            "label": entry.name,
            "seeds": int(self.last.size),
            "wanted": len(entry.need.seeds),
            "last_mean": self.mean(),
            "last_std": float(self.last.std()) if known else None,
            "best_mean": self.mean("best"),
            "best_std": float(self.best.std()) if known else None,
            "iqm": iqm.value if known else None,
            "iqm_low": iqm.low if known else None,
            "iqm_high": iqm.high if known else None,
            "best_iqm": best_iqm.value if known else None,
            "best_iqm_low": best_iqm.low if known else None,
            "best_iqm_high": best_iqm.high if known else None,
            "paper_mean": self.paper.mean if self.paper else None,
            "paper_spread": self.paper.spread if self.paper else None,
            "missing": self.why_none or self.trained.lacking,
        }


def steps_shown(trained: Sequence[Trained], paper: Sequence[int] = numbers.STEPS) -> list[int]:
    """The paper's, and where our runs are to end."""
    return sorted({*paper, *(own.need.steps for own in trained)})


def cells(trained: Sequence[Trained], steps: Sequence[int]) -> list[Cell]:
    """Ordered by task, step and entry."""
    envs = list(dict.fromkeys(own.need.env for own in trained))
    return [_cell(own, step) for env in envs for step in steps for own in trained if own.need.env == env]


def _cell(trained: Trained, step: int) -> Cell:
    entry = trained.entry
    scores = scores_at({"": trained.runs}, step).get("") if trained.runs else None
    last, best = (scores.last, scores.best) if scores else (np.empty(0), np.empty(0))
    paper = numbers.in_paper(entry.paper, entry.need.env, step) if entry.paper else None
    return Cell(trained, step, last, best, paper)


def tables(found: Sequence[Cell]) -> list[Table]:
    """One for each task and step. Where neither the paper nor we have a number there is none."""
    groups: dict[tuple[str, int], list[Cell]] = {}
    for cell in found:
        groups.setdefault((cell.trained.need.env, cell.step), []).append(cell)
    ours = (f"ours, {WINDOW}", "IQM [95 %]", "ours, best so far", "IQM [95 %]")
    columns = ("", "seeds", *ours, "the paper", "missing")
    return [
        Table(f"{env} at step {step:,}", columns, [_line(cell) for cell in own])
        for (env, step), own in groups.items()
        if any(cell.last.size or cell.paper for cell in own)
    ]


def _line(cell: Cell) -> list[str]:
    row = cell.row()
    seeds = f"{row['seeds']} of {row['wanted']}" if row["seeds"] < row["wanted"] else str(row["seeds"])
    return [
        row["label"],
        seeds if row["seeds"] else UNKNOWN,
        spread(row["last_mean"], row["last_std"]),
        _interval(row, "iqm"),
        spread(row["best_mean"], row["best_std"]),
        _interval(row, "best_iqm"),
        spread(row["paper_mean"], row["paper_spread"]),
        row["missing"],
    ]


def _interval(row: Row, name: str) -> str:
    if not row["seeds"]:
        return UNKNOWN
    return f"{row[name]:.0f} [{row[f'{name}_low']:.0f}, {row[f'{name}_high']:.0f}]"


def others(found: Sequence[Cell]) -> list[Table]:
    """What others measured with the same algorithm on the same task, at the same step."""
    rows = [
        [
            cell.trained.need.env,
            f"{cell.step:,}",
            reference.algo,
            reference.env,
            f"{spread(*reference.last)} ({reference.window})" if reference.last else UNKNOWN,
            spread(*reference.best) if reference.best else UNKNOWN,
            str(reference.seeds),
            reference.source,
            reference.note,
        ]
        for cell in found
        if cell.trained.entry.paper
        for reference in numbers.others(cell.trained.entry.paper, cell.trained.need.env, cell.step)
    ]
    columns = ("task", "step", "algorithm", "version", "last", "best so far", "seeds", "source", "note")
    return [Table("Others' results", columns, rows)] if rows else []
