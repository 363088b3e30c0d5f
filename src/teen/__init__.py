"""TEEN: ensemble reinforcement learning for continuous control, many seeds in one compiled program."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .disk.agent import Agent
    from .disk.loading import load
    from .errors import UserError
    from .training.callbacks import Event, stop_at_return
    from .training.model import REDQ, RND, SAC, SUNRISE, TD3, TEEN, Model
    from .training.run import resume, train

__version__ = "0.2.0"

HOMES = {
    "disk.agent": ["Agent"],
    "disk.loading": ["load"],
    "errors": ["UserError"],
    "training.callbacks": ["Event", "stop_at_return"],
    "training.model": ["REDQ", "RND", "SAC", "SUNRISE", "TD3", "TEEN", "Model"],
    "training.run": ["resume", "train"],
}
__all__ = [
    "REDQ",
    "RND",
    "SAC",
    "SUNRISE",
    "TD3",
    "TEEN",
    "Agent",
    "Event",
    "Model",
    "UserError",
    "__version__",
    "load",
    "resume",
    "stop_at_return",
    "train",
]


def __getattr__(name: str) -> Any:
    """Imported when asked for: JAX and the environments take seconds, and what only reads runs needs neither."""
    for module, names in HOMES.items():
        if name in names:
            return getattr(import_module(f".{module}", __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
