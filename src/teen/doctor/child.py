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
    why = ""
    try:
        said, complaint = process.communicate(timeout=patience)
    except subprocess.TimeoutExpired:
        why = f"it did not end within {patience:g} seconds"
        process.kill()
        said, complaint = process.communicate()
    except BaseException:  # Ctrl-C
        process.kill()
        process.wait()
        raise
    if process.returncode and not why:
        last = complaint.decode(errors="replace").strip().splitlines()[-1:]
        ended = (
            f"ended by signal {-process.returncode}" if process.returncode < 0 else f"exit code {process.returncode}"
        )
        why = f"{last[0]} ({ended})" if last and process.returncode < 0 else last[0] if last else ended
    return Answer(said.decode(errors="replace").splitlines(), printable(why)[:LONGEST])


def probe(name: str, *arguments: str) -> Answer:
    """Run a function of `probes`."""
    return python(["-m", "teen.doctor.probes", name, *arguments])
