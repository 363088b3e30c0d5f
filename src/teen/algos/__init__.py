"""The algorithms by name. Each is a module that offers `ALGORITHM`."""

import importlib
import sys
from typing import Any

from ..errors import UserError
from ..settings import shown
from ..spec import Algorithm, AnyAlgorithm
from .normalise import normalise

NAMES = ("teen", "td3", "sac", "rnd", "sunrise", "redq")


def find(name: str, normalise_obs: bool = False) -> AnyAlgorithm:
    """Return a built-in algorithm, or that of anybody's module that offers `ALGORITHM`. It must have been imported: a
    name may come from a stranger's file, and to import a module is to execute it."""
    if normalise_obs:
        return normalise(find(name))
    if name in NAMES:
        algo: AnyAlgorithm = importlib.import_module(f".{name}", __package__).ALGORITHM
        return algo
    if not isinstance(name, str) or "." not in name.lstrip("."):
        raise UserError(
            f"unknown algorithm {shown(name)}: choose from {', '.join(NAMES)}, or give a module as package.module"
        )
    module = sys.modules.get(name)
    if module is None:
        raise UserError(
            f"algorithm {shown(name)} is a module that has not been imported: import it first, give it as --algo, or "
            "allow it with --trust"
        )
    if not isinstance(getattr(module, "ALGORITHM", None), Algorithm):
        raise UserError(f"module {name!r} is no algorithm: it lacks ALGORITHM (docs/extending.md)")
    return module.ALGORITHM  # type: ignore[no-any-return]


def default_config(name: str, base: str | None = None) -> Any:
    """Return the algorithm's config, on another base learner where it takes one."""
    algo = find(name)
    if base is None:
        return algo.Config()
    if not isinstance(base, str):
        raise UserError(f"--base must be text, not {shown(base)}")
    if algo.on is None:
        raise UserError(f"algorithm {name!r} has no --base")
    return algo.on(base)
