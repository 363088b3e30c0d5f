"""Checkpoints: snapshots of a whole run on disk. They are written atomically, checked when read, and never executed.

    checkpoint/
      step-000000025000/manifest.json        its format and facts, with the size and SHA-256 of every file it needs
      step-000000025000/state.safetensors    everything but the replay
      rows-000000000000-000000025000.safetensors    the replay's rows of these steps, written once

Checkpoints share the files of rows: each one writes only those that are new. All files are written under another name,
synced, then renamed.
"""

import hashlib
import json
import os
import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import safetensors.numpy
from safetensors import SafetensorError

from ..errors import UserError
from ..snapshot import Blocks, Snapshot
from .files import sync_folder, write_synced

FORMAT = 2
WRITTEN_BY = {1: "teen 0.1.0"}  # the versions that read and write older formats
KEPT = 2  # how many of the newest stay on disk: if one is damaged, there is another
LARGEST_MANIFEST = 2**26  # bytes; a real one has thousands
STATE, MANIFEST = "state.safetensors", "manifest.json"


def reached(place: str) -> None:
    """Do nothing. A hook for fault injection: tests replace it to kill the process or fill the disk during a save."""


class Damaged(ValueError):
    """A checkpoint is not whole. The message says what is wrong."""


class Segment(NamedTuple):
    """A file of the replay's rows from step `first` up to, but not including, step `last`."""

    first: int
    last: int
    bytes: int
    sha256: str

    @property
    def name(self) -> str:
        return f"rows-{self.first:012}-{self.last:012}.safetensors"


class Checkpoint(NamedTuple):
    """A whole checkpoint, read from disk."""

    step: int
    snapshot: Snapshot  # of everything but the replay
    segments: list[Segment]
    folder: Path
    damaged: list[str]  # newer checkpoints that were skipped, and why

    def rows(self) -> Iterator[tuple[int, np.ndarray]]:
        """Yield the replay's rows, one file at a time: first step, (lane, step, width)."""
        for segment in self.segments:
            rows = _parse((self.folder / segment.name).read_bytes(), segment.name)["rows"]
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

    def save(self, step: int, snapshot: Snapshot, rows: Callable[[int, int], Blocks]) -> None:
        """Write a checkpoint. `rows` gives the replay's rows between two steps. If an OSError is raised, earlier
        checkpoints are still whole."""
        self.folder.mkdir(exist_ok=True)
        before = self._segments[self.newest] if self.newest is not None else []
        oldest = max(0, step - self.capacity)
        first = max(oldest, before[-1].last if before else 0)
        try:
            fresh = [self._write_rows(start, block) for start, block in rows(first, step)]
            segments = [s for s in before + fresh if s.last > oldest]
            self._write_folder(step, snapshot, segments)
        except OSError:
            self._prune()
            raise
        self._segments[step] = segments
        for old in sorted(self._segments)[:-KEPT]:
            del self._segments[old]
        self._prune()

    def _write_rows(self, first: int, block: np.ndarray) -> Segment:
        data = safetensors.numpy.save({"rows": np.ascontiguousarray(block)})
        segment = Segment(first, first + block.shape[1], len(data), _digest(data))
        part = self.folder / f"{segment.name}.part"
        write_synced(part, data)
        reached("rows written")
        os.replace(part, self.folder / segment.name)
        reached("rows renamed")
        return segment

    def _write_folder(self, step: int, snapshot: Snapshot, segments: list[Segment]) -> None:
        part = self.folder / f"{_name(step)}.part"
        shutil.rmtree(part, ignore_errors=True)
        part.mkdir()
        state = safetensors.numpy.save({name: np.asarray(array, order="C") for name, array in snapshot.arrays.items()})
        write_synced(part / STATE, state)
        reached("state written")
        content = {
            "format": FORMAT,
            "step": step,
            "state": {"bytes": len(state), "sha256": _digest(state)},
            "rows": [segment._asdict() for segment in segments],
            "facts": snapshot.facts,
        }
        manifest = {"sha256": _digest(_canonical(content)), "content": content}
        write_synced(part / MANIFEST, (json.dumps(manifest, indent=1) + "\n").encode())
        sync_folder(part)
        reached("manifest written")
        shutil.rmtree(self.folder / _name(step), ignore_errors=True)  # a damaged one that was skipped
        os.replace(part, self.folder / _name(step))
        sync_folder(self.folder)
        reached("checkpoint renamed")

    def _prune(self) -> None:
        """Remove what no kept checkpoint needs: older and damaged ones, and files that a killed process left."""
        segments = [segment for listed in self._segments.values() for segment in listed]
        needed = {*map(_name, self._segments), *(segment.name for segment in segments)}
        for path in self.folder.iterdir():
            if path.name in needed or not re.fullmatch(r"(step|rows)-[\d-]+(\.safetensors)?(\.part)?", path.name):
                continue
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path, ignore_errors=True)
            else:
                path.unlink(missing_ok=True)
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
            problems.append(f"{_name(step)}: {error}")
    raise UserError(f"no checkpoint in {folder} is whole; " + "; ".join(problems))


