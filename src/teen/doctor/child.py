"""Try something in a process of its own: there it may crash, hang, or take the GPU's memory."""

import subprocess
import sys
from collections.abc import Sequence
from typing import NamedTuple

from ..errors import printable

PATIENCE = 300  # seconds; what is tried takes a few, and longer where many share the cores
LONGEST = 300  # characters of a reason


class Answer(NamedTuple):
    lines: list[str]  # of its standard output
    why: str  # the last thing it said when it failed; empty where it worked


def python(arguments: Sequence[str], patience: float = PATIENCE) -> Answer:
    """Run Python with these arguments. Modules in the current folder, which may be a stranger's, are not found."""
    command = [sys.executable, "-P", *arguments]
    try:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    except OSError as error:
        return Answer([], f"{sys.executable} cannot be started: {error.strerror}")
    try:
        said, complaint = process.communicate(timeout=patience)
        why = _reason(process.returncode, complaint.decode(errors="replace"))
    except subprocess.TimeoutExpired:
        process.kill()
        said, _ = process.communicate()
        why = f"it did not end within {patience:g} seconds"
    except BaseException:  # Ctrl-C
        process.kill()
        process.wait()
        raise
    return Answer(said.decode(errors="replace").splitlines(), printable(why)[:LONGEST])


def _reason(code: int, complaint: str) -> str:
    """Return why a process failed: its last line, or how it ended; empty where it did not fail."""
    last = complaint.strip().rpartition("\n")[2]
    if code < 0:
        return f"{last} (ended by signal {-code})".lstrip()
    return last or f"exit code {code}" if code else ""


def probe(name: str, *arguments: str) -> Answer:
    """Run a function of `probes`."""
    return python(["-m", "teen.doctor.probes", name, *arguments])
