"""The CSV logs of a run folder: their columns, their writer and their reader.

A log may be compressed (`eval.csv.gz`). Rows are written whole, so that a run that is cut leaves whole lines. What is
read may be a stranger's: it is read piece by piece, within bounds.
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
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, TextIO

from ..errors import UserError
from . import files

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

# Ten seeds of a million steps write forty thousand lines, or two million bytes. What has a hundred times as much is
# read; what has more is refused.
LARGEST_LOG, LARGEST_PACKED = 2**28, 2**25  # bytes; packed: of a compressed log
MOST_LINES, LONGEST_LINE = 4_000_000, 2**18  # lines, and bytes of one
MOST_COLUMNS, LONGEST_NAME = 256, 100  # columns, and characters of a name
ROWS = 1000  # that are parsed at a time

ENCODING = "utf-8-sig"  # some editors begin a file with a byte order mark, which is passed over
LARGEST_STEP = 2**53  # metrics are read as floats; up to here their steps are exact
MOST_MEMBERS = 10_000  # a larger number is a damaged file

Row = dict[str, str]
Columns = dict[str, tuple[str, ...]]


class TooLarge(ValueError):
    """A log has more of something than can be read."""


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
    """Add rows to a log. A new log begins with its columns, and so does one that was emptied."""
    with open(folder / name, "a", encoding="utf-8", opener=files.regular) as file:
        header = [] if file.tell() else [columns or COLUMNS[name]]
        file.write(csv_text([*header, *rows]))


def header(folder: Path, name: str) -> list[str]:
    """Return the columns of a log that is being written; none if it has not begun."""
    try:
        with files.opened(folder, name) as file:
            return next(csv.reader([file.readline(LONGEST_LINE).decode(ENCODING, errors="replace")]), [])
    except FileNotFoundError:
        return []


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
        kept = read_whole(folder, name, keep)
        files.write_atomically(folder / name, (csv_text([COLUMNS[name]]) + kept + csv_text(rows)).encode())


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
def read_log(folder: Path, name: str) -> Iterator[Iterator[Row]]:
    """Yield the rows of a log, one at a time, as `read_columns` does."""
    with read_columns(folder, name) as pieces:
        yield (dict(zip(piece, row, strict=True)) for piece in pieces for row in zip(*piece.values(), strict=True))


@contextmanager
def read_columns(folder: Path, name: str) -> Iterator[Iterator[Columns]]:
    """Yield a log by columns, a thousand rows at a time; nothing if there is no such file. A ValueError or KeyError
    raised inside the block becomes a UserError that calls this file damaged, a TooLarge one that calls it too large."""
    path = find_log(folder, name)
    with naming_damage(path):
        if path is None:
            yield iter(())
        else:
            with _unpacked(path, MOST_LINES) as text:
                yield parse(text)


def read_whole(folder: Path, name: str, keep: Callable[[int], bool] = lambda step: True) -> str:
    """Return the rows of a log that will be written again, those of the steps to keep, as text. Nothing else in it is
    passed over, as nothing may get lost."""
    path = find_log(folder, name)
    with naming_damage(path):
        if path is None:
            return ""
        with _unpacked(path, LARGEST_LOG) as text:  # a run that is being trained may have as many lines as it likes
            return csv_text(row for row in _checked(text, COLUMNS[name]) if keep(int(row[1])))


@contextmanager
def naming_damage(path: Path | None) -> Iterator[None]:
    """Turn what goes wrong inside the block into a UserError that names the file."""
    try:
        yield
    except UserError:
        raise
    except TooLarge as error:
        raise UserError(f"{path} is too large: {error}") from None
    except KeyError as error:
        raise UserError(f"{path} is damaged: it has no column {error}") from None
    except (ValueError, csv.Error) as error:
        raise UserError(f"{path} is damaged: {error!s:.200}") from None  # it may quote the file
    except (OSError, EOFError, zlib.error) as error:
        raise UserError(f"{path} cannot be read: {getattr(error, 'strerror', None) or error}") from None


def find_log(folder: Path, name: str) -> Path | None:
    """Return the log's path, compressed or not. What is there need not be a file: reading it says so."""
    for path in (folder / name, folder / f"{name}.gz"):
        if os.path.lexists(path):  # also False where access is denied
            return path
    return None


