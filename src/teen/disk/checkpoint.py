"""Checkpoints: snapshots of a whole run on disk. They are written atomically, checked when read, and never executed.

    checkpoint/
      step-000000025000/manifest.json        its format and facts, with the size and SHA-256 of every file it needs
      step-000000025000/state.safetensors    everything but the replay
      rows-000000000000-000000025000.safetensors    the replay's rows of these steps, written once

Checkpoints share the files of rows: each one writes only those that are new. All files are written under another name,
synced, then renamed. No link is followed: it may lead to the checkpoints of another run.
"""

import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ..errors import UserError
from ..snapshot import Blocks, Snapshot
from . import files, manifest
from .files import sync_folder, write_synced
from .manifest import MANIFEST, STATE, Damaged, Segment, checked_file, folder_name
from .parsing import arrays_of
from .pieces import pieces

KEPT = 2  # how many of the newest stay on disk: if one is damaged, there is another
MOST_PROBLEMS = 5  # that are listed
LINK = "it is a link, and links in a run folder are not followed"


def reached(place: str) -> None:
    """Do nothing. A hook for fault injection: tests replace it to kill the process or fill the disk during a save."""


class NoneWhole(UserError):
    """There are checkpoints, and all are damaged."""


class Checkpoint(NamedTuple):
    """A whole checkpoint, read from disk."""

    step: int
    snapshot: Snapshot  # of everything but the replay
    segments: list[Segment]
    folder: Path
    damaged: list[str]  # newer checkpoints that were skipped, and why

    @property
    def manifest(self) -> Path:
        return self.folder / folder_name(self.step) / MANIFEST

    def rows(self) -> Iterator[tuple[int, np.ndarray]]:
        """Yield the replay's rows, one file at a time: first step, (lane, step, width)."""
        for segment in self.segments:
            data = files.read(self.folder.parent, f"{self.folder.name}/{segment.name}", segment.bytes)
            rows = _parse(data, segment.name)["rows"]
            if rows.ndim != 3 or rows.shape[1] != segment.last - segment.first:
                raise Damaged(f"{segment.name} holds {rows.shape}, not the rows of its steps")
            yield segment.first, rows


class CheckpointWriter:
    """Writes checkpoints and removes old ones."""

    def __init__(self, folder: Path, capacity: int, start: Checkpoint | None = None):
        """`capacity` is how many steps the replay holds, `start` the checkpoint that the run goes on from."""
        self.folder, self.capacity = folder, capacity
        self._segments: dict[int, list[Segment]] = {start.step: start.segments} if start else {}  # by checkpoint's step

    @property
    def newest(self) -> int | None:
        return max(self._segments, default=None)

    def first_missing(self, step: int) -> int:
        """Return the first of the rows that a checkpoint of this step needs and that no file holds."""
        before = self._newest_segments()
        return max(0, step - self.capacity, before[-1].last if before else 0)

    def save(self, step: int, snapshot: Snapshot, rows: Callable[[int, int], Blocks]) -> None:
        """Write a checkpoint. `rows` gives the replay's rows between two steps. If an OSError is raised, earlier
        checkpoints are still whole."""
        files.make_folder(self.folder)
        try:
            fresh = [self._write_rows(start, block) for start, block in rows(self.first_missing(step), step)]
            segments = [s for s in self._newest_segments() + fresh if s.last > step - self.capacity]
            self._write_folder(step, snapshot, segments)
        except OSError:
            self._prune()
            raise
        self._segments[step] = segments
        for old in sorted(self._segments)[:-KEPT]:
            del self._segments[old]
        self._prune()

    def _newest_segments(self) -> list[Segment]:
        return self._segments[self.newest] if self.newest is not None else []

    def _write_rows(self, first: int, block: np.ndarray) -> Segment:
        data = pieces({"rows": block})
        segment = Segment(first, first + block.shape[1], *manifest.measured(*data))
        part = self.folder / f"{segment.name}.part"
        write_synced(part, *data)
        reached("rows written")
        os.replace(part, self.folder / segment.name)
        reached("rows renamed")
        return segment

    def _write_folder(self, step: int, snapshot: Snapshot, segments: list[Segment]) -> None:
        part = self.folder / f"{folder_name(step)}.part"
        files.remove(part)
        part.mkdir()
        state = pieces(snapshot.arrays)
        write_synced(part / STATE, *state)
        reached("state written")
        write_synced(part / MANIFEST, manifest.written(step, *manifest.measured(*state), segments, snapshot.facts))
        sync_folder(part)
        reached("manifest written")
        files.remove(self.folder / folder_name(step))  # a damaged one that was skipped
        os.replace(part, self.folder / folder_name(step))
        sync_folder(self.folder)
        reached("checkpoint renamed")

    def _prune(self) -> None:
        """Remove what no kept checkpoint needs: older and damaged ones, and files that a killed process left."""
        segments = [segment for listed in self._segments.values() for segment in listed]
        needed = {*map(folder_name, self._segments), *(segment.name for segment in segments)}
        for path in () if self.folder.is_symlink() else self.folder.iterdir():
            if path.name in needed or not re.fullmatch(r"(step|rows)-[\d-]+(\.safetensors)?(\.part)?", path.name):
                continue
            files.remove(path)
            reached("pruned one")


def latest(folder: Path) -> int | None:
    """Return the step of the newest checkpoint, whole or not."""
    return max(_steps(folder), default=None)


def newest(folder: Path, rows: bool = True) -> Checkpoint:
    """Return the newest checkpoint that is whole; without `rows` the replay's files are not checked. If none is whole,
    a UserError says what is wrong with each."""
    steps = sorted(_steps(folder), reverse=True)
    if not steps:
        raise UserError(f"there is no checkpoint in {folder}")
    problems: list[str] = []
    for step in steps:
        try:
            return _read(folder, step, problems, rows)
        except (Damaged, OSError) as error:
            problems.append(f"{folder_name(step)}: {error}")
    more = f"; and {len(problems) - MOST_PROBLEMS} more" if len(problems) > MOST_PROBLEMS else ""
    raise NoneWhole(f"no checkpoint in {folder} is whole; " + "; ".join(problems[:MOST_PROBLEMS]) + more)


def _steps(folder: Path) -> list[int]:
    """Return the steps of all checkpoints, whole or not."""
    if folder.is_symlink():
        raise UserError(f"{folder} cannot be used: {LINK}")
    try:
        names = os.listdir(folder) if folder.is_dir() else []
    except OSError as error:
        raise UserError(f"{folder} cannot be read: {error.strerror}") from None
    return [int(m[1]) for name in names if (m := re.fullmatch(r"step-([0-9]{12})", name))]


def _read(folder: Path, step: int, problems: list[str], rows: bool) -> Checkpoint:
    listed = manifest.read(folder, step, rows)
    for segment in listed.segments if rows else ():
        checked_file(folder, segment.name, segment.bytes, segment.sha256)
    state = checked_file(folder, f"{folder_name(step)}/{STATE}", listed.bytes, listed.sha256, keep=True)
    return Checkpoint(step, Snapshot(_parse(state, STATE), listed.facts), listed.segments, folder, problems)


def _parse(data: bytes, name: str) -> dict[str, np.ndarray]:
    try:
        return arrays_of(data)
    except ValueError as error:
        raise Damaged(f"{name}: {error}") from None
