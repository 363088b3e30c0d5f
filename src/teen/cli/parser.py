"""What the commands share: the argument parser, flags for settings, and exit codes after a signal."""

import argparse
import difflib
from collections.abc import Callable
from typing import Any, Literal, NoReturn, get_args, get_origin

from ..errors import UserError
from ..settings import Leaf, flag, shown

AGENT = "a run folder, pretrained/TASK, or hf:USER/NAME"  # what a command that loads an agent takes
SIGNALLED = 128  # plus the signal's number, as a shell reports it: 130 after Ctrl-C, 143 after SIGTERM


class Parser(argparse.ArgumentParser):
    """Raise UserError on bad arguments, and accept no abbreviated flags. `unknown` says what to make of a flag that
    there is not, given without dashes, and the names of those that there are."""

    def __init__(self, unknown: Callable[[str, list[str]], str] | None = None, **options: Any):
        super().__init__(**{"allow_abbrev": False, **options})
        self.unknown = unknown or _closest

    def parse_args(self, args: Any = None, namespace: Any = None) -> Any:
        flags, others = self.parse_known_args(args, namespace)
        if others:
            first = next((other for other in others if other.startswith("-")), others[0]).partition("=")[0]
            if not first.startswith("-"):
                self.error(f"unrecognized argument {shown(first)}")
            name = first.removeprefix("--").replace("-", "_") if first.startswith("--") else first
            known = [option[2:].replace("-", "_") for option in self._option_string_actions if option.startswith("--")]
            self.error(self.unknown(name, known))
        return flags

    def error(self, message: str) -> NoReturn:
        if message.endswith("expected one argument"):  # argparse takes -1,-2 for a flag
            message += "; a list that begins with a minus is written --flag=-1,-2"
        raise UserError(f"{message} (see {self.prog} --help)")


def _closest(name: str, known: list[str]) -> str:
    close = difflib.get_close_matches(name, known, 1)
    return f"there is no {flag(name)}" + (f": did you mean {flag(close[0])}?" if close else "")


def add_trust(parser: Any) -> None:
    """Add the flag for modules that files may name."""
    text = "modules that the run's files may name, which are then imported; or set TEEN_TRUST"
    parser.add_argument("--trust", metavar="MODULE[,MODULE...]", default="", help=text)


def add_setting(group: Any, leaf: Leaf) -> None:
    """Add a flag for a setting. A flag that is not given stays absent, so that a config file's value counts."""
    source = {"": "", "ours": "; our choice"}.get(leaf.source, f"; from {leaf.source}")
    default = ",".join(map(str, leaf.value)) + "," if isinstance(leaf.value, tuple) else leaf.value
    text = f"{leaf.help} (default {'none' if default == '' else default}{source})".replace("%", "%%")
    options: dict[str, Any] = {"dest": leaf.name, "help": text, "default": argparse.SUPPRESS}
    if leaf.type is bool:
        group.add_argument(leaf.flag, action=argparse.BooleanOptionalAction, **options)
        return
    kind = {int: "INT", float: "FLOAT[,FLOAT...]" if leaf.per_lane else "FLOAT"}.get(leaf.type, "TEXT")
    if get_origin(leaf.type) is Literal:
        kind = "{" + ",".join(get_args(leaf.type)) + "}"
    group.add_argument(leaf.flag, type=_numbers if leaf.per_lane else str, metavar=kind, **options)


def _numbers(text: str) -> str | list[str]:
    return text.split(",") if "," in text else text
