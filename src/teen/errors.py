"""What goes wrong outside the code: a user's mistake, or an environment's."""

import re
import sys
from pathlib import Path

NONE_LEFT = "no lane is left whose numbers are finite"  # how a run ends all of whose learners diverged


class UserError(ValueError):
    """Something the user can mend. One line on standard error, exit code 2, no traceback."""


class InUse(UserError):
    """Another process trains there."""

    def __init__(self, folder: Path, process: str):
        super().__init__(f"{folder} is in use by process {process}: it trains there")


class CopyFault(Exception):
    """One copy of an environment failed: which one, and how."""

    def __init__(self, copy: int | None, reason: str):
        super().__init__(reason)
        self.copy, self.reason = copy, reason


class EnvironmentFault(RuntimeError):
    """An environment failed during a run: says which, in which lane, of which seed, at which step. Exit code 3."""


class LearnerFault(RuntimeError):
    """A learner's numbers are no longer finite: says which, in which lane, of which seed, when. Exit code 4."""


class StorageFault(RuntimeError):
    """What a run should leave could not be written. Exit code 5."""


class TakenOver(StorageFault):
    """Another attempt at the same job began later, and goes on with it."""


def printable(text: str) -> str:
    """Return text on one line and without control codes, whatever file it came from."""
    return "".join(c if c.isprintable() else " " for c in text)


def one_line(error: BaseException) -> str:
    """Return an error's message without colours and line breaks."""
    return " ".join(re.sub(r"\x1b\[\d+m", "", str(error)).replace("`", "").split())


def notice(line: str) -> None:
    """Tell the user something that is no error."""
    print(f"notice: {printable(line)}", file=sys.stderr, flush=True)
