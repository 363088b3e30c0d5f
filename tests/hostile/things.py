"""Mutations of what a name in a run folder stands for: links, FIFOs, sockets, folders, huge files, damaged bytes."""

import os
import shutil
import socket
from collections.abc import Callable
from pathlib import Path
from random import Random

from .victim import Victim

NAMES = (
    *("config.toml", "eval.csv", "eval.csv.gz", "train.csv", "diagnostics.csv", "members.csv", "confusion.csv"),
    *(
        "timing.csv",
        "machine.json",
        "machine.json.part",
        "quarantine.csv",
        "curve.png",
        "curve.png.part",
        "config.toml.part",
        "eval.csv.part",
        "diagnostics.csv.part",
    ),
    *(
        "agent",
        "agent/agent.json",
        "agent/weights.safetensors",
        "agent/agent.json.part",
        "agent/weights.safetensors.part",
    ),
    *("checkpoint", "checkpoint", "agent", "lock", "lock", "lock"),
)
HUGE = 6 * 2**30  # bytes that take no place on the disk


def name_in(victim: Victim, rng: Random) -> Path:
    """Return a path of the run: a file, a folder, or one that a command will write."""
    inside = [path for step in victim.steps() for path in (step, step / "manifest.json", step / "state.safetensors")]
    soon = [victim.root / "checkpoint" / name for name in ("step-000000000060", "step-000000000060.part")]
    soon.append(victim.root / "checkpoint" / "rows-000000000040-000000000060.safetensors.part")
    if rng.random() < 0.35:
        return rng.choice([*inside, *victim.rows(), *soon])
    return victim.file(rng.choice(NAMES))


def another_thing(victim: Victim, rng: Random) -> str:
    """Put something else in the place of a file or folder."""
    path, (what, put) = name_in(victim, rng), rng.choice(list(THINGS.items()))
    path.parent.mkdir(parents=True, exist_ok=True)
    kept = victim.outside / "original"  # a link may lead to what was there, so that its content is right
    if os.path.lexists(path):
        if kept.is_dir() and not kept.is_symlink():
            shutil.rmtree(kept)
        os.replace(path, kept)
    put(victim, path)
    return f"{path.relative_to(victim.root)} is {what}"


def damage(victim: Victim, rng: Random) -> str:
    """Change the bytes of a file."""
    files = [path for path in sorted(victim.root.rglob("*")) if path.is_file() and not path.is_symlink()]
    path, (what, change) = rng.choice(files), rng.choice(list(DAMAGES.items()))
    path.write_bytes(change(path.read_bytes(), rng))
    return f"{path.relative_to(victim.root)} {what}"


def link(victim: Victim, path: Path, target: str) -> None:
    path.symlink_to(os.path.relpath(victim.outside / target, path.parent))


def sparse(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(HUGE)


def sock(path: Path) -> None:
    """Make a socket that nobody listens to. Its path may be too long for the system: then it is made relative."""
    with socket.socket(socket.AF_UNIX) as made:
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            made.bind(f"/proc/self/fd/{folder}/{path.name}")
        finally:
            os.close(folder)


def folder_with_file(victim: Victim, path: Path) -> None:
    path.mkdir()
    (path / path.name).write_text("a file")


THINGS: dict[str, Callable[[Victim, Path], object]] = {
    "missing": lambda victim, path: None,
    "a link to a file outside": lambda victim, path: link(victim, path, "secret.txt"),
    "a link to a folder outside": lambda victim, path: link(victim, path, "folder"),
    "a link to a run outside": lambda victim, path: link(victim, path, "run"),
    "a link to the checkpoints of a run outside": lambda victim, path: link(victim, path, "run/checkpoint"),
    "a link to the agent of a run outside": lambda victim, path: link(victim, path, "run/agent"),
    "a link to what it was, outside": lambda victim, path: link(victim, path, "original"),
    "a link to nothing": lambda victim, path: link(victim, path, "nothing"),
    "a link to itself": lambda victim, path: path.symlink_to(path.name),
    "a link to its folder": lambda victim, path: path.symlink_to("."),
    "a link to the scene": lambda victim, path: link(victim, path, ".."),
    "a link to /dev/zero": lambda victim, path: path.symlink_to("/dev/zero"),
    "a link to /dev/stdin": lambda victim, path: path.symlink_to("/dev/stdin"),
    "a FIFO": lambda victim, path: os.mkfifo(path),
    "a FIFO (2)": lambda victim, path: os.mkfifo(path),
    "a socket": lambda victim, path: sock(path),
    "an empty folder": lambda victim, path: path.mkdir(),
    "a folder with a file": folder_with_file,
    "an empty file": lambda victim, path: path.touch(),
    "a file of text": lambda victim, path: path.write_text("a file\n"),
    "a sparse huge file": lambda victim, path: sparse(path),
    "unreadable": lambda victim, path: (path.touch(), path.chmod(0)),
}


def cut(data: bytes, rng: Random) -> bytes:
    return data[: rng.randrange(len(data) + 1)]


def flipped(data: bytes, rng: Random) -> bytes:
    changed = bytearray(data or b" ")
    for _ in range(rng.choice((1, 1, 8, 100))):
        changed[rng.randrange(len(changed))] ^= 1 << rng.randrange(8)
    return bytes(changed)


def inserted(what: bytes) -> Callable[[bytes, Random], bytes]:
    def insert(data: bytes, rng: Random) -> bytes:
        at = rng.choice((0, rng.randrange(len(data) + 1), len(data)))
        return data[:at] + what + data[at:]

    return insert


DAMAGES: dict[str, Callable[[bytes, Random], bytes]] = {
    "is cut": cut,
    "has flipped bits": flipped,
    "has a BOM": lambda data, rng: b"\xef\xbb\xbf" + data,
    "is UTF-16": lambda data, rng: b"\xff\xfe" + data.decode("latin1").encode("utf-16-le"),
    "has a NUL": inserted(b"\0"),
    "has bytes that are no UTF-8": inserted(b"\xff\xfe\xc3("),
    "has an escape code": inserted(b"\x1b]0;owned\x07"),
    "has CRLF": lambda data, rng: data.replace(b"\n", b"\r\n"),
    "has CR": lambda data, rng: data.replace(b"\n", b"\r"),
    "is there twice": lambda data, rng: data + data,
    "is random": lambda data, rng: rng.randbytes(len(data)),
    "is nested": lambda data, rng: rng.choice((b"[", b'{"a":', b"x = [", b"x.")) * 100_000,
    "is one long line": lambda data, rng: b"x" * 3_000_000,
    "is many lines": lambda data, rng: b"x = 1\n" * 300_000,
    "is gzipped": lambda data, rng: b"\x1f\x8b\x08\0\0\0\0\0" + data,
}
