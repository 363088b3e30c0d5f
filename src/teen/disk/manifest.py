"""The manifest of a checkpoint: its format and facts, with the size and SHA-256 of every file it needs.

Whatever is wrong with a manifest, or with a file that it lists, is found before the checkpoint is used. Sizes are
compared before anything is read.
"""

import hashlib
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from ..engine import memory
from ..errors import UserError
from ..settings import shown
from . import files
from .files import Piece
from .parsing import json_of, whole_number

FORMAT = 3  # 2 had no column that says where an episode ends, and no memos
WRITTEN_BY = {1: "teen 0.1.0", 2: "an earlier state of teen 0.2.0"}  # the versions that read and write older formats
LARGEST = 2**25  # bytes; a real one has two thousand for each lane
LARGEST_FILE = 2**62  # bytes
STATE, MANIFEST = "state.safetensors", "manifest.json"


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


class Manifest(NamedTuple):
    segments: list[Segment]
    bytes: int  # of the state
    sha256: str  # of the state
    facts: Any


def folder_name(step: int) -> str:
    return f"step-{step:012}"


def digest(data: bytes) -> str:
    return measured(data)[1]


def measured(*pieces: Piece) -> tuple[int, str]:
    """Return how many bytes a file of these pieces has, and its SHA-256."""
    sha = hashlib.sha256()
    for piece in pieces:
        sha.update(piece)
    return sum(map(len, pieces)), sha.hexdigest()


def written(step: int, size: int, sha256: str, segments: list[Segment], facts: Any) -> bytes:
    """Return the manifest of a checkpoint, whose state has this size and SHA-256, as bytes."""
    content = {
        "format": FORMAT,
        "step": step,
        "state": {"bytes": size, "sha256": sha256},
        "rows": [segment._asdict() for segment in segments],
        "facts": facts,
    }
    return (json.dumps({"sha256": digest(_canonical(content)), "content": content}, indent=1) + "\n").encode()


def read(folder: Path, step: int, rows: bool) -> Manifest:
    """Return the manifest of the checkpoint of this step in `folder`. `rows` says whether the replay will be read."""
    content = _content(folder, step)
    if content.get("step") != step:
        raise Damaged(f"{MANIFEST} says that it is of step {shown(content.get('step'))}")
    try:
        segments = [Segment(**entry) for entry in content["rows"]]
        for segment in segments:
            whole_number(segment.last, step)
            whole_number(segment.first, segment.last - 1)
            whole_number(segment.bytes, LARGEST_FILE)
        state = content["state"]
        manifest = Manifest(segments, whole_number(state["bytes"], LARGEST_FILE), state["sha256"], content["facts"])
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise Damaged(f"{MANIFEST} lacks or garbles {error}") from None
    firsts, lasts = [s.first for s in segments], [s.last for s in segments]
    if firsts[1:] != lasts[:-1] or lasts[-1:] != ([step] if step else []):
        raise Damaged(f"the rows that {MANIFEST} lists have gaps")
    # A file can be sparse: it says that it is large, and takes no place on disk.
    listed = sum(segment.bytes for segment in segments) if rows else 0
    if max(3 * manifest.bytes, listed / 4) > memory.of_machine():
        raise Damaged(f"the files that {MANIFEST} lists do not fit in this machine's memory")
    return manifest


def _content(folder: Path, step: int) -> dict[str, Any]:
    """Return a manifest's content, checked against its own checksum. A checkpoint of another version is a UserError, so
    that it is not skipped as if it were damaged."""
    name = f"{folder_name(step)}/{MANIFEST}"
    with _opened(folder, name) as file:
        data = files.read_bounded(file, LARGEST, folder / name)
    try:
        manifest = json_of(data)
        content = manifest["content"]
        number = content["format"]
        whole = manifest["sha256"] == digest(_canonical(content))
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise Damaged(f"{MANIFEST} is not a manifest: {type(error).__name__} {error}") from None
    which = f"the checkpoint {folder / folder_name(step)} has format {shown(number)}"
    if isinstance(number, int) and number > FORMAT:
        raise UserError(f"{which}; this version reads up to format {FORMAT}")
    if whole and isinstance(number, int) and number in WRITTEN_BY:
        raise UserError(f"{which}, which {WRITTEN_BY[number]} writes and reads; this version reads format {FORMAT}")
    if not whole or number != FORMAT:
        raise Damaged(f"{MANIFEST} does not match its checksum")
    return dict(content)


def checked_file(folder: Path, name: str, size: int, sha256: str, keep: bool = False) -> bytes:
    """Compare a file with its size and checksum, piece by piece. Return its bytes with `keep`, otherwise nothing."""
    checksum, pieces = hashlib.sha256(), []
    with _opened(folder, name) as file:
        there = os.fstat(file.fileno()).st_size
        if there != size:
            raise Damaged(f"{name} has {there} bytes, not {size}")
        while piece := file.read(2**24):
            checksum.update(piece)
            if keep:
                pieces.append(piece)
    if checksum.hexdigest() != sha256:
        raise Damaged(f"{name} does not match its checksum")
    return b"".join(pieces)


@contextmanager
def _opened(folder: Path, name: str) -> Iterator[BinaryIO]:
    """Open a file of the folder of checkpoints. Links are not followed, neither that folder nor in it."""
    try:
        with files.opened(folder.parent, f"{folder.name}/{name}") as file:
            yield file
    except FileNotFoundError:
        raise Damaged(f"{name} is missing") from None
    except OSError as error:
        raise Damaged(f"{name} cannot be read: {error.strerror}") from None


def _canonical(content: Any) -> bytes:
    return json.dumps(content, sort_keys=True, separators=(",", ":")).encode()
