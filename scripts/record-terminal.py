"""Record a training run in a terminal as an animated SVG: docs/images/train.svg.

    python scripts/record-terminal.py [--out FILE] [--seconds 24] [-- OPTIONS OF teen train]

Runs `teen train` in a pseudo-terminal of 80 × 24 characters, takes a frame whenever the screen has changed, and plays
all of them in `--seconds` seconds, over and over. Without options the run is that of `make train`.
"""

import argparse
import codecs
import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import sys
import tempfile
import termios
import textwrap
import time
from html import escape
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
OPTIONS = (
    "--algo teen --env Pendulum-v1 --seeds 3 --steps 10000 --n 5 --width 64 --warmup 1000 --lr 1e-3 --eval-every 1000"
)
COLUMNS, ROWS = 80, 24
FRAMES = 80  # at most; more would not be seen
ENDING = 4.0  # seconds for which the last frame stays
CELL, LINE, MARGIN = 8.4, 18, 16  # pixels
INK, PAPER = "#d6d9dd", "#15181c"
COLOURS = ("#3b4048", "#e06c75", "#7fc379", "#d9b36c", "#61a5ee", "#c678dd", "#4fb8c4", "#d6d9dd")
BRIGHT = ("#8a919c", "#ff7b86", "#98e08f", "#f2cc7f", "#7cbcff", "#de8ff2", "#66d3df", "#ffffff")
LEVELS = (0, 95, 135, 175, 215, 255)  # of the 6 × 6 × 6 cube of 256 colours
CODE = re.compile(r"\x1b\[([?\d;]*)([A-Za-z])|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b[()][A-Z0-9]|\x1b[=>78M]")
UNFINISHED = re.compile(r"\x1b(?:\[[?\d;]*|\][^\x07\x1b]*|[()]?)$")


class Style(NamedTuple):
    colour: str = INK
    bold: bool = False
    dim: bool = False


Cell = tuple[str, Style]
Frame = tuple[tuple[Cell, ...], ...]
EMPTY: Cell = (" ", Style())


class Screen:
    """The part of a terminal that rich's live display and plain lines need."""

    def __init__(self) -> None:
        self.rows = [[EMPTY] * COLUMNS for _ in range(ROWS)]
        self.x = self.y = 0
        self.style = Style()
        self.rest = ""

    def feed(self, text: str) -> None:
        text = self.rest + text
        unfinished = UNFINISHED.search(text)
        self.rest = unfinished[0] if unfinished else ""
        place, end = 0, len(text) - len(self.rest)
        while place < end:
            code = CODE.match(text, place)
            if code:
                self._control(code[1] or "", code[2] or "")
                place = code.end()
            else:
                self._write(text[place])
                place += 1

    def frame(self) -> Frame:
        return tuple(tuple(row) for row in self.rows)

    def _write(self, character: str) -> None:
        if character == "\r":
            self.x = 0
        elif character == "\n":
            self._down()
        elif character == "\b":
            self.x = max(self.x - 1, 0)
        elif character >= " ":
            if self.x == COLUMNS:
                self.x = 0
                self._down()
            self.rows[self.y][self.x] = (character, self.style)
            self.x += 1

    def _down(self) -> None:
        if self.y < ROWS - 1:
            self.y += 1
        else:
            self.rows = [*self.rows[1:], [EMPTY] * COLUMNS]

    def _control(self, parameters: str, letter: str) -> None:
        numbers = [int(number or 0) for number in parameters.lstrip("?").split(";")]
        many = max(numbers[0], 1)
        if letter == "m":
            self.style = restyled(self.style, numbers)
        elif letter in "AB":
            self.y = min(max(self.y + (many if letter == "B" else -many), 0), ROWS - 1)
        elif letter in "CD":
            self.x = min(max(self.x + (many if letter == "C" else -many), 0), COLUMNS - 1)
        elif letter == "G":
            self.x = min(many, COLUMNS) - 1
        elif letter == "H":
            self.y, self.x = min(many, ROWS) - 1, min(max(*numbers[1:2], 1, 1), COLUMNS) - 1
        elif letter == "K":
            first, last = ((self.x, COLUMNS), (0, self.x + 1), (0, COLUMNS))[numbers[0]]
            self.rows[self.y][first:last] = [EMPTY] * (min(last, COLUMNS) - first)
        elif letter == "J":
            self.rows[self.y][self.x :] = [EMPTY] * (COLUMNS - self.x)
            self.rows[self.y + 1 :] = [[EMPTY] * COLUMNS for _ in self.rows[self.y + 1 :]]


def restyled(style: Style, numbers: list[int]) -> Style:
    """Return the style after a code that ends in m."""
    rest = iter(numbers)
    for number in rest:
        if number == 0:
            style = Style()
        elif number == 1:
            style = style._replace(bold=True)
        elif number == 2:
            style = style._replace(dim=True)
        elif number == 22:
            style = style._replace(bold=False, dim=False)
        elif number == 39:
            style = style._replace(colour=INK)
        elif number == 38:
            kind = next(rest)
            colour = cube(next(rest)) if kind == 5 else "#" + "".join(f"{next(rest):02x}" for _ in range(3))
            style = style._replace(colour=colour)
        elif 30 <= number < 38:
            style = style._replace(colour=COLOURS[number - 30])
        elif 90 <= number < 98:
            style = style._replace(colour=BRIGHT[number - 90])
    return style


