"""`teen compare`: tables of runs beside each other."""

import sys
from pathlib import Path

from ..errors import UserError
from ..report.compare import compare, to_csv
from ..report.runs import find, read_all
from ..report.tables import print_tables
from ..report.terminal import say
from .parser import Parser


def parser() -> Parser:
    parser = Parser(prog="teen compare", description="Runs beside each other, with intervals.")
    parser.add_argument("runs", nargs="+", type=Path, metavar="RUN", help="a run folder, or a folder of them")
    parser.add_argument(
        "--steps",
        metavar="INT[,INT...]",
        help="at these steps (default: where the runs end together, 300k, 500k and 1M)",
    )
    parser.add_argument("--csv", type=Path, help="write scores there, and the rest beside it")
    parser.add_argument("--reference", help="the label that is 1 where environments are put together (default td3)")
    return parser


def command(arguments: list[str]) -> int:
    flags = parser().parse_args(arguments)
    steps = None if flags.steps is None else parse_steps(flags.steps)
    comparison = compare(read_all(find(flags.runs)), steps, flags.reference)
    print_tables(comparison)
    for note in comparison.notes:
        say(note, sys.stderr)
    if flags.csv:
        to_csv(comparison.scores, flags.csv)
        for name in ("improvement", "normalised"):
            to_csv(getattr(comparison, name), flags.csv.with_stem(f"{flags.csv.stem}-{name}"))
    return 0


def parse_steps(text: str) -> list[int]:
    try:
        steps = [int(part) for part in text.split(",")]
    except ValueError:
        steps = []
    if not steps or min(steps) < 1:
        raise UserError(f"--steps {text!r} names no steps: write 300000,1000000")
    return steps
