"""Leftovers that no run can go on from are moved, so that nothing is lost."""

import shutil
from pathlib import Path

from ..errors import InUse
from . import lock
from .jobs import FAILED, RUNNING

UNIMPORTANT = (RUNNING, FAILED)  # tell of an attempt; what they leave while they are written begins alike


def is_unimportant(name: str) -> bool:
    """Return whether a file of a run folder is no part of a run: its lock, and markers of attempts."""
    return name == lock.NAME or name.startswith(UNIMPORTANT)


def holds_leftovers(folder: Path) -> bool:
    return folder.is_dir() and not all(is_unimportant(path.name) for path in folder.iterdir())


def set_aside(folder: Path, to: Path) -> Path:
    """Move a folder that no run can go on from, and return its new path."""
    if process := lock.holder(folder):
        raise InUse(folder, process)
    to.mkdir(parents=True, exist_ok=True)
    free = next(p for k in range(1, 10**9) if not (p := to / f"{folder.name}-{k}").exists())
    shutil.move(folder, free)
    return free
