"""Arguments of an environment, as part of its name: `HalfCheetah-v5{ctrl_cost_weight = 0.2}`.

What is inside the braces is a TOML table. So a task with other arguments has another name in every file and report.
"""

import json
import math
import tomllib
from collections.abc import Mapping
from typing import Any

from ..errors import UserError

LONGEST = 1_000  # characters between the braces; a stranger's file may have more
MOST_POINTS = 100  # a.a.a.a… = 1 would be parsed for long


def split(name: str) -> tuple[str, dict[str, Any]]:
    """Return a task's name without its arguments, and these."""
    plain, brace, text = name.partition("{")
    if not brace:
        return name, {}
    if not text.endswith("}"):
        raise UserError(f"environment {name[:100]!r} has arguments whose brace is not closed")
    return plain, read(text[:-1])


def read(text: str) -> dict[str, Any]:
    """Return arguments as the command line and names have them: `key = value, …`, values in TOML."""
    try:
        if len(text) > LONGEST or not text.isprintable() or text.count(".") > MOST_POINTS:
            raise ValueError("they are too long")
        table: dict[str, Any] = tomllib.loads(f"arguments = {{{text}}}")["arguments"]
    except (ValueError, RecursionError):
        raise UserError(
            f"{text[:100]!r} are no arguments of an environment: write key=value, with a value as in TOML: 0.2, true, "
            '"text" (in quotes), [1, 2]'
        ) from None
    return table


def plain(name: str) -> str:
    """Return a task's name without its arguments."""
    return name.partition("{")[0]


def joined(name: str, more: Mapping[str, Any]) -> str:
    """Return the name of a task with these arguments, beside those that the name has. There is one way to write it."""
    task, arguments = split(name)
    arguments = {**arguments, **more}
    written = [f"{_key(key)} = {_value(key, arguments[key])}" for key in sorted(arguments)]
    return f"{task}{{{', '.join(written)}}}" if written else task


def _key(key: Any) -> str:
    if not isinstance(key, str) or not key.isidentifier() or not key.isascii():
        raise UserError(f"an argument of an environment is named like one of Python's functions, not {key!r:.60}")
    return key


def _value(key: str, value: Any) -> str:
    """Write a value that both TOML and JSON know."""
    if isinstance(value, list | tuple):
        return f"[{', '.join(_value(key, part) for part in value)}]"
    if isinstance(value, bool | int | str) or (isinstance(value, float) and math.isfinite(value)):
        return json.dumps(value, ensure_ascii=False)
    raise UserError(
        f"the argument {key} of an environment is {value!r:.60}: numbers, text, true, false and lists of them can be "
        "saved; for others, give a function that makes the environment"
    )
