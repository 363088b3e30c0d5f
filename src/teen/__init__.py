"""TEEN: ensemble reinforcement learning for continuous control, many seeds in one compiled program."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .disk.agent import Agent
    from .disk.loading import load
    from .errors import UserError
    from .training.run import resume, train

__version__ = "0.2.0"
__all__ = ["Agent", "UserError", "__version__", "load", "resume", "train"]

HOMES = {
    "Agent": "disk.agent",
    "UserError": "errors",
    "load": "disk.loading",
    "resume": "training.run",
    "train": "training.run",
}


def __getattr__(name: str) -> Any:
    """Imported when asked for: JAX and the environments take seconds, and what only reads runs needs neither."""
    if name not in HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f".{HOMES[name]}", __name__), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
