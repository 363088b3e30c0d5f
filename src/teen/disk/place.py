"""A folder with the files of many jobs. Paths in it are texts with slashes, as in a URL."""

import errno
import os
import secrets
from pathlib import Path, PurePosixPath

from ..errors import UserError
from . import files
from .jobs import is_name

LARGEST = 2**27  # bytes of a file; the ledger of 100,000 jobs has half as many


class Folder:
    """A folder that all who work on the jobs see. Links inside it are not followed: a linked folder is none."""

    def __init__(self, root: str | Path):
        self.root = Path(root)

    def __str__(self) -> str:
        return str(self.root)

    def read(self, path: str) -> bytes | None:
        """Return a file's content; None where there is no such file."""
        self._inside(path)
        try:
            return files.read(self.root, path, LARGEST)
        except (FileNotFoundError, NotADirectoryError):
            return None

    def write(self, path: str, data: bytes) -> None:
        """Replace a file in one step, also beside others who do the same."""
        target = self._unlinked(path)
        target.parent.mkdir(parents=True, exist_ok=True)
        files.write_atomically(target, data, f".{secrets.token_hex(4)}.part")

    def remove(self, path: str) -> None:
        """Remove a file, if it is there."""
        self._unlinked(path).unlink(missing_ok=True)

    def names(self, path: str) -> list[str]:
        """Return the names in a folder, sorted; `""` is the folder of all jobs. An empty list where there is none."""
        folder = self._inside(path) if path else self.root
        try:
            return [] if files.is_link(self.root, path) else sorted(os.listdir(folder))
        except (FileNotFoundError, NotADirectoryError):
            return []

    def _inside(self, path: str) -> Path:
        if not is_name(path):
            raise UserError(f"{path!r:.100} is no path inside {self.root}")
        return self.root / path

    def _unlinked(self, path: str) -> Path:
        """Return where a file is, whose folder must be inside."""
        target = self._inside(path)
        if files.is_link(self.root, str(PurePosixPath(path).parent)):
            raise OSError(errno.ENOTDIR, "its folder is a link, and links among jobs are not followed", str(target))
        return target
