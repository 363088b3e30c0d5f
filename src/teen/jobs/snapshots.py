"""Snapshots of run folders in a place behind a URL.

    NAME/files/ATTEMPT/begun                written when an attempt begins
    NAME/files/ATTEMPT/SHA256               the content of files, which an attempt uploads once
    NAME/state-STEP-ATTEMPT-NUMBER.json     the files of one snapshot, by path; written after them

What is read may be torn, or a stranger's: every file is compared with its size and checksum.
"""

import hashlib
import json
import os
import re
import secrets
import stat
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from ..disk import files, lock
from ..disk.jobs import is_name
from ..errors import notice
from .remote import Remote

LARGEST_INDEX = 2**24  # bytes; a run folder has some tens of files
PREFIX, BEGUN = "state-", "begun"
ATTEMPT = re.compile(r"\d{20}-[0-9a-f]{8}")
NAME = re.compile(r"state-(\d{12})-(\d{20}-[0-9a-f]{8})-(\d{6})\.json")


class Content(NamedTuple):
    sha256: str
    bytes: int


class Snapshot(NamedTuple):
    """A run folder as it was after a checkpoint."""

    step: int
    attempt: str  # when it began, in nanoseconds, and a random part: the later one is the larger text
    number: int  # of this attempt's snapshots
    files: Mapping[str, Content]  # by path in the run folder

    @property
    def name(self) -> str:
        return f"{PREFIX}{self.step:012}-{self.attempt}-{self.number:06}.json"


class Damaged(Exception):
    """A snapshot is not whole."""


def attempt(nanoseconds: int) -> str:
    return f"{nanoseconds:020}-{secrets.token_hex(4)}"


def latest_name(names: Iterable[str]) -> str | None:
    """Return the newest snapshot, whole or not, among the names in a job's folder."""
    return max(filter(NAME.fullmatch, names), key=_age, default=None)


def step_of(name: str) -> int:
    """Return the step in the name of a snapshot."""
    match = NAME.fullmatch(name)
    return int(match[1]) if match else 0


def newest(
    place: Remote, name: str, folder: Path, wanted: Callable[[str], bool] = lambda path: True
) -> Snapshot | None:
    """Bring the newest whole snapshot of a job into a folder, and return it; None if there is none. `wanted` chooses
    among its files. Damaged ones are passed over, each with a notice."""
    passed: set[str] = set()
    while names := sorted((n for n in place.names(name) if NAME.fullmatch(n) and n not in passed), key=_age):
        brought: list[Path] = []
        latest = names[-1]  # listed again each time: an attempt that is still alive may remove one and add another
        try:
            snapshot = _parse(latest, place.read(f"{name}/{latest}"))
            for path, content in snapshot.files.items():
                if wanted(path):
                    brought.append(folder / path)
                    _download(place, at(name, snapshot.attempt, content.sha256), content, folder / path)
            return snapshot
        except Damaged as error:
            passed.add(latest)
            notice(f"{place}/{name}/{latest} is not whole, the one before is taken: {error}")
            for file in brought:
                file.unlink(missing_ok=True)
    return None


def paths_in(folder: Path) -> Iterator[str]:
    """Yield the files of a run folder that a snapshot has: regular ones, but no lock and none that is being written."""
    for parent, _, names in os.walk(folder):  # which follows no links
        for name in names:
            path = Path(parent, name)
            if name != lock.NAME and not name.endswith(".part") and _is_regular(path):
                yield path.relative_to(folder).as_posix()


def _is_regular(path: Path) -> bool:
    try:
        return stat.S_ISREG(path.lstat().st_mode)
    except FileNotFoundError:  # it has just been removed
        return False


def _download(place: Remote, source: str, content: Content, to: Path) -> None:
    to.parent.mkdir(parents=True, exist_ok=True)
    checksum, size = hashlib.sha256(), 0
    try:
        with open(to, "wb", opener=files.regular) as file:
            for piece in place.download(source, content.bytes + 1):
                file.write(piece)
                checksum.update(piece)
                size += len(piece)
    except FileNotFoundError as error:
        if error.filename == str(to):
            raise
        raise Damaged(f"{source} is missing") from None
    if (checksum.hexdigest(), size) != content:
        raise Damaged(f"{source} is not what was uploaded")


def at(name: str, attempt: str, sha256: str) -> str:
    return f"{name}/files/{attempt}/{sha256}"


def _age(name: str) -> tuple[str, ...]:
    """Return what grows: the step, then the attempt, then the number of its snapshot."""
    match = NAME.fullmatch(name)
    return match.groups() if match else ()


def text(snapshot: Snapshot) -> bytes:
    listed = {path: content._asdict() for path, content in snapshot.files.items()}
    return json.dumps({"format": 1, "step": snapshot.step, "files": listed}, indent=1).encode()


def _parse(name: str, data: bytes | None) -> Snapshot:
    """Read the list of a snapshot. It may be torn, and it may be a stranger's: no path leads out of the run folder."""
    match = NAME.fullmatch(name)
    if not match or data is None or len(data) > LARGEST_INDEX:
        raise Damaged("it cannot be read")
    try:
        listed = json.loads(data)["files"]
        contents = {str(path): Content(str(c["sha256"]), int(c["bytes"])) for path, c in listed.items()}
    except (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError):
        raise Damaged("it is torn") from None
    for path, content in contents.items():
        if not (is_name(path) and re.fullmatch("[0-9a-f]{64}", content.sha256)):
            raise Damaged(f"it lists {path!r:.80}")
    return Snapshot(int(match[1]), match[2], int(match[3]), contents)
