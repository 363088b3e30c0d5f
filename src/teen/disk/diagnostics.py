"""The files of a diagnosis. A lane's part of each is rows without seed and step, which come first on disk."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from .stepwise import forget_after, replace_step

COLUMNS = {
    "diagnostics.csv": ("quantity", "value"),
    "members.csv": ("policy", "episode", "return"),
    "confusion.csv": ("member", "guess", "share"),
}

Tables = dict[str, list[tuple[Any, ...]]]  # by file; what does not apply is absent


def write(folder: Path, step: int, seeds: Sequence[tuple[int, Tables]]) -> None:
    """Rows of the same step are replaced, others are kept."""
    for name, columns in COLUMNS.items():
        rows = [(seed, step, *row) for seed, own in seeds for row in own.get(name, ())]
        if rows:
            replace_step(folder / name, ("seed", "step", *columns), step, rows)


def forget(folder: Path, step: int) -> None:
    """What is later than this step, of a run that goes on from it."""
    for name, columns in COLUMNS.items():
        forget_after(folder / name, ("seed", "step", *columns), step)
