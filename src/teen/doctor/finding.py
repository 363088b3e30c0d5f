"""What a check finds: a state, what it saw, and what to do about it."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from ..errors import one_line

State = Literal["ok", "warning", "failure", "not installed"]


@dataclass(frozen=True)
class Finding:
    name: str
    state: State
    text: str
    remedy: str = ""


Check = Callable[[], list[Finding]]


def guarded(name: str, check: Check) -> list[Finding]:
    """Return what a check finds. A check that raises has found something, too."""
    try:
        return check()
    except Exception as error:
        return [Finding(name, "failure", f"this could not be checked: {described(error)}")]


def described(error: BaseException) -> str:
    """Return an error in one line."""
    return f"{type(error).__name__}: {one_line(error)}"