def cube(number: int) -> str:
    """Return one of the 256 colours."""
    if number < 16:
        return (COLOURS + BRIGHT)[number]
    if number < 232:
        parts = [LEVELS[(number - 16) // size % 6] for size in (36, 6, 1)]
    else:
        parts = [8 + 10 * (number - 232)] * 3
    return "#" + "".join(f"{part:02x}" for part in parts)


def record(options: list[str]) -> list[tuple[float, Frame]]:
    """Run `teen train` and return (seconds since its start, screen), one for each change."""
    screen = Screen()
    pairs = re.sub(r"(--\S+) (?!--)", "\\1\xa0", "teen train " + " ".join(options))  # a flag and its value in one line
    lines = textwrap.wrap(pairs, COLUMNS - 8, break_on_hyphens=False, break_long_words=False)
    screen.feed("$ " + " \\\r\n    ".join(lines).replace("\xa0", " ") + "\r\n")
    frames = [(0.0, screen.frame())]
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
    with tempfile.TemporaryDirectory() as folder:
        kept = {name: value for name, value in os.environ.items() if name not in ("NO_COLOR", "COLUMNS", "LINES")}
        environment = {**kept, "TERM": "xterm-256color", "PYTHONPATH": str(ROOT / "src"), "JAX_PLATFORMS": "cpu"}
        command = [sys.executable, "-m", "teen", "train", *options]
        run = subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs, env=environment, cwd=folder)
        os.close(theirs)
        start, decode = time.monotonic(), codecs.getincrementaldecoder("utf-8")().decode
        while True:
            ready, _, _ = select.select([ours], [], [], 0.1)
            try:
                data = os.read(ours, 65536) if ready else b""
            except OSError:  # the other end is closed
                break
            screen.feed(decode(data))
            quiet = not select.select([ours], [], [], 0.01)[0]  # not in the midst of a redrawing
            if quiet and screen.frame() != frames[-1][1]:
                frames.append((time.monotonic() - start, screen.frame()))
        if run.wait():
            sys.exit("\n".join("".join(character for character, _ in row).rstrip() for row in screen.frame()))
    frames.append((time.monotonic() - start, screen.frame()))
    return frames


def thinned(frames: list[tuple[float, Frame]]) -> list[tuple[float, Frame]]:
    """Return at most FRAMES of them, evenly spread over time, the first and the last included."""
    end = frames[-1][0]
    chosen = {round(seconds / end * (FRAMES - 1)): (seconds, frame) for seconds, frame in frames}
    chosen[0] = frames[0]
    return [chosen[slot] for slot in sorted(chosen)]


def svg(frames: list[tuple[float, Frame]], seconds: float) -> str:
    """Return a film strip: all frames below each other, of which one is shown at a time."""
    used = 1 + max(y for _, frame in frames for y, row in enumerate(frame) if any(c != " " for c, _ in row))
    width, height = round(COLUMNS * CELL + 2 * MARGIN), used * LINE + 2 * MARGIN
    speed = frames[-1][0] / seconds
    total = seconds + ENDING
    moves = " ".join(
        f"{100 * at / speed / total:.2f}%{{transform:translateY({-k * height}px)}}" for k, (at, _) in enumerate(frames)
    )
    last = -(len(frames) - 1) * height
    strip = "\n".join(
        f'<g transform="translate({MARGIN} {k * height + MARGIN})">{drawn(frame[:used])}</g>'
        for k, (_, frame) in enumerate(frames)
    )
    return f"""<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}">
<title>teen train in a terminal, {speed:.0f} times as fast as it was</title>
<style>
#strip {{ font: 14px ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace; fill: {INK};
white-space: pre; transform: translateY({last}px); animation: play {total:g}s step-end infinite; }}
@media (prefers-reduced-motion: reduce) {{ #strip {{ animation: none; }} }}
@keyframes play {{ {moves} 100%{{transform:translateY({last}px)}} }}
</style>
<rect width="{width}" height="{height}" rx="8" fill="{PAPER}"/>
<g id="strip">
{strip}
</g>
</svg>
"""


def drawn(frame: Frame) -> str:
    """Return the words of a frame, each at its place, whatever font the reader has."""
    texts = []
    for y, row in enumerate(frame):
        x = 0
        for style, cells in groupby(row, key=lambda cell: cell[1]):
            run = "".join(character for character, _ in cells)
            for word in re.finditer(r"\S+(?: \S+)*", run):
                bold = ' font-weight="bold"' if style.bold else ""
                dim = ' opacity=".6"' if style.dim else ""
                ink = f' fill="{style.colour}"' if style.colour != INK else ""
                place = f'x="{(x + word.start()) * CELL:.1f}" y="{(y + 0.75) * LINE:.1f}"'
                size = f'textLength="{len(word[0]) * CELL:.1f}" lengthAdjust="spacingAndGlyphs"'
                texts.append(f"<text {place} {size}{ink}{bold}{dim}>{escape(word[0], quote=False)}</text>")
            x += len(run)
    return "".join(texts)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=ROOT / "docs" / "images" / "train.svg")
    parser.add_argument("--seconds", type=float, default=24.0, help="how long it plays (default 24)")
    parser.add_argument("options", nargs="*", metavar="OPTION", default=OPTIONS.split(), help="of teen train, after --")
    flags = parser.parse_args()
    frames = record(flags.options)
    flags.out.write_text(svg(thinned(frames), flags.seconds))
    print(f"{flags.out}: {len(frames)} screens in {frames[-1][0]:.0f} s, {flags.out.stat().st_size / 1e3:.0f} kB")


if __name__ == "__main__":
    main()
