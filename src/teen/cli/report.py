"""`teen report`: a folder with a page, figures and tables of runs beside each other."""

from pathlib import Path

from ..report.runs import find, read_all
from ..report.terminal import say
from ..report.write import write
from .compare import parse_steps
from .parser import Parser


def parser() -> Parser:
    parser = Parser(prog="teen report", description="A page, figures and tables of runs beside each other.")
    parser.add_argument("runs", nargs="+", type=Path, metavar="RUN", help="a run folder, or a folder of them")
    parser.add_argument("--out", type=Path, required=True, help="the report's folder: new, empty, or an earlier report")
    parser.add_argument(
        "--steps",
        metavar="INT[,INT...]",
        help="scores at these steps too (in any case: where the runs end together, 300k, 500k and 1M)",
    )
    return parser


def command(arguments: list[str]) -> int:
    flags = parser().parse_args(arguments)
    steps = [] if flags.steps is None else parse_steps(flags.steps)
    say(str(write(read_all(find(flags.runs)), flags.out, steps)))
    return 0
