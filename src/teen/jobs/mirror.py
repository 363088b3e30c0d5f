"""Run folders in a place behind a URL: training happens in a folder of this machine, and whole snapshots of it go up.
`jobs.snapshots` says what they consist of.

An attempt writes and refers to nothing but its own files, and removes none of an attempt that began after it. So one
that goes on although everybody takes it for dead cannot damage what its successor has uploaded, whatever it does.
"""

import hashlib
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO, TypeVar

from ..disk import files
from ..errors import StorageFault, TakenOver, notice, one_line
from . import snapshots
from .remote import Remote, pieces
from .snapshots import Content, Snapshot

KEPT = 2  # how many of the newest snapshots stay: if one is damaged, there is another
TRIES, WAIT = 5, 2.0  # of what must succeed, and the seconds after the first try; each wait is twice the one before

T = TypeVar("T")


class Mirror:
    """One attempt at a job: brings the newest snapshot here, and uploads new ones."""

    def __init__(self, place: Remote, name: str, folder: Path, sleep: Callable[[float], None] = time.sleep):
        """`name` is the job's, `folder` the one of this machine in which it trains."""
        self.place, self.name, self.folder, self._sleep = place, name, folder, sleep
        self.attempt = snapshots.attempt(time.time_ns())
        self._began_from: Snapshot | None = None
        self._own: list[Snapshot] = []  # the newest
        self._uploaded: set[str] = set()  # checksums of this attempt's files
        self._known: dict[tuple[str, int, int, int], str] = {}  # checksums, by path, size, time and number of the file

    def fetch(self) -> int | None:
        """Bring the newest whole snapshot into the folder, and return its step; None if there is none."""
        self._insisting("used", self._begin)
        self._began_from = self._insisting("downloaded", lambda: snapshots.newest(self.place, self.name, self.folder))
        return self._began_from.step if self._began_from else None

    def kept(self, step: int) -> None:
        """Upload the run folder, which has a checkpoint of this step. If that fails, the next one brings it all."""
        try:
            self._upload(step)
        except OSError as error:
            said = error.strerror or one_line(error)
            notice(f"the checkpoint of step {step} was not uploaded to {self.place}/{self.name}: {said}")

    def finish(self, step: int) -> None:
        """Upload the run folder as training has left it. A StorageFault says that it could not be, or that another
        attempt, which began later, may have removed it."""
        self._insisting("uploaded", lambda: self._upload(step))
        if max(self._insisting("listed", self._attempts), default="") > self.attempt:
            raise TakenOver(f"{self.place}/{self.name} was taken over by an attempt that began later")

    def _begin(self) -> None:
        """Let others see this attempt, which is later than all that are there, whatever the clocks of machines say."""
        latest = max((int(attempt[:20]) for attempt in self._attempts()), default=0)
        self.attempt = snapshots.attempt(max(time.time_ns(), latest + 1))
        self.place.write(snapshots.at(self.name, self.attempt, snapshots.BEGUN), b"")

    def _attempts(self) -> list[str]:
        return [name for name in self.place.names(f"{self.name}/files") if snapshots.ATTEMPT.fullmatch(name)]

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
        for path in snapshots.paths_in(self.folder):
            try:
                with files.opened(self.folder, path) as file:
                    contents[path] = self._put(path, file)
            except FileNotFoundError:
                continue  # of the user's or a logger's: nothing that a checkpoint needs is removed meanwhile
        snapshot = Snapshot(step, self.attempt, self._own[-1].number + 1 if self._own else 0, contents)
        self.place.write(f"{self.name}/{snapshot.name}", snapshots.text(snapshot))
        self._own = [*self._own, snapshot][-KEPT:]
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
            self.place.upload(snapshots.at(self.name, self.attempt, sha256), file, status.st_size)
            self._uploaded.add(sha256)
        return Content(sha256, status.st_size)

    def _prune(self) -> None:
        """Remove what this attempt and earlier ones no longer need. What it began from stays until it has enough of its
        own. Nothing depends on this: the next one removes what is left."""
        kept = [*self._own, *([self._began_from] if self._began_from and len(self._own) < KEPT else [])]
        try:
            for name in self.place.names(self.name):
                match = snapshots.NAME.fullmatch(name)
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
            self.place.remove(snapshots.at(self.name, attempt, sha256))
