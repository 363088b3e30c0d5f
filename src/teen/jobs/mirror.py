"""Run folders in a place behind a URL: training happens in a folder of this machine, and whole snapshots of it go up.

    NAME/files/ATTEMPT/begun                written when an attempt begins
    NAME/files/ATTEMPT/SHA256               the content of files, which an attempt uploads once
    NAME/state-STEP-ATTEMPT-NUMBER.json     the files of one snapshot, by path; written after them

An attempt writes and refers to nothing but its own files, and removes none of an attempt that began after it. So one
that goes on although everybody takes it for dead cannot damage what its successor has uploaded, whatever it does.
"""

import hashlib
import json
import os
import re
import secrets
import stat
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import BinaryIO, NamedTuple, TypeVar

from ..disk import checkpoint, files, lock
from ..errors import StorageFault, notice, one_line
from .place import Place
from .remote import Remote, pieces

KEPT = 2  # how many of the newest snapshots stay: if one is damaged, there is another
TRIES, WAIT = 5, 2.0  # of what must succeed, and the seconds after the first try; each wait is twice the one before
LARGEST_INDEX = 2**24  # bytes; a run folder has some tens of files
PREFIX, BEGUN = "state-", "begun"

T = TypeVar("T")
_ATTEMPT = re.compile(r"(\d{20})-[0-9a-f]{8}")
_NAME = re.compile(r"state-(\d{12})-(\d{20}-[0-9a-f]{8})-(\d{6})\.json")


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


@contextmanager
def mirrored(place: Place, name: str) -> Iterator["Mirror"]:
    """Give a folder of this machine with the newest whole snapshot of a job, if there is one."""
    assert isinstance(place, Remote)
    with tempfile.TemporaryDirectory(prefix="teen-") as scratch:
        mirror = Mirror(place, name, Path(scratch, "run"))
        mirror.fetch()
        yield mirror


class Mirror:
    """One attempt at a job: brings the newest snapshot here, and uploads new ones."""

    def __init__(self, place: Remote, name: str, folder: Path, sleep: Callable[[float], None] = time.sleep):
        """`name` is the job's, `folder` the one of this machine in which it trains."""
        self.place, self.name, self.folder, self._sleep = place, name, folder, sleep
        self.attempt = _attempt(time.time_ns())
        self._began_from: Snapshot | None = None
        self._own: list[Snapshot] = []
        self._uploaded: set[str] = set()  # checksums of this attempt's files
        self._known: dict[tuple[str, int, int, int], str] = {}  # checksums, by path, size, time and number of the file

    def fetch(self) -> int | None:
        """Bring the newest whole snapshot into the folder, and return its step; None if there is none."""
        self._insisting("used", self._begin)
        self._began_from = self._insisting("downloaded", lambda: newest(self.place, self.name, self.folder))
        return self._began_from.step if self._began_from else None

    def kept(self, step: int) -> None:
        """Upload the run folder, which has a checkpoint of this step. If that fails, the next one brings it all."""
        try:
            self._upload(step)
        except OSError as error:
            said = error.strerror or one_line(error)
            notice(f"the checkpoint of step {step} was not uploaded to {self.place}/{self.name}: {said}")

    def finish(self) -> None:
        """Upload the run folder as training has left it. A StorageFault says that it could not be, or that another
        attempt, which began later, may have removed it."""
        step = checkpoint.latest(self.folder / "checkpoint") or 0
        self._insisting("uploaded", lambda: self._upload(step))
        if max(self._insisting("listed", self._attempts), default="") > self.attempt:
            raise StorageFault(f"{self.place}/{self.name} was taken over by an attempt that began later")

    def _begin(self) -> None:
        """Let others see this attempt, which is later than all that are there, whatever the clocks of machines say."""
        latest = max((int(attempt[:20]) for attempt in self._attempts()), default=0)
        self.attempt = _attempt(max(time.time_ns(), latest + 1))
        self.place.write(_at(self.name, self.attempt, BEGUN), b"")

    def _attempts(self) -> list[str]:
        return [name for name in self.place.names(f"{self.name}/files") if _ATTEMPT.fullmatch(name)]

    def _insisting(self, done: str, work: Callable[[], T]) -> T:
        """Try again for a while: storage on a network fails now and then."""
        for wait in [WAIT * 2**i for i in range(TRIES - 1)]:
            try:
                return work()
            except OSError:
                self._sleep(wait)
        try:
            return work()
        except OSError as error:
            said = error.strerror or one_line(error)
            raise StorageFault(f"{self.place}/{self.name} cannot be {done} after {TRIES} tries: {said}") from error

    def _upload(self, step: int) -> None:
        """Upload what is new, then the list of all files, then remove what no longer counts."""
        contents = {}
        for path in paths_in(self.folder):
            try:
                with files.opened(self.folder, path) as file:
                    contents[path] = self._put(path, file)
            except FileNotFoundError:
                continue  # of the user's or a logger's: nothing that a checkpoint needs is removed meanwhile
        snapshot = Snapshot(step, self.attempt, len(self._own), contents)
        self.place.write(f"{self.name}/{snapshot.name}", _text(snapshot))
        self._own.append(snapshot)
        self._prune()

    def _put(self, path: str, file: BinaryIO) -> Content:
        """Upload a file as long as it is now, unless this attempt has uploaded the same content before. Logs grow
        meanwhile: a checkpoint knows where they ended."""
        status = os.fstat(file.fileno())
        key = path, status.st_size, status.st_mtime_ns, status.st_ino
        if key not in self._known:
            checksum = hashlib.sha256()
            for piece in pieces(file, status.st_size):
                checksum.update(piece)
            self._known[key] = checksum.hexdigest()
        sha256 = self._known[key]
        if sha256 not in self._uploaded:
            file.seek(0)
            self.place.upload(_at(self.name, self.attempt, sha256), file, status.st_size)
            self._uploaded.add(sha256)
        return Content(sha256, status.st_size)

    def _prune(self) -> None:
        """Remove what this attempt and earlier ones no longer need. What it began from stays until it has enough of its
        own. Nothing depends on this: the next one removes what is left."""
        kept = self._own[-KEPT:]
        kept += [self._began_from] if self._began_from and len(kept) < KEPT else []
        try:
            for name in self.place.names(self.name):
                match = _NAME.fullmatch(name)
                if match and match[2] <= self.attempt and name not in {snapshot.name for snapshot in kept}:
                    self.place.remove(f"{self.name}/{name}")
            for attempt in self._attempts():
                if attempt <= self.attempt:
                    self._prune_files(
                        attempt, {c.sha256 for s in kept if s.attempt == attempt for c in s.files.values()}
                    )
        except OSError:
            return

    def _prune_files(self, attempt: str, needed: set[str]) -> None:
        if not needed:
            self.place.remove(f"{self.name}/files/{attempt}")
            return
        there = set(self.place.names(f"{self.name}/files/{attempt}")) if attempt != self.attempt else self._uploaded
        for sha256 in there - needed:
            self._uploaded.discard(sha256)
            self.place.remove(_at(self.name, attempt, sha256))


