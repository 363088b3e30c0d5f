"""Names of tasks, and what each backend calls them.

A task is a Gymnasium id (`Ant-v5`), a task of the DeepMind Control Suite (`dm_control/cheetah-run`), or an environment
that a user's module registers (`package.module:Id`). Arguments may follow in braces: see `arguments`.
"""

import json
import re
import sys
from functools import cache
from importlib.resources import files

from ..errors import UserError
from . import arguments

LONGEST = 255  # characters of a name
SUITE = "dm_control/"

# The table of the paper that a task is in, by the version that the paper used.
PAPER = {
    "HalfCheetah-v3": "table 1",
    "Hopper-v3": "table 1",
    "Walker2d-v3": "table 1",
    "Ant-v3": "table 1",
    "Humanoid-v3": "appendix",
    f"{SUITE}cheetah-run": "table 2",
    f"{SUITE}finger-spin": "table 2",
    f"{SUITE}fish-swim": "table 2",
    f"{SUITE}walker-walk": "table 2",
    f"{SUITE}walker-run": "table 2",
}


def check(name: object) -> None:
    """Raise a UserError for what cannot be the name of a task, or is in a module that has not been imported.

    To import a module is to execute it, so that is left to those who know whether the user named it.
    """
    if not isinstance(name, str):
        raise UserError(f"an environment is given by its name, not by {name!r:.100}")
    if not name.isprintable() or len(arguments.plain(name)) > LONGEST:
        raise UserError(f"environment {name[:100]!r} cannot be made: names have {LONGEST} printable characters at most")
    module, colon, task = arguments.plain(name).partition(":")
    if colon and not (module and task and ":" not in task):
        raise UserError(f"environment {name!r} cannot be made: one in a module is named package.module:Id")
    if colon and sys.modules.get(module) is None:
        raise UserError(
            f"environment {name!r} is in the module {module}, which has not been imported: import {module} "
            "first, name it with --env, or allow it with --trust where a run's files name it"
        )


def registered_id(name: str) -> str:
    """Return Gymnasium's id of a task. It has no colon, by which Gymnasium would import a module."""
    plain = arguments.plain(name)
    # Shimmy registers the suite's tasks as version 0.
    return f"{plain}-v0" if is_suite(name) else plain.rpartition(":")[2]


def is_suite(name: str) -> bool:
    return name.startswith(SUITE)


def paper_use(name: str) -> str:
    """Return which of the paper's results a task belongs to. v4 and v5 count as the paper's v3."""
    return PAPER.get(name) or PAPER.get(re.sub(r"-v[45]$", "-v3", name), "")


def envpool_id(name: str) -> str:
    """Return EnvPool's id of a task: `BallInCupCatch-v1` for `dm_control/ball_in_cup-catch`, others as in Gymnasium."""
    if not is_suite(name):
        return name
    words = re.split("[-_]", name.removeprefix(SUITE))
    return "".join(word[:1].upper() + word[1:] for word in words) + "-v1"


@cache
def suite_observations() -> dict[str, list[str]]:
    """Return the suite's observation keys in the suite's order, for each `domain-task`.

    They are kept as a table because backends disagree: EnvPool adds keys to some tasks and orders others differently,
    and Gymnasium sorts them by name.
    """
    table: dict[str, list[str]] = json.loads(files(__package__).joinpath("dmc_observations.json").read_text())
    return table


def observation_keys(name: str) -> list[str] | None:
    return suite_observations().get(arguments.plain(name).removeprefix(SUITE)) if is_suite(name) else None
