"""CSV files whose second column is the step and whose rows of one step belong together: written again, they replace
the earlier ones."""

import csv
import io
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from .errors import UserError
from .files import write_beside


def replace_step(path: Path, columns: Sequence[str], step: int, rows: Sequence[Sequence[Any]]) -> None:
    """The rows of this step; those of other steps are kept."""
    _rewrite(path, columns, lambda other: other != step, rows)


def forget_after(path: Path, columns: Sequence[str], step: int) -> None:
    """Removes rows of later steps, of a run that goes on from this one."""
    if path.exists():
        _rewrite(path, columns, lambda other: other <= step, [])


def _rewrite(path: Path, columns: Sequence[str], keep: Callable[[int], bool], rows: Sequence[Sequence[Any]]) -> None:
    try:
        before = list(csv.reader(io.StringIO(path.read_text()))) if path.exists() else []
        if before and before[0] != list(columns):
            raise ValueError(f"its first line is not {','.join(columns)}")
        kept = [row for row in before[1:] if keep(int(row[1]))]
    except (ValueError, IndexError, csv.Error) as error:
        raise UserError(f"{path} is damaged: {error}") from None
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows([columns, *kept, *rows])
    write_beside(path, text.getvalue().encode())
