"""Where the files of many jobs are: a folder that all processes see, or a URL."""

import re
from pathlib import Path
from typing import Protocol

from ..disk.place import Folder as Folder


class Place(Protocol):
    """A folder, or what a URL names: see `Folder` for what the methods do. Paths have slashes: `NAME/done.json`. As
    text it is what a message may show: a URL without its secrets."""

    def read(self, path: str) -> bytes | None: ...
    def write(self, path: str, data: bytes) -> None: ...
    def remove(self, path: str) -> None: ...
    def names(self, path: str) -> list[str]: ...


def place(text: str | Path) -> Place:
    """Return the place that a user names. `file:///x` is a URL as well."""
    if isinstance(text, str) and is_url(text):
        from .remote import Remote  # needs fsspec

        return Remote(text)
    return Folder(text)


def address(place: Place) -> str:
    """Return the text from which `place` makes it again, in another process."""
    return str(getattr(place, "url", place))


def is_url(text: str) -> bool:
    return re.match(r"[A-Za-z][A-Za-z0-9+.-]*(::[A-Za-z0-9+.-]+)*://", text) is not None
