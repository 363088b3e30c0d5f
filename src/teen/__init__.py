"""TEEN: ensemble reinforcement learning for continuous control, many seeds in one compiled program."""

__version__ = "0.1.0"

from .agent import Agent
from .errors import UserError
from .loading import load
from .training import resume, train

__all__ = ["Agent", "UserError", "__version__", "load", "resume", "train"]