def _steps(folder: Path) -> list[int]:
    names = [path.name for path in folder.iterdir()] if folder.is_dir() else []
    return [int(m[1]) for name in names if (m := re.fullmatch(r"step-(\d{12})", name))]


def _read(folder: Path, step: int, problems: list[str], rows: bool) -> Checkpoint:
    content = _content(folder / _name(step) / MANIFEST)
    if content.get("step") != step:
        raise Damaged(f"{MANIFEST} says that it is of step {content.get('step')!r:.40}")
    try:
        segments = [Segment(**entry) for entry in content["rows"]]
        size, sha256, facts = content["state"]["bytes"], content["state"]["sha256"], content["facts"]
    except (KeyError, TypeError, AttributeError) as error:
        raise Damaged(f"{MANIFEST} lacks or garbles {error}") from None
    firsts, lasts = [s.first for s in segments], [s.last for s in segments]
    numbers = all(type(n) is int and n >= 0 for n in (*firsts, *lasts))
    if not numbers or firsts[1:] != lasts[:-1] or lasts[-1:] != [step]:
        raise Damaged(f"the rows that {MANIFEST} lists have gaps")
    for segment in segments if rows else ():
        _check(folder / segment.name, segment.bytes, segment.sha256)
    state = _check(folder / _name(step) / STATE, size, sha256, keep=True)
    return Checkpoint(step, Snapshot(_parse(state, STATE), facts), segments, folder, problems)


def _content(path: Path) -> dict[str, Any]:
    """Return a manifest's content, checked against its own checksum. A checkpoint of another version is a UserError, so
    that it is not skipped as if it were damaged."""
    if path.is_symlink() or not path.is_file():
        raise Damaged(f"{path.name} is missing")
    if path.stat().st_size > LARGEST_MANIFEST:
        raise Damaged(f"{path.name} is too large")
    try:
        manifest = json.loads(path.read_bytes())
        content = manifest["content"]
        number = content["format"]
        whole = manifest["sha256"] == _digest(_canonical(content))
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise Damaged(f"{path.name} is not a manifest: {type(error).__name__} {error}") from None
    if isinstance(number, int) and number > FORMAT:
        raise UserError(f"the checkpoint {path.parent} has format {number}; this version reads up to format {FORMAT}")
    if whole and isinstance(number, int) and number in WRITTEN_BY:
        other = f"has format {number}, which {WRITTEN_BY[number]} writes and reads"
        raise UserError(f"the checkpoint {path.parent} {other}; this version reads format {FORMAT}")
    if not whole or number != FORMAT:
        raise Damaged(f"{path.name} does not match its checksum")
    return dict(content)


def _check(path: Path, size: int, sha256: str, keep: bool = False) -> bytes:
    """Compare a file with its size and checksum, piece by piece. Return its bytes with `keep`, otherwise nothing."""
    if path.is_symlink() or not path.is_file():
        raise Damaged(f"{path.name} is missing")
    if path.stat().st_size != size:
        raise Damaged(f"{path.name} has {path.stat().st_size} bytes, not {size}")
    digest, pieces = hashlib.sha256(), []
    with path.open("rb") as file:
        while piece := file.read(2**24):
            digest.update(piece)
            if keep:
                pieces.append(piece)
    if digest.hexdigest() != sha256:
        raise Damaged(f"{path.name} does not match its checksum")
    return b"".join(pieces)


def _parse(data: bytes, name: str) -> dict[str, np.ndarray]:
    try:
        arrays: dict[str, np.ndarray] = safetensors.numpy.load(data)
    except (SafetensorError, ValueError, KeyError, TypeError) as error:
        raise Damaged(f"{name} holds no arrays: {error}") from None
    return arrays


def _name(step: int) -> str:
    return f"step-{step:012}"


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _canonical(content: Any) -> bytes:
    return json.dumps(content, sort_keys=True, separators=(",", ":")).encode()
