"""Names of tasks, and what each backend calls them.

A task is a Gymnasium id (`Ant-v5`), a task of the DeepMind Control Suite (`dm_control/cheetah-run`), or one's own
environment (`package.module:Id`).
"""

import json
import re
from functools import cache
from importlib.resources import files

SUITE = "dm_control/"

# Where the paper uses a task: its tables, with the version it names.
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


def is_suite(name: str) -> bool:
    return name.startswith(SUITE)


def paper_use(name: str) -> str:
    """Which of the paper's results a task belongs to. Its v3 tasks are counted as any version of them."""
    return PAPER.get(name) or PAPER.get(re.sub(r"-v[45]$", "-v3", name), "")


def gymnasium_id(name: str) -> str:
    """Shimmy registers the suite's tasks as version 0."""
    return f"{name}-v0" if is_suite(name) else name


def envpool_id(name: str) -> str:
    """`dm_control/ball_in_cup-catch` -> `BallInCupCatch-v1`; Gymnasium's ids are EnvPool's own."""
    if not is_suite(name):
        return name
    words = re.split("[-_]", name.removeprefix(SUITE))
    return "".join(word[:1].upper() + word[1:] for word in words) + "-v1"


@cache
def suite_observations() -> dict[str, list[str]]:
    """The suite's own observation keys in its own order, for each `domain-task`.

    Kept as a table because backends disagree: EnvPool adds keys to some tasks and orders others differently, and
    Gymnasium sorts them by name.
    """
    table: dict[str, list[str]] = json.loads(files(__package__).joinpath("dmc_observations.json").read_text())
    return table


def observation_keys(name: str) -> list[str] | None:
    return suite_observations().get(name.removeprefix(SUITE)) if is_suite(name) else None
