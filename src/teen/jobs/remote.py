"""A place behind a URL, such as s3://bucket/sweep, through fsspec.

Nothing more is asked of its file system than to write, read, list and remove files by name: no rename, no lock, and no
promise that a file that was being written is whole.
"""

import errno
import re
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any, BinaryIO

from ..disk.files import PIECE
from ..errors import UserError, one_line

INSTALL = 'storage on a URL needs a package: pip install "teen-rl[cluster]"'
_MISSING = (FileNotFoundError, NotADirectoryError)


class Remote:
    """The files below a URL, by their paths relative to it. What goes wrong is an OSError, whoever says so."""

    def __init__(self, url: str):
        self.url = url.rstrip("/")
        try:
            core = import_module("fsspec.core")
        except ImportError:
            raise UserError(INSTALL) from None
        try:
            self._files, self._base = core.url_to_fs(self.url)
        except Exception as error:  # an unknown protocol, a package that is missing, a URL that it cannot read
            raise UserError(f"{shown(url)} cannot be used as storage: {shown(one_line(error))}") from None

    def __str__(self) -> str:
        return shown(self.url)

    def read(self, path: str) -> bytes | None:
        """Return a file's content, whole or torn; None if there is no such file."""
        with self._naming(path):
            try:
                return bytes(self._files.cat_file(self._at(path)))
            except _MISSING:
                return None

    def write(self, path: str, data: bytes) -> None:
        """Write a file. A reader may see a part of it, and so may everybody after a crash."""
        with self._naming(path):
            self._in_folder(path, lambda: self._files.pipe_file(self._at(path), data))

    def remove(self, path: str) -> None:
        """Remove a file or a folder with all that is in it, if it is there."""
        with self._naming(path):
            try:
                self._files.rm(self._at(path), recursive=True)
            except _MISSING:
                return

    def names(self, path: str = "") -> list[str]:
        """Return the names of the files and folders in a folder; none if it is not there."""
        with self._naming(path):
            self._files.invalidate_cache()  # other processes write there
            try:
                entries = self._files.ls(self._at(path), detail=False)
            except _MISSING:
                return []
        itself = self._at(path).rstrip("/").rpartition("/")[2]
        found = {str(entry).rstrip("/").rpartition("/")[2] for entry in entries if str(entry).rstrip("/")}
        return sorted(found - ({itself} if [str(e).rstrip("/") for e in entries] == [self._at(path)] else set()))

    def upload(self, path: str, file: BinaryIO, size: int) -> None:
        """Write a file of the next `size` bytes of another, in pieces, and check that all have arrived."""
        start = file.tell()

        def copy() -> None:
            file.seek(start)
            with self._files.open(self._at(path), "wb") as to:
                for piece in pieces(file, size):
                    to.write(piece)

        with self._naming(path):
            self._in_folder(path, copy)
            self._files.invalidate_cache()
            arrived = self._files.size(self._at(path)) if self._files.exists(self._at(path)) else 0
            if arrived != size:
                raise OSError(errno.EIO, f"{arrived} of {size} bytes have arrived")

    def download(self, path: str, size: int) -> Iterator[bytes]:
        """Yield a file in pieces, at most so many bytes. A missing one is a FileNotFoundError."""
        with self._naming(path), self._files.open(self._at(path), "rb") as file:
            yield from pieces(file, size)

    def _at(self, path: str) -> str:
        return f"{self._base}/{path}" if path else str(self._base)

    def _in_folder(self, path: str, write: Any) -> None:
        """Write, and where that needs a folder first, make it: object stores have none."""
        try:
            write()
        except _MISSING:
            self._files.makedirs(self._at(path).rpartition("/")[0], exist_ok=True)
            write()

    @contextmanager
    def _naming(self, path: str) -> Iterator[None]:
        """Turn an error of any library into an OSError that names the file."""
        where = f"{self}/{path}"
        try:
            yield
        except FileNotFoundError:
            raise FileNotFoundError(errno.ENOENT, "it is not there", where) from None
        except OSError as error:
            raise OSError(error.errno or errno.EIO, shown(error.strerror or one_line(error)), where) from error
        except Exception as error:  # a client library's own
            raise OSError(errno.EIO, f"{type(error).__name__}: {shown(one_line(error))}", where) from error


def pieces(file: BinaryIO, size: int) -> Iterator[bytes]:
    """Yield the next bytes of a file; fewer than `size` if it ends before."""
    while size > 0 and (piece := file.read(min(PIECE, size))):
        yield piece
        size -= len(piece)


def shown(url: str) -> str:
    """Return a URL, or a message that names it, without the password and the query that may stand in it."""
    return re.sub(r"(://[^\s?]*)\?\S*", r"\1?…", re.sub(r"(://)[^/\s]*@", r"\1…@", url))
