"""A file system for fsspec whose writes are seen while they happen, and stay torn where they break off. It has no
rename. Its files lie in a folder, so that processes share them: torn:///tmp/x is /tmp/x.

As a program of another process finds it: `offered` makes a package of it, for PYTHONPATH.
"""

import errno
import os
import shutil
from pathlib import Path

from fsspec import AbstractFileSystem

PIECE = 500  # bytes that are written at a time


class TornFileSystem(AbstractFileSystem):
    protocol = "torn"
    cachable = False
    breaks: list[int] = []  # noqa: RUF012  how many writes go well until one breaks off; of all instances

    def ls(self, path, detail=True, **_):
        path = self._strip_protocol(path)
        if os.path.isfile(path):
            entries = [self.info(path)]
        else:
            entries = [self.info(os.path.join(path, name)) for name in sorted(os.listdir(path))]
        return entries if detail else [entry["name"] for entry in entries]

    def info(self, path, **_):
        path = self._strip_protocol(path)
        kind = "directory" if os.path.isdir(path) else "file"
        return {"name": path, "size": os.stat(path).st_size, "type": kind}

    def makedirs(self, path, exist_ok=False):
        os.makedirs(self._strip_protocol(path), exist_ok=exist_ok)

    def rm_file(self, path):
        os.unlink(self._strip_protocol(path))

    def rm(self, path, **_):
        path = self._strip_protocol(path)
        shutil.rmtree(path) if os.path.isdir(path) else os.unlink(path)

    def mv(self, *_, **__):
        raise NotImplementedError("there is no rename here")

    def open(self, path, mode="rb", **_):
        path = self._strip_protocol(path)
        return open(path, "rb") if mode == "rb" else TornFile(path)

    @classmethod
    def _strip_protocol(cls, path):
        return "/" + str(path).removeprefix("torn://").strip("/")


class TornFile:
    """Writes at once what it is given, in small pieces."""

    def __init__(self, path):
        self.handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
        self.breaking = False
        if TornFileSystem.breaks:
            TornFileSystem.breaks[0] -= 1
            self.breaking = TornFileSystem.breaks[0] < 0
            if self.breaking:
                TornFileSystem.breaks.pop(0)

    def write(self, data):
        data = memoryview(data)
        for begin in range(0, len(data), PIECE):
            if self.breaking:
                os.write(self.handle, data[: min(10, len(data) - 1)])
                raise OSError(errno.ECONNRESET, os.strerror(errno.ECONNRESET))
            os.write(self.handle, data[begin : begin + PIECE])
        return len(data)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        os.close(self.handle)


def offered(folder: Path) -> Path:
    """Make the file system known to processes that have this folder on their path, as installed packages do."""
    folder.mkdir()
    (folder / "torn_storage.py").write_text(Path(__file__).read_text())
    facts = folder / "torn_storage-1.dist-info"
    facts.mkdir()
    (facts / "METADATA").write_text("Metadata-Version: 2.1\nName: torn-storage\nVersion: 1\n")
    (facts / "entry_points.txt").write_text("[fsspec.specs]\ntorn = torn_storage:TornFileSystem\n")
    return folder
