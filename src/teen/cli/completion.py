"""`teen completion`: a script with which a shell completes commands, flags, choices and paths.

The script is static: to ask the parsers at every Tab would import JAX each time, which takes seconds.
"""

import importlib
from argparse import Action
from pathlib import Path
from typing import Any, get_args

from .. import __version__, algos
from ..config import presets
from ..envs import catalogue
from ..errors import UserError
from ..paper.experiments import EXPERIMENTS
from ..settings import leaves
from .main import COMMANDS
from .parser import Parser

SHELLS = ("bash", "zsh", "fish")
FOLDERS = ("run", "runs", "folder", "resume", "from_")  # arguments that name a folder which is there
PATHS = ("out",)  # arguments that are paths, though their type does not say so


def parser() -> Parser:
    parser = Parser(prog="teen completion", description="Print a script that completes commands and flags.")
    parser.add_argument("shell", choices=SHELLS, help="the shell that reads it")
    return parser


def command(arguments: list[str]) -> int:
    flags = parser().parse_args(arguments)
    try:
        import shtab
    except ImportError:
        raise UserError('teen completion needs shtab: pip install "teen-rl[completion]"') from None
    print(shtab.complete(_tree(shtab), flags.shell))
    return 0


def _tree(shtab: Any) -> Parser:
    """Return one parser that has all commands, as shtab reads it. It parses nothing."""
    root = Parser(prog="teen")
    root.add_argument("-V", "--version", action="version", version=__version__, help="print the version")
    commands, choices = root.add_subparsers(), _choices()
    for name in COMMANDS:
        own = importlib.import_module(f".{name}", __package__).parser()
        for action in own._actions:
            _describe(action, shtab, choices)
        commands.add_parser(name, parents=[own], add_help=False, description=own.description, help=own.description)
    return root


def _describe(action: Action, shtab: Any, choices: dict[str, list[str]]) -> None:
    """Say what an argument is completed with, and shorten its help to what it does: defaults differ by algorithm."""
    action.help = action.help and action.help.partition(" (default")[0]
    if action.dest in FOLDERS:
        action.complete = shtab.DIRECTORY  # type: ignore[attr-defined]
    elif action.type is Path or action.dest in PATHS:
        action.complete = shtab.FILE  # type: ignore[attr-defined]
    elif action.dest in choices:
        action.choices = choices[action.dest]
    elif isinstance(action.metavar, str) and action.metavar.startswith("{"):  # a setting that takes one of a few words
        action.choices = action.metavar.strip("{}").split(",")


def _choices() -> dict[str, list[str]]:
    """Return the words that arguments are likely to get. Parsers accept others, too: modules of one's own."""
    settings = [leaf for name in algos.NAMES for leaf in leaves(algos.default_config(name))]
    return {
        "algo": [*algos.NAMES],
        "base": sorted({word for leaf in settings if leaf.name == "base" for word in get_args(leaf.type)}),
        "env": catalogue.likely(),
        "preset": presets.available(),
        "experiments": [*EXPERIMENTS, "all"],
    }