def _attempt(nanoseconds: int) -> str:
    return f"{nanoseconds:020}-{secrets.token_hex(4)}"


def newest(
    place: Remote, name: str, folder: Path, wanted: Callable[[str], bool] = lambda path: True
) -> Snapshot | None:
    """Bring the newest whole snapshot of a job into a folder, and return it; None if there is none. `wanted` chooses
    among its files. Damaged ones are passed over, each with a notice."""
    passed: set[str] = set()
    while names := sorted((n for n in place.names(name) if _NAME.fullmatch(n) and n not in passed), key=_age):
        latest = names[-1]  # listed again each time: an attempt that is still alive may remove one and add another
        try:
            snapshot = _parse(latest, place.read(f"{name}/{latest}"))
            for path, content in snapshot.files.items():
                if wanted(path):
                    _download(place, _at(name, snapshot.attempt, content.sha256), content, folder / path)
            return snapshot
        except Damaged as error:
            passed.add(latest)
            notice(f"{place}/{name}/{latest} is not whole, the one before is taken: {error}")
            for path in paths_in(folder):
                (folder / path).unlink()
    return None


def paths_in(folder: Path) -> Iterator[str]:
    """Yield the files of a run folder that a snapshot has: regular ones, but no lock and none that is being written."""
    for parent, _, names in os.walk(folder):  # which follows no links
        for name in names:
            path = Path(parent, name)
            if name == lock.NAME or name.endswith(".part") or not stat.S_ISREG(path.lstat().st_mode):
                continue
            yield path.relative_to(folder).as_posix()


def _download(place: Remote, source: str, content: Content, to: Path) -> None:
    to.parent.mkdir(parents=True, exist_ok=True)
    checksum, size = hashlib.sha256(), 0
    try:
        with to.open("wb") as file:
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


def _at(name: str, attempt: str, sha256: str) -> str:
    return f"{name}/files/{attempt}/{sha256}"


def _age(name: str) -> tuple[str, ...]:
    """Return what grows: the step, then the attempt, then the number of its snapshot."""
    match = _NAME.fullmatch(name)
    return match.groups() if match else ()


def _text(snapshot: Snapshot) -> bytes:
    listed = {path: content._asdict() for path, content in snapshot.files.items()}
    return json.dumps({"format": 1, "step": snapshot.step, "files": listed}, indent=1).encode()


def _parse(name: str, data: bytes | None) -> Snapshot:
    """Read the list of a snapshot. It may be torn, and it may be a stranger's: no path leads out of the run folder."""
    match = _NAME.fullmatch(name)
    if not match or data is None or len(data) > LARGEST_INDEX:
        raise Damaged("it cannot be read")
    try:
        listed = json.loads(data)["files"]
        contents = {str(path): Content(str(c["sha256"]), int(c["bytes"])) for path, c in listed.items()}
    except (ValueError, KeyError, TypeError, AttributeError):
        raise Damaged("it is torn") from None
    for path, content in contents.items():
        safe = path == str(PurePosixPath(path)) and not {"..", "."} & set(PurePosixPath(path).parts)
        if not safe or path.startswith("/") or "\0" in path or not re.fullmatch("[0-9a-f]{64}", content.sha256):
            raise Damaged(f"it lists {path!r:.80}")
    return Snapshot(int(match[1]), match[2], int(match[3]), contents)
