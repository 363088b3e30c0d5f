"""Checkpoints on disk: whole or not there, checked when they are read, and never executed.

    checkpoint/
      step-000000025000/manifest.json        what it is, with the size and SHA-256 of every file it needs
      step-000000025000/state.safetensors    everything but the replay
      rows-000000000000-000000025000.safetensors    the replay's rows of these steps, written once

Rows are shared: a checkpoint writes those that are new. All is written beside its place, synced, then renamed.
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
from ..snapshot import Blocks, Record

FORMAT = 1
KEPT = 2  # the newest checkpoints; if one is damaged, the other one is there
LARGEST_MANIFEST = 2**26  # bytes; a real one has thousands
STATE, MANIFEST = "state.safetensors", "manifest.json"


def reached(place: str) -> None:
    """Called between the stages of a save. Tests put a death here."""


class Damaged(ValueError):
    """A checkpoint that is not whole: says in what way."""


class Segment(NamedTuple):
    """A file of rows: those of steps `first` to `last`, without the latter."""

    first: int
    last: int
    bytes: int
    sha256: str

    @property
    def name(self) -> str:
        return f"rows-{self.first:012}-{self.last:012}.safetensors"


class Found(NamedTuple):
    """A whole checkpoint, read from disk."""

    step: int
    record: Record
    segments: list[Segment]
    folder: Path
    damaged: list[str]  # newer ones that were passed over, and why

    def rows(self) -> Iterator[tuple[int, np.ndarray]]:
        for segment in self.segments:
            rows = _parse((self.folder / segment.name).read_bytes(), segment.name)["rows"]
            if rows.ndim != 3 or rows.shape[1] != segment.last - segment.first:
                raise Damaged(f"{segment.name} holds {rows.shape}, not the rows of its steps")
            yield segment.first, rows


class Checkpoints:
    """Writes them. `found` is the one that the run goes on from."""

    def __init__(self, folder: Path, capacity: int, found: Found | None = None):
        """`capacity` is how many steps the replay holds."""
        self.folder, self.capacity = folder, capacity
        self._segments: dict[int, list[Segment]] = {found.step: found.segments} if found else {}  # by checkpoint

    @property
    def newest(self) -> int | None:
        return max(self._segments, default=None)

    def save(self, step: int, record: Record, rows: Callable[[int, int], Blocks]) -> None:
        """`rows` gives the replay's rows between two steps. An OSError leaves the checkpoints before as they were."""
        self.folder.mkdir(exist_ok=True)
        before = self._segments[self.newest] if self.newest is not None else []
        oldest = max(0, step - self.capacity)
        first = max(oldest, before[-1].last if before else 0)
        try:
            fresh = [self._write_rows(start, block) for start, block in rows(first, step)]
            segments = [s for s in before + fresh if s.last > oldest]
            self._write_manifest(step, record, segments)
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
        _write_synced(part, data)
        reached("rows written")
        os.replace(part, self.folder / segment.name)
        reached("rows renamed")
        return segment

    def _write_manifest(self, step: int, record: Record, segments: list[Segment]) -> None:
        part = self.folder / f"{_name(step)}.part"
        shutil.rmtree(part, ignore_errors=True)
        part.mkdir()
        state = safetensors.numpy.save({name: np.asarray(array, order="C") for name, array in record.arrays.items()})
        _write_synced(part / STATE, state)
        reached("state written")
        content = {
            "format": FORMAT,
            "step": step,
            "state": {"bytes": len(state), "sha256": _digest(state)},
            "rows": [segment._asdict() for segment in segments],
            "facts": record.facts,
        }
        manifest = {"sha256": _digest(_canonical(content)), "content": content}
        _write_synced(part / MANIFEST, (json.dumps(manifest, indent=1) + "\n").encode())
        _sync(part)
        reached("manifest written")
        shutil.rmtree(self.folder / _name(step), ignore_errors=True)  # one that was passed over as damaged
        os.replace(part, self.folder / _name(step))
        _sync(self.folder)
        reached("checkpoint renamed")

    def _prune(self) -> None:
        """Removes what no kept checkpoint needs: older ones, damaged ones, and what an earlier death left behind."""
        needed = {_name(step) for step in self._segments} | {s.name for own in self._segments.values() for s in own}
        for path in self.folder.iterdir():
            if path.name in needed or not re.fullmatch(r"(step|rows)-[\d-]+(\.safetensors)?(\.part)?", path.name):
                continue
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path, ignore_errors=True)
            else:
                path.unlink(missing_ok=True)
            reached("pruned one")


def latest(folder: Path) -> int | None:
    """The step of the newest checkpoint, whole or not."""
    return max(_steps(folder), default=None)


def newest(folder: Path, rows: bool = True) -> Found:
    """The newest checkpoint that is whole; without `rows`, the replay's may be damaged. A UserError says what is wrong
    with all of them."""
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


def _read(folder: Path, step: int, problems: list[str], rows: bool) -> Found:
    own = folder / _name(step)
    content = _content(own / MANIFEST)
    if content.get("step") != step:
        raise Damaged(f"{MANIFEST} says that it is of step {content.get('step')!r:.40}")
    try:
        segments = [Segment(**entry) for entry in content["rows"]]
        bytes_, sha256 = content["state"]["bytes"], content["state"]["sha256"]
        ends = [s.last for s in segments]
        starts = [s.first for s in segments]
        if (
            not all(type(n) is int and n >= 0 for n in (*starts, *ends))
            or starts[1:] != ends[:-1]
            or ends[-1:] != [step]
        ):
            raise Damaged(f"the rows that {MANIFEST} lists have gaps")
        facts = content["facts"]
    except (KeyError, TypeError, AttributeError) as error:
        raise Damaged(f"{MANIFEST} lacks or garbles {error}") from None
    for segment in segments if rows else ():
        _check(folder / segment.name, segment.bytes, segment.sha256)
    state = _check(own / STATE, bytes_, sha256, keep=True)
    return Found(step, Record(_parse(state, STATE), facts), segments, folder, problems)


def _content(path: Path) -> dict[str, Any]:
    """A manifest's content, checked against its own checksum."""
    if path.is_symlink() or not path.is_file():
        raise Damaged(f"{path.name} is missing")
    if path.stat().st_size > LARGEST_MANIFEST:
        raise Damaged(f"{path.name} is absurdly large")
    try:
        manifest = json.loads(path.read_bytes())
        content = manifest["content"]
        number = content["format"]
        whole = manifest["sha256"] == _digest(_canonical(content))
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise Damaged(f"{path.name} is not a manifest: {type(error).__name__} {error}") from None
    if isinstance(number, int) and number > FORMAT:
        raise UserError(f"the checkpoint {path.parent} has format {number}; this version of teen reads up to {FORMAT}")
    if not whole or number != FORMAT:
        raise Damaged(f"{path.name} does not match its checksum")
    return dict(content)


def _check(path: Path, size: int, sha256: str, keep: bool = False) -> bytes:
    """Its bytes, if they are to be kept: rows are looked through one piece at a time."""
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


def _write_synced(path: Path, data: bytes) -> None:
    path.unlink(missing_ok=True)  # a link left there is replaced, not followed
    with path.open("xb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def _sync(folder: Path) -> None:
    """A rename is only safe once the folder that records it is."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
