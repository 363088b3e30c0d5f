"""The loggers that have a name, and a user's choice of loggers."""

from collections.abc import Container, Iterable
from importlib import import_module
from importlib.util import find_spec
from itertools import chain, count

from ..errors import UserError
from ..settings import shown
from .base import Logger

# Each is a module of this package with a class, and the name of the package and of the extra that it needs.
CLASSES = {"tensorboard": "TensorBoard", "wandb": "WandB", "trackio": "Trackio"}

Loggers = str | Logger | Iterable[str | Logger] | None


def listed(log: Loggers) -> dict[str, Logger]:
    """Return a user's loggers by name: `tensorboard,wandb`, an object of their own, or a list of both."""
    several = [log] if isinstance(log, str | Logger) or not isinstance(log, Iterable) else list(log)
    loggers: dict[str, Logger] = {}
    for one in several if log is not None else ():
        if isinstance(one, str):
            loggers |= {name: _named(name) for name in map(str.strip, one.split(",")) if name not in loggers}
        elif isinstance(one, Logger):
            loggers[_free(type(one).__name__, loggers)] = one
        else:
            raise UserError(f"a logger is a name, or has begin(run), log(rows) and close(): {one!r:.60} is no logger")
    return loggers


def _named(name: str) -> Logger:
    if name not in CLASSES:
        raise UserError(f"--log {shown(name)} is no logger: choose from {', '.join(CLASSES)}; CSV is always written")
    found = find_spec(name)
    if found is None or found.origin is None:  # a folder of this name in the current one is no package
        raise UserError(f"--log {name} needs a package that is not installed: pip install 'teen-rl[{name}]'")
    made: Logger = getattr(import_module(f".{name}", __package__), CLASSES[name])()
    return made


def _free(name: str, taken: Container[str]) -> str:
    """Return a name that no other logger has."""
    return next(free for free in chain([name], (f"{name}-{k}" for k in count(2))) if free not in taken)
