"""What an experiment leaves in its folder: a page in Markdown, its numbers as CSV, and pictures."""

import csv
import io
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from ..disk.files import write_atomically
from ..errors import UserError

UNKNOWN = "–"

Row = dict[str, Any]  # a value of None is unknown
Picture = tuple[str, bytes]  # file name, content


class Table(NamedTuple):
    heading: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]

    def markdown(self) -> str:
        lines: list[Sequence[str]] = [self.columns, ["---"] * len(self.columns), *self.rows]
        return "\n".join([f"## {self.heading}", "", *(_line(cells) for cells in lines)])


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


class Page(NamedTuple):
    tables: list[Table]
    data: dict[str, list[Row]]  # by file name, without .csv
    pictures: Iterable[Picture]
    notes: Sequence[str] = ()


def spread(mean: float | None, std: float | None) -> str:
    """As many digits as a table of returns needs."""
    if mean is None or std is None:
        return UNKNOWN
    digits = 0 if abs(mean) >= 100 else 1
    return f"{mean:.{digits}f} ± {std:.{digits}f}"


def write(page: Page, folder: Path, name: str, title: str, notes: Sequence[str]) -> Path:
    """Returns the page in Markdown, which is named after the experiment."""
    pictures = list(page.pictures)
    shown = [f"![{Path(file).stem}]({file})" for file, _ in pictures if file.endswith(".png")]
    caption = [f"- {note}" for note in (*notes, *page.notes)]
    parts = [
        f"# {title[:1].upper()}{title[1:]}",
        "\n".join(caption),
        *shown,
        *(table.markdown() for table in page.tables),
    ]
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for file, content in pictures:
            write_atomically(folder / file, content)
        for file, rows in page.data.items():
            write_atomically(folder / f"{file}.csv", _csv(rows).encode())
        write_atomically(folder / f"{name}.md", ("\n\n".join(filter(None, parts)) + "\n").encode())
    except OSError as error:
        raise UserError(f"{folder} cannot be written: {error.strerror}") from None
    return folder / f"{name}.md"


def _csv(rows: Sequence[Row]) -> str:
    """What is unknown is empty."""
    text = io.StringIO()
    writer = csv.DictWriter(text, list(rows[0]) if rows else [], lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def pictures(name: str, make: Callable[[], Any]) -> Iterator[Picture]:
    """A matplotlib figure, in the style of the report's."""
    from ..report.figures import files

    yield from files(name, make)
