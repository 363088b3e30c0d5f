"""`teen envs`: list the tasks that can be trained on here."""

import sys

from rich.table import Table

from ..envs import catalogue
from ..errors import UserError
from ..settings import shown
from .parser import Parser
from .tables import show

OWN = "not listed: tasks of your own, which are named package.module:Id (docs/environments.md)"


def parser() -> Parser:
    parser = Parser(prog="teen envs", description="List the tasks that can be trained on here.")
    parser.add_argument("filter", nargs="?", default="", help="show only names that contain this")
    return parser


def command(arguments: list[str]) -> int:
    flags = parser().parse_args(arguments)
    tasks, missing = catalogue.tasks(flags.filter), [*catalogue.missing(), OWN]
    if not tasks:
        raise UserError(f"no task here has {shown(flags.filter)} in its name; {'; '.join(missing)}")
    table = Table(box=None, padding=(0, 2, 0, 0))
    for column in ("task", "obs", "action", "backends", "paper"):
        table.add_column(column, justify="right" if column in ("obs", "action") else "left", no_wrap=True)
    for task in tasks:
        table.add_row(task.name, str(task.spec.obs), str(task.spec.action), ", ".join(task.backends), task.paper)
    show(table)
    for line in missing:
        print(line, file=sys.stderr)
    return 0
