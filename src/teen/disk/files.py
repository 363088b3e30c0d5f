"""Read the files of a run folder, which may be a stranger's, and write files so that no reader sees half of one."""

import errno
import os
import shutil
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

PIECE = 2**20  # bytes that are read at a time
Piece = bytes | memoryview  # of what is written

IN_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
REGULAR = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC  # a FIFO must not make us wait for its writer


@contextmanager
def opened(folder: Path, name: str) -> Iterator[BinaryIO]:
    """Open a file of a run folder, such as `agent/agent.json`. Only regular files are opened, and links are not
    followed; the run folder itself may be one. An OSError says why it cannot be opened."""
    *places, last = Path(name).parts
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        for place in places:
            inner = _open_at(handle, place, IN_FOLDER, folder / name)
            os.close(handle)
            handle = inner
        file = _open_at(handle, last, REGULAR | os.O_NOFOLLOW, folder / name)
    finally:
        os.close(handle)
    with _stream(file, folder / name) as stream:
        yield stream


def read(folder: Path, name: str, most: int) -> bytes:
    """Return the content of a file of a run folder. More than `most` bytes are an OSError."""
    with opened(folder, name) as file:
        return read_bounded(file, most, folder / name)


def read_file(path: Path, most: int) -> bytes:
    """Return the content of a file that the user named, which may be a link to one."""
    with _stream(os.open(path, REGULAR), path) as file:
        return read_bounded(file, most, path)


def read_bounded(file: BinaryIO, most: int, path: Path) -> bytes:
    """Return what there is to read. Memory is asked for as it comes, not for the largest file that is allowed."""
    pieces, size = [], 0
    while piece := file.read(PIECE):
        pieces.append(piece)
        size += len(piece)
        if size > most:
            raise OSError(errno.EFBIG, f"it has more than {most:,} bytes", str(path))
    return b"".join(pieces)


def is_link(folder: Path, name: str) -> bool:
    """Return whether a file of a run folder, or a folder on the way to it, is a link."""
    parts = Path(name).parts
    return any((folder / Path(*parts[: i + 1])).is_symlink() for i in range(len(parts)))


def _open_at(handle: int, name: str, flags: int, path: Path) -> int:
    try:
        return os.open(name, flags, dir_fd=handle)
    except OSError as error:
        linked = error.errno in (errno.ELOOP, errno.ENOTDIR) and _is_link_at(handle, name)
        reason = "it is a link, and links in a run folder are not followed" if linked else error.strerror
        if error.errno == errno.ENXIO:  # a socket
            reason = "it is not a regular file"
        raise OSError(error.errno, reason, str(path)) from None


def _is_link_at(handle: int, name: str) -> bool:
    return stat.S_ISLNK(os.stat(name, dir_fd=handle, follow_symlinks=False).st_mode)


def regular(path: str, flags: int) -> int:
    """Open a regular file that is no link, or a new one: an `opener` for writers."""
    return _checked(os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK, 0o666), path)


def _stream(handle: int, path: Path) -> BinaryIO:
    return os.fdopen(_checked(handle, path), "rb")


def _checked(handle: int, path: str | Path) -> int:
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise OSError(errno.EINVAL, "it is not a regular file", str(path))
    return handle


def make_folder(path: Path) -> None:
    """Make a folder inside a run folder, unless it is there. A link to one is an OSError."""
    if path.is_symlink():
        raise OSError(errno.ELOOP, f"{path.name} is a link, and links in a run folder are not followed", str(path))
    path.mkdir(exist_ok=True)


def remove(path: Path) -> None:
    """Remove whatever is there: a folder with all that is in it, or anything else, which is not opened."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)


def write_atomically(path: Path, data: bytes, suffix: str = ".part") -> None:
    """Replace a file in one step: a reader sees the old content or the new one. Those who may write it at the same time
    take suffixes of their own."""
    part = path.with_name(path.name + suffix)
    part.unlink(missing_ok=True)  # a link left there is replaced, not followed
    try:
        with part.open("xb") as file:
            file.write(data)
        os.replace(part, path)
    except OSError:
        part.unlink(missing_ok=True)
        raise


def write_synced(path: Path, *pieces: Piece) -> None:
    """Write a file of these pieces and wait until it is on disk."""
    path.unlink(missing_ok=True)  # a link left there is replaced, not followed
    with path.open("xb") as file:
        for piece in pieces:
            file.write(piece)
        file.flush()
        os.fsync(file.fileno())


def sync_folder(folder: Path) -> None:
    """Wait until a folder's entries are on disk: before that, a rename may get lost."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
