"""Environments: one interface, lanes as rows, two backends behind it."""

from typing import Literal

from ..errors import UserError
from . import names, pool
from .adapter import Envs, Lanes, Watched, naming, step
from .clock import awake
from .given import give, is_known, name_of
from .gym import GymnasiumEnvs
from .pool import EnvPoolEnvs
from .watchdog import watched
from .wrapper import Repeated
from .xla import CompiledEnvs

__all__ = [
    "Backend",
    "CompiledEnvs",
    "Envs",
    "Lanes",
    "Watched",
    "awake",
    "choose_backend",
    "give",
    "is_known",
    "make",
    "make_crews",
    "name_of",
    "naming",
    "step",
    "watched",
]

Backend = Literal["auto", "gymnasium", "envpool"]


def choose_backend(name: str, wanted: Backend) -> tuple[Literal["gymnasium", "envpool"], str]:
    """Return the backend that `auto` stands for, and a notice if the faster one is missing."""
    names.check(name)
    if wanted != "auto":
        return wanted, ""
    if not pool.lacks(name):
        return "envpool", ""
    would_help = names.is_suite(name) or names.paper_use(name)
    reason = (pool.unavailable() or pool.flaw(name)) if would_help else ""
    return "gymnasium", f"stepping with gymnasium, more slowly: {reason}" if reason else ""


def make_crews(name: str, lanes: int, backend: Backend = "auto", action_repeat: int = 1) -> list[Envs]:
    """Return one copy of the environment per lane, for training.

    Where stepping goes on outside Python they come in two halves: the host acts for one while the other steps.
    """
    chosen, _ = choose_backend(name, backend)
    counts = [(lanes + 1) // 2, lanes // 2] if chosen == "envpool" and lanes > 3 else [lanes]
    return [make(name, count, chosen, action_repeat) for count in counts]


def make(name: str, count: int, backend: Backend = "auto", action_repeat: int = 1) -> Envs:
    """Return `count` copies of an environment. A UserError says why it cannot be made or used."""
    chosen, _ = choose_backend(name, backend)
    if names.is_suite(name) and names.observation_keys(name) is None:
        raise UserError(f"the DeepMind Control Suite has no task {name!r}; teen envs lists those it has")
    envs: Envs = EnvPoolEnvs(name, count) if chosen == "envpool" else GymnasiumEnvs(name, count)
    return Repeated(envs, action_repeat) if action_repeat > 1 else envs
