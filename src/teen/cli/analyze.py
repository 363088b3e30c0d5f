"""`teen analyze`: diagnose trained agents and print the quantities."""

from pathlib import Path

import numpy as np
from rich.table import Table

from ..errors import UserError
from ..report import runs
from ..training.analyze import Measured, analyze
from ..training.scores import std
from .parser import Parser, add_trust
from .tables import show


def parser() -> Parser:
    parser = Parser(prog="teen analyze", description="Measure bias, entropies and members of trained agents.")
    parser.add_argument("runs", nargs="+", type=Path, metavar="RUN", help="run folders, or folders that hold some")
    parser.add_argument("--episodes", type=int, default=10, help="episodes behind each quantity (default 10)")
    parser.add_argument("--seed", type=int, default=0, help="chooses other starting states (default 0)")
    add_trust(parser)
    return parser


def command(arguments: list[str]) -> int:
    flags = parser().parse_args(arguments)
    if flags.episodes < 1 or flags.seed < 0:
        raise UserError("--episodes must be at least 1 and --seed at least 0")
    for path in runs.find(flags.runs, links=False):
        _show(path, analyze(path, flags.episodes, flags.seed, flags.trust))
    return 0


def _show(path: Path, measured: Measured) -> None:
    """Print the mean and standard deviation of each quantity over the seeds."""
    quantities: dict[str, list[float]] = {}
    for _, name, value in measured.quantities:
        quantities.setdefault(name, []).append(value)
    table = Table(title=f"{path} after {measured.step} steps", title_justify="left")
    for column in ("quantity", "seeds", "mean", "std"):
        table.add_column(column, justify="left" if column == "quantity" else "right")
    for name, values in quantities.items():
        table.add_row(name, str(len(values)), f"{np.mean(values):.4g}", std(values, ".4g"))
    show(table)