@contextmanager
def _unpacked(path: Path, most_lines: int) -> Iterator[TextIO]:
    """Open a log whose size is within the bounds."""
    with files.opened(path.parent, path.name) as file:
        unpacked = file
        if path.suffix == ".gz":
            if os.fstat(file.fileno()).st_size > LARGEST_PACKED:
                raise TooLarge(f"it has more than {LARGEST_PACKED:,} bytes")
            unpacked = io.BufferedReader(gzip.GzipFile(fileobj=file))
        _check_size(unpacked, most_lines)
        unpacked.seek(0)
        with io.TextIOWrapper(unpacked, ENCODING, errors="replace", newline="\n") as text:
            yield text


def _check_size(file: BinaryIO, most_lines: int) -> None:
    """Look through a file, which is a hundred times faster than to parse it."""
    size = lines = 0
    while piece := file.read(files.PIECE):
        size, lines = size + len(piece), lines + piece.count(b"\n")
        if size > LARGEST_LOG:
            raise TooLarge(f"it has more than {LARGEST_LOG:,} bytes")
        if lines > most_lines:
            raise TooLarge(f"it has more than {most_lines:,} lines")
        for begin in range(0, len(piece) - LONGEST_LINE + 1, LONGEST_LINE):
            if piece.find(b"\n", begin, begin + LONGEST_LINE) < 0:
                raise TooLarge(f"a line has more than {LONGEST_LINE:,} bytes")


def parse(text: TextIO) -> Iterator[Columns]:
    """Yield the columns of a log, without a last line that is still being written."""
    rows = filter(None, csv.reader(chain.from_iterable(_whole_lines(text))))
    header = next(rows, [])
    if len(header) > MOST_COLUMNS or any(len(name) > LONGEST_NAME for name in header):
        raise TooLarge(f"it has more than {MOST_COLUMNS} columns, or one whose name is longer than {LONGEST_NAME}")
    first = 2
    while piece := list(islice(rows, ROWS)):
        if set(map(len, piece)) != {len(header)}:
            number, row = next((i, row) for i, row in enumerate(piece, first) if len(row) != len(header))
            raise ValueError(f"line {number} has too {'many' if len(row) > len(header) else 'few'} columns")
        yield dict(zip(header, zip(*piece, strict=True), strict=True))
        first += len(piece)


def _whole_lines(text: TextIO) -> Iterator[list[str]]:
    beginning = ",".join(COLUMNS[TRAIN]) + ","  # of every log
    first = True
    while lines := list(islice(text, ROWS)):
        if not lines[-1].endswith("\n"):
            part = lines.pop()
            if first and not lines and not beginning.startswith(part[: len(beginning)]):
                raise ValueError(f"it does not begin with {beginning}")
        first = False
        yield lines


def parse_whole(data: bytes, columns: Sequence[str]) -> list[list[str]]:
    """Return the rows of a log that has these columns and no line that is cut."""
    return list(_checked(io.StringIO(data.decode(ENCODING, errors="replace")), columns))


def _checked(text: TextIO, columns: Sequence[str]) -> Iterator[list[str]]:
    rows = csv.reader(text)
    if next(rows, list(columns)) != list(columns):
        raise ValueError(f"its first line is not {','.join(columns)}")
    for number, row in enumerate(rows, 2):
        if len(row) != len(columns) or not re.fullmatch(r"\d{1,16}", row[1]):
            raise ValueError(f"line {number} is not {','.join(columns)}")
        yield row


def whole_numbers(texts: Sequence[str], most: int) -> list[int]:
    """Return whole numbers from 0 to `most`, or raise ValueError."""
    numbers = list(map(int, texts))
    for number in (min(numbers), max(numbers)):
        if not 0 <= number <= most:
            raise ValueError(f"{number!s:.40} is out of range")
    return numbers


def bounded(text: str, most: int) -> int:
    """Return a whole number from 0 to `most`, or raise ValueError."""
    return whole_numbers([text], most)[0]
