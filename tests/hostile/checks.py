"""What is looked at after a command: its output, its exit code, what it changed and what it imported."""

import hashlib
import os
import re
import stat
import sys
import unicodedata
from collections.abc import Iterator
from pathlib import Path

from .code import SEEN

CODES = (0, 2, 3, 4, 5)
HASHED = 2**21  # bytes; larger files are compared by size and time
NOTICES = ("notice: ", "replay: ")
PYTHON = re.compile(r"^Traceback|^\S*Warning: |: \w*Warning: |^Exception |^Fatal Python error", re.MULTILINE)

Snapshot = dict[str, tuple[object, ...]]


def output(code: int | None, out: bytes, err: bytes) -> Iterator[str]:
    """Yield what is wrong with what a command printed. The code is None where it raised something."""
    for name, data in (("output", out), ("error output", err)):
        try:
            text = data.decode()
        except UnicodeDecodeError:
            yield f"{name} is no UTF-8: {data!r:.200}"
            continue
        if codes := sorted({c for c in text if c != "\n" and unicodedata.category(c) in ("Cc", "Cf", "Zl", "Zp")}):
            line = next(line for line in text.split("\n") if codes[0] in line)
            yield f"{name} has control codes {codes!r:.60}: {line!r:.200}"
        if match := PYTHON.search(text):
            yield f"{name} has Python's own words: {text[match.start() :]!r:.300}"
    lines = err.decode(errors="replace").split("\n")[:-1]
    errors = [line for line in lines if line.startswith("teen: ")]
    if code is None:
        return
    if code not in CODES:
        yield f"exit code {code}: {lines[-3:]!r:.300}"
    if len(errors) != (code != 0):
        yield f"exit code {code} with {len(errors)} lines of error: {lines!r:.300}"
    if code and (others := [line for line in lines if not line.startswith(("teen: ", *NOTICES))]):
        yield f"exit code {code} with further lines: {others!r:.300}"


def snapshot(folder: Path, but: tuple[str, ...]) -> Snapshot:
    """Return names, kinds, sizes, times and contents of all below a folder, but for these names."""
    return {os.fsencode(path).decode("latin1"): _looks(path) for path in _below(folder, folder, but)}


def _below(folder: Path, top: Path, but: tuple[str, ...]) -> Iterator[Path]:
    try:
        entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
    except OSError:  # its path is too long
        return
    for entry in entries:
        place = Path(entry.path)
        if str(place.relative_to(top)) in but or not os.path.lexists(place):  # again too long
            continue
        yield place
        if entry.is_dir(follow_symlinks=False):
            yield from _below(place, top, but)


def _looks(path: Path) -> tuple[object, ...]:
    status = os.lstat(path)
    if stat.S_ISDIR(status.st_mode):
        return (status.st_mode,)
    content = ""
    if stat.S_ISREG(status.st_mode) and status.st_size <= HASHED:
        content = hashlib.sha256(path.read_bytes()).hexdigest()
    elif stat.S_ISLNK(status.st_mode):
        content = os.readlink(path)
    return status.st_mode, status.st_size, status.st_mtime_ns, content


def changes(before: Snapshot, after: Snapshot) -> Iterator[str]:
    for name in sorted(before.keys() | after.keys()):
        if before.get(name) != after.get(name):
            how = "removed" if name not in after else "made" if name not in before else "changed"
            yield f"{how}: {name[-120:]!r}"


def imported(scene: Path) -> Iterator[str]:
    """Yield the modules that were imported from the scene, or that show when they are."""
    for name, module in list(sys.modules.items()):
        file = getattr(module, "__file__", None) or ""
        places = [file, *map(str, getattr(module, "__path__", ()))]
        if name in SEEN or any(place.startswith(f"{scene}{os.sep}") for place in places):
            yield name
