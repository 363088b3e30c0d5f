"""The algorithms by name. Each is a module that offers `ALGORITHM`."""

import importlib
from typing import Any

from ..errors import UserError
from ..spec import Algorithm, AnyAlgorithm
from .normalise import normalise

NAMES = ("teen", "td3", "sac", "rnd", "sunrise", "redq")


def find(name: str, normalise_obs: bool = False) -> AnyAlgorithm:
    """Return a built-in algorithm, or that of anybody's module that offers `ALGORITHM`."""
    if normalise_obs:
        return normalise(find(name))
    if name in NAMES:
        algo: AnyAlgorithm = importlib.import_module(f".{name}", __package__).ALGORITHM
        return algo
    if not isinstance(name, str) or "." not in name.lstrip("."):
        raise UserError(
            f"unknown algorithm {name!r}: choose from {', '.join(NAMES)}, or give a module as package.module"
        )
    try:
        module = importlib.import_module(name)
    except (ImportError, TypeError, ValueError) as error:  # the latter two for names that no module can have
        raise UserError(f"algorithm {name!r} cannot be imported: {error}") from None
    if not isinstance(getattr(module, "ALGORITHM", None), Algorithm):
        raise UserError(f"module {name!r} is no algorithm: it lacks ALGORITHM (docs/extending.md)")
    return module.ALGORITHM  # type: ignore[no-any-return]


def default_config(name: str, base: str | None = None) -> Any:
    """Return the algorithm's config, on another base learner where it takes one."""
    algo = find(name)
    if base is None:
        return algo.Config()
    if algo.on is None:
        raise UserError(f"algorithm {name!r} has no --base")
    return algo.on(base)
