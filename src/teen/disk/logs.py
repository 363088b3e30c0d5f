"""The CSV logs of a run folder: their columns, their writer and their reader.

A log may be compressed (`eval.csv.gz`). Rows are written whole, so that a run that is cut leaves whole lines.
"""

import csv
import fcntl
import gzip
import io
import os
import re
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import UserError
from .files import write_atomically

if TYPE_CHECKING:
    from ..spec import Tables  # imports JAX, which readers of logs do without

EVAL, TRAIN, QUARANTINE = "eval.csv", "train.csv", "quarantine.csv"
DIAGNOSTICS, MEMBERS, CONFUSION = "diagnostics.csv", "members.csv", "confusion.csv"
COLUMNS: dict[str, tuple[str, ...]] = {
    EVAL: ("seed", "step", "policy", "episode", "return", "length"),
    TRAIN: ("seed", "step"),  # and the algorithm's metrics
    QUARANTINE: ("seed", "step", "quantity"),
    DIAGNOSTICS: ("seed", "step", "quantity", "value"),
    MEMBERS: ("seed", "step", "policy", "episode", "return"),
    CONFUSION: ("seed", "step", "member", "guess", "share"),
}
APPENDED = (EVAL, TRAIN, QUARANTINE)  # written row by row; a checkpoint knows how long each was
REPLACED = (DIAGNOSTICS, MEMBERS, CONFUSION)  # a diagnosis of the same step replaces its rows

LARGEST_LOG = 2**30  # bytes
LARGEST_STEP = 2**53  # metrics are read as floats; up to here their steps are exact
MOST_MEMBERS = 10_000  # a larger number is a damaged file

Row = dict[str, str]


def csv_text(rows: Iterable[Sequence[Any]]) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue()


def csv_table(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return rows with a header. All have the columns of the first; a value of None is an empty cell."""
    text = io.StringIO()
    writer = csv.DictWriter(text, list(rows[0]) if rows else [], lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def append(folder: Path, name: str, rows: Sequence[Sequence[Any]], columns: Sequence[str] | None = None) -> None:
    """Add rows to a log. A new log begins with its columns."""
    path = folder / name
    header = [] if path.exists() else [columns or COLUMNS[name]]
    with path.open("a") as file:
        file.write(csv_text([*header, *rows]))


def write_diagnosis(folder: Path, step: int, seeds: Sequence[tuple[int, "Tables"]]) -> None:
    """Write the tables of each seed in place of earlier rows of this step."""
    for name in REPLACED:
        if rows := [(seed, step, *row) for seed, tables in seeds for row in tables.get(name, ())]:
            _rewrite(folder, name, lambda other: other != step, rows)


def remove_after(folder: Path, name: str, step: int) -> None:
    """Remove rows of later steps, where a run goes on from this one."""
    if (folder / name).exists():
        _rewrite(folder, name, lambda other: other <= step, [])


def _rewrite(folder: Path, name: str, keep: Callable[[int], bool], rows: Sequence[Sequence[Any]]) -> None:
    with _exclusive(folder):
        kept = [row for row in read_whole(folder, name) if keep(int(row[1]))]
        write_atomically(folder / name, csv_text([COLUMNS[name], *kept, *rows]).encode())


@contextmanager
def _exclusive(folder: Path) -> Iterator[None]:
    """Let training and an analysis of the same run take turns."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        with suppress(OSError):  # some network file systems cannot lock folders: one of two writers may lose rows there
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


@contextmanager
def read_log(folder: Path, name: str) -> Iterator[list[Row]]:
    """Yield the rows of a log; none if there is no such file. A ValueError or KeyError raised inside the block becomes
    a UserError that calls this file damaged."""
    path = find_log(folder, name)
    with naming_damage(path):
        yield parse(read_bytes(path)) if path else []


def read_whole(folder: Path, name: str) -> list[list[str]]:
    """Return the rows of a log that will be written again. Nothing in it is passed over, as nothing may get lost."""
    path = find_log(folder, name)
    with naming_damage(path):
        return parse_whole(read_bytes(path) if path else b"", COLUMNS[name])


@contextmanager
def naming_damage(path: Path | None) -> Iterator[None]:
    """Turn what goes wrong inside the block into a UserError that calls the file damaged."""
    try:
        yield
    except UserError:
        raise
    except KeyError as error:
        raise UserError(f"{path} is damaged: it has no column {error}") from None
    except (ValueError, csv.Error) as error:
        raise UserError(f"{path} is damaged: {error}") from None


def find_log(folder: Path, name: str) -> Path | None:
    """Return the log's path, compressed or not."""
    for path in (folder / name, folder / f"{name}.gz"):
        if os.path.isfile(path):  # also False where access is denied
            return path
    return None


def read_bytes(path: Path) -> bytes:
    try:
        with gzip.open(path, "rb") if path.suffix == ".gz" else path.open("rb") as file:
            data = file.read(LARGEST_LOG + 1)
    except (OSError, EOFError, zlib.error) as error:
        raise UserError(f"{path} cannot be read: {error}") from None
    if len(data) > LARGEST_LOG:
        raise UserError(f"{path} is too large")
    return data


def parse(data: bytes) -> list[Row]:
    """Return the rows of a log, without a last line that is still being written."""
    text = data.decode(errors="replace")
    beginning = ",".join(COLUMNS[TRAIN]) + ","  # of every log
    complete = text[: text.rfind("\n") + 1]
    if not complete and not beginning.startswith(text[: len(beginning)]):
        raise ValueError(f"it does not begin with {beginning}")
    rows = list(csv.DictReader(io.StringIO(complete)))
    for number, row in enumerate(rows, 2):
        if None in row or None in row.values():
            raise ValueError(f"line {number} has too {'many' if None in row else 'few'} columns")
    return rows


def parse_whole(data: bytes, columns: Sequence[str]) -> list[list[str]]:
    """Return the rows of a log that has these columns and no line that is cut."""
    header, *rows = list(csv.reader(io.StringIO(data.decode(errors="replace")))) or [list(columns)]
    if header != list(columns):
        raise ValueError(f"its first line is not {','.join(columns)}")
    for number, row in enumerate(rows, 2):
        if len(row) != len(columns) or not re.fullmatch(r"\d{1,16}", row[1]):
            raise ValueError(f"line {number} is not {','.join(columns)}")
    return rows


def bounded(text: str, most: int) -> int:
    """Return a whole number from 0 to `most`, or raise ValueError."""
    number = int(text)
    if not 0 <= number <= most:
        raise ValueError(f"{text} is out of range")
    return number
