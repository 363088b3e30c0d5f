"""Writing files so that no reader sees them half written."""

import os
from pathlib import Path


def write_atomically(path: Path, data: bytes) -> None:
    """Replace a file in one step: a reader sees the old content or the new one."""
    part = path.with_name(path.name + ".part")
    part.unlink(missing_ok=True)  # a link left there is replaced, not followed
    with part.open("xb") as file:
        file.write(data)
    os.replace(part, path)


def write_synced(path: Path, data: bytes) -> None:
    """Write a file and wait until it is on disk."""
    path.unlink(missing_ok=True)  # a link left there is replaced, not followed
    with path.open("xb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def sync_folder(folder: Path) -> None:
    """Wait until a folder's entries are on disk: before that, a rename may get lost."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
