"""Print text that comes from files and paths: no control codes, no markup, no character that the terminal lacks."""

import sys
from typing import TextIO

from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.table import Table

from ..errors import printable


class _Printable:
    """What rich makes of a part, without control codes but its own."""

    def __init__(self, part: RenderableType):
        self.part = part

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        for segment in console.render(self.part, options):
            if not segment.control:
                yield segment._replace(text="\n".join(map(printable, segment.text.split("\n"))))


def show(*parts: RenderableType) -> None:
    """Print lines of text and tables. A pipe has no width of its own: it gets 100 columns."""
    width = None if sys.stdout.isatty() else 100
    console = Console(width=width, markup=False, emoji=False, highlight=False)
    with console.capture() as captured:
        for part in map(_one_line, parts):
            console.print(_Printable(part))
    _write(captured.get(), sys.stdout)


def say(line: str, stream: TextIO | None = None) -> None:
    """Print one line, by default on standard output."""
    _write(f"{printable(line)}\n", stream or sys.stdout)


def _one_line(part: RenderableType) -> RenderableType:
    """Keep the titles of tables from beginning lines of their own."""
    if isinstance(part, Table):
        part.title, part.caption = (printable(t) if isinstance(t, str) else t for t in (part.title, part.caption))
    return printable(part) if isinstance(part, str) else part


def _write(text: str, stream: TextIO) -> None:
    encoding = stream.encoding or "utf-8"
    stream.write(text.encode(encoding, "replace").decode(encoding))
    stream.flush()
