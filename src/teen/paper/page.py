"""What an experiment leaves in its folder: a page in Markdown, its numbers as CSV, and pictures."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from ..disk.files import write_atomically
from ..disk.logs import csv_table
from ..errors import UserError

UNKNOWN = "–"

Row = dict[str, Any]  # a value of None is unknown
Picture = tuple[str, bytes]  # file name and content


class Table(NamedTuple):
    heading: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]

    def markdown(self) -> str:
        lines: list[Sequence[str]] = [self.columns, ["---"] * len(self.columns), *self.rows]
        texts = ["| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |" for cells in lines]
        return "\n".join([f"## {self.heading}", "", *texts])


class Page(NamedTuple):
    tables: Sequence[Table]
    data: dict[str, list[Row]]  # by file name, without .csv
    pictures: Iterable[Picture]
    notes: Sequence[str] = ()


def plus_minus(mean: float | None, std: float | None) -> str:
    """Return a mean and its spread with as many digits as a table of returns needs."""
    if mean is None:
        return UNKNOWN
    digits = 0 if abs(mean) >= 100 else 1
    return f"{mean:.{digits}f} ± {UNKNOWN if std is None else f'{std:.{digits}f}'}"


def write_page(page: Page, folder: Path, name: str, title: str, notes: Sequence[str]) -> Path:
    """Write the pictures, the CSV files and the Markdown page `name`.md, and return the path of the page."""
    pictures = list(page.pictures)
    parts = [
        f"# {title[:1].upper()}{title[1:]}",
        "\n".join(f"- {note}" for note in (*notes, *page.notes)),
        *(f"![{Path(file).stem}]({file})" for file, _ in pictures if file.endswith(".png")),
        *(table.markdown() for table in page.tables),
    ]
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for file, content in pictures:
            write_atomically(folder / file, content)
        for file, rows in page.data.items():
            write_atomically(folder / f"{file}.csv", csv_table(rows).encode())
        write_atomically(folder / f"{name}.md", ("\n\n".join(filter(None, parts)) + "\n").encode())
    except OSError as error:
        raise UserError(f"{folder} cannot be written: {error.strerror}") from None
    return folder / f"{name}.md"


def figure_files(name: str, plot: Callable[[], Any]) -> Iterator[Picture]:
    """Yield a matplotlib figure as PNG and PDF, in the style of the report's figures."""
    from ..report.figures import files  # matplotlib takes long to import

    yield from files(name, plot)
