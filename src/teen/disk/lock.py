"""The lock of a run folder: only one process trains there."""

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ..errors import InUse, UserError


def holder(folder: Path) -> str:
    """Return the number of the process that trains there, or nothing."""
    try:
        handle = os.open(folder / "lock", os.O_RDONLY | os.O_NOFOLLOW)
    except OSError:
        return ""
    try:
        fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return os.read(handle, 32).decode(errors="replace").strip()
    finally:
        os.close(handle)
    return ""


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Hold the folder's lock. The system releases it when the process ends, however it ends."""
    path = folder / "lock"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        while True:
            handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o644)
            if not _acquire(handle):
                process = os.read(handle, 32).decode(errors="replace").strip()
                os.close(handle)
                raise InUse(folder, process)
            if path.exists() and os.path.samestat(os.fstat(handle), path.stat()):
                break
            os.close(handle)  # its last holder has just removed this file: lock the new one
        try:
            os.ftruncate(handle, 0)
            os.write(handle, f"{os.getpid()}\n".encode())
        except OSError:
            path.unlink(missing_ok=True)
            os.close(handle)
            raise
    except OSError as error:
        raise UserError(f"output folder {folder} cannot be written: {error.strerror}") from None
    try:
        yield
    finally:
        path.unlink(missing_ok=True)
        os.close(handle)


def _acquire(handle: int) -> bool:
    """Try a few times: another process that calls `holder` has the lock for a moment, too."""
    for _ in range(5):
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            time.sleep(0.02)
        else:
            return True
    return False
