"""The lock of a run folder: only one process trains there."""

import errno
import fcntl
import os
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ..errors import InUse, StorageFault, UserError

NAME = "lock"
FLAGS = os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC  # a FIFO must not make us wait for its other end

_held: set[int] = set()  # handles of this process


def _close_in_child() -> None:
    """Give up the locks in a forked process, which has copies of the handles: a lock lasts as long as any of them."""
    while _held:
        os.close(_held.pop())


os.register_at_fork(after_in_child=_close_in_child)


class Lock:
    """A lock that is held on a run folder."""

    def __init__(self, folder: Path, handle: int):
        self.folder, self.handle, self.process = folder, handle, os.getpid()

    def check(self) -> None:
        """Raise StorageFault where the folder at this path is no longer the one that was locked."""
        if not self.in_place():
            raise StorageFault(
                f"{self.folder} is no longer the folder that this run locked: it was moved or replaced, or its lock "
                "was removed. Nothing more is written there; if it was moved, --resume goes on at its new place"
            )

    def in_place(self) -> bool:
        try:
            return os.path.samestat(os.fstat(self.handle), os.lstat(self.folder / NAME))
        except OSError:
            return False

    def release(self) -> None:
        if os.getpid() != self.process:  # a forked process that ends here, too
            return
        if self.in_place():
            (self.folder / NAME).unlink(missing_ok=True)
        _held.discard(self.handle)
        os.close(self.handle)


def holder(folder: Path) -> str:
    """Return the number of the process that trains there, or nothing."""
    try:
        handle = os.open(folder / NAME, os.O_RDONLY | FLAGS)
    except OSError:
        return ""
    try:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            return ""
        fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return _process(handle)
    except OSError:  # a file system without locks
        return ""
    finally:
        os.close(handle)
    return ""


@contextmanager
def locked(folder: Path) -> Iterator[Lock]:
    """Hold the folder's lock. The system releases it when the process ends, however it ends."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        lock = Lock(folder, _acquired(folder))
    except OSError as error:
        reason = f"{NAME} is a link" if error.errno == errno.ELOOP else error.strerror
        raise UserError(f"output folder {folder} cannot be written: {reason}") from None
    try:
        yield lock
    finally:
        lock.release()


def _acquired(folder: Path) -> int:
    """Return a handle that has the lock, with this process's number in the file."""
    path = folder / NAME
    while True:
        handle = os.open(path, os.O_RDWR | os.O_CREAT | FLAGS, 0o644)
        try:
            if not stat.S_ISREG(os.fstat(handle).st_mode):
                raise UserError(f"output folder {folder} cannot be locked: {path} is not a regular file")
            if not _try(handle):
                raise InUse(folder, _process(handle))
            if path.exists() and os.path.samestat(os.fstat(handle), path.stat()):
                _held.add(handle)  # before anything else: a fork may come at any time
                os.ftruncate(handle, 0)
                os.write(handle, f"{os.getpid()}\n".encode())
                return handle
        except OSError:
            path.unlink(missing_ok=True)
            _held.discard(handle)
            os.close(handle)
            raise
        except UserError:
            os.close(handle)
            raise
        os.close(handle)  # its last holder has just removed this file: lock the new one


def _process(handle: int) -> str:
    """Return the number in a lock file; it may hold anything."""
    text = os.read(handle, 32).decode(errors="replace").strip()
    return text if text.isdecimal() else "unknown"


def _try(handle: int) -> bool:
    """Try a few times: another process that calls `holder` has the lock for a moment, too."""
    for _ in range(5):
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            time.sleep(0.02)
        else:
            return True
    return False
