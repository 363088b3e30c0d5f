"""CSV files whose second column is the step and whose rows of one step belong together: written again, they replace
the earlier ones."""

import csv
import fcntl
import io
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from ..errors import UserError
from .files import write_atomically


def replace_step(path: Path, columns: Sequence[str], step: int, rows: Sequence[Sequence[Any]]) -> None:
    """The rows of this step; those of other steps are kept."""
    _rewrite(path, columns, lambda other: other != step, rows)


def forget_after(path: Path, columns: Sequence[str], step: int) -> None:
    """Removes rows of later steps, of a run that goes on from this one."""
    if path.exists():
        _rewrite(path, columns, lambda other: other <= step, [])


def _rewrite(path: Path, columns: Sequence[str], keep: Callable[[int], bool], rows: Sequence[Sequence[Any]]) -> None:
    with _alone(path.parent):
        kept = [row for row in _read(path, columns) if keep(int(row[1]))]
        text = io.StringIO()
        csv.writer(text, lineterminator="\n").writerows([columns, *kept, *rows])
        write_atomically(path, text.getvalue().encode())


def _read(path: Path, columns: Sequence[str]) -> list[list[str]]:
    try:
        text = path.read_text() if path.exists() else ""
        header, *rows = list(csv.reader(io.StringIO(text))) or [list(columns)]
        if header != list(columns):
            raise ValueError(f"its first line is not {','.join(columns)}")
        for number, row in enumerate(rows, 2):
            if len(row) != len(columns) or not row[1].isdecimal():
                raise ValueError(f"line {number} is not {','.join(columns)}")
    except (ValueError, csv.Error) as error:
        raise UserError(f"{path} is damaged: {error}") from None
    return rows


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Training and an analysis of the same run take turns."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        with suppress(OSError):  # a network's file system may not lock folders; there, one of two writers may lose rows
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)
