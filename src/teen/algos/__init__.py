"""The algorithms by name. Each is a module with `Config`, `hyper(cfg)` and `make(cfg)`."""

import importlib
from types import ModuleType
from typing import Any

from ..errors import UserError
from ..settings import static
from ..spec import Algorithm
from .normalise import normalise

NAMES = ("teen", "td3", "sac", "rnd", "sunrise", "redq")


def find(name: str) -> ModuleType:
    """A built-in algorithm, or anybody's module that offers the same three names."""
    if name in NAMES:
        return importlib.import_module(f".{name}", __package__)
    if not isinstance(name, str) or "." not in name.lstrip("."):
        raise UserError(
            f"unknown algorithm {name!r}: choose from {', '.join(NAMES)}, or give a module as package.module"
        )
    try:
        module = importlib.import_module(name)
    except (ImportError, TypeError, ValueError) as error:  # the latter two of names that no module can have
        raise UserError(f"algorithm {name!r} cannot be imported: {error}") from None
    missing = [part for part in ("Config", "hyper", "make") if not hasattr(module, part)]
    if missing:
        raise UserError(f"module {name!r} is no algorithm: it lacks {', '.join(missing)}")
    return module


def default_config(name: str, base: str | None = None) -> Any:
    """The algorithm's config, on another base learner where it takes one."""
    module = find(name)
    if base is None:
        return module.Config()
    if not hasattr(module, "on"):
        raise UserError(f"algorithm {name!r} has no --base")
    return module.on(base)


def build(name: str, config: Any, normalise_obs: bool = False) -> Algorithm:
    """The algorithm's functions. Variants that differ in per-lane numbers alone share them."""
    algo: Algorithm = find(name).make(static(config))
    return normalise(algo) if normalise_obs else algo
