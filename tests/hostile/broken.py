"""Commands that do what none may do: the sweep must see each of them."""

import importlib
import os
import sys
import time
import warnings
from pathlib import Path

import numpy as np

from .code import CANARY
from .commands import OUT, Command, Wrong, check_page
from .values import SCRIPTS
from .victim import Victim


def say(text: str, code: int = 0) -> int:
    print(text)
    return code


def complain(text: str, code: int = 2) -> int:
    sys.stderr.write(text)
    return code


def fail(error: BaseException) -> int:
    raise error


def write(path: Path) -> int:
    path.write_text("changed")
    return 0


def execute(victim: Victim) -> int:
    write_canary = victim.root / "evil.py"
    write_canary.write_text(CANARY)
    sys.path.append(str(victim.root))
    importlib.import_module("evil")
    return 0


def import_seen(victim: Victim) -> int:
    importlib.import_module("this")
    return 0


def warn(victim: Victim) -> int:
    warnings.warn("careful", RuntimeWarning, stacklevel=1)
    return 0


def take_memory(victim: Victim) -> int:
    return int(np.ones(2 * 2**27).sum() < 0)  # 2 GiB


def hang(victim: Victim) -> int:
    time.sleep(1000)
    return 0


def show_script(victim: Victim) -> int:
    check_page(f"<p>{SCRIPTS[0]}</p>", "a page")
    return 0


def link_out(victim: Victim) -> int:
    (victim.outside / "folder" / "secret.txt").unlink()
    (victim.outside / "folder" / "secret.txt").symlink_to("../secret.txt")
    return 0


# Each with words of the problem that the sweep must name; none where there is none.
EXPECTED: dict[str, tuple[Command, str]] = {
    "good": (Command(lambda victim: say("±")), ""),
    "refusing": (Command(lambda victim: complain("notice: x\nteen: no\n")), ""),
    "writing where it may": (Command(lambda victim: write(victim.scene / OUT / "x")), ""),
    "writing into the run": (Command(lambda victim: write(victim.root / "x"), writes=True), ""),
    "escape code": (Command(lambda victim: say("\x1b[31mred")), "output has control codes"),
    "bell": (Command(lambda victim: complain("teen: \x07\n")), "error output has control codes"),
    "carriage return": (Command(lambda victim: say("a\rb")), "output has control codes"),
    "no text": (Command(lambda victim: os.write(1, b"\xff") and 0), "output is no UTF-8"),
    "surrogate": (Command(lambda victim: say("\ud800")), "raised UnicodeEncodeError"),
    "error": (Command(lambda victim: fail(KeyError("x"))), "raised KeyError"),
    "exit": (Command(lambda victim: fail(SystemExit(2))), "raised SystemExit"),
    "interrupt": (Command(lambda victim: fail(KeyboardInterrupt())), "raised KeyboardInterrupt"),
    "traceback": (Command(lambda victim: complain("Traceback (most recent call last):\n", 0)), "Python's own words"),
    "warning": (Command(warn), "Python's own words"),
    "exit code": (Command(lambda victim: complain("teen: no\n", 1)), "exit code 1"),
    "silence": (Command(lambda victim: 2), "exit code 2 with 0 lines"),
    "two lines": (Command(lambda victim: complain("teen: a\nteen: b\n")), "exit code 2 with 2 lines"),
    "a line more": (Command(lambda victim: complain("teen: a\nb\n")), "exit code 2 with further lines"),
    "contradiction": (Command(lambda victim: complain("teen: a\n", 0)), "exit code 0 with 1 lines"),
    "execution": (Command(execute, writes=True), "executed: 'evil"),
    "import": (Command(import_seen), "imported: this"),
    "changed outside": (Command(lambda victim: write(victim.outside / "secret.txt")), "outside, changed"),
    "made outside": (Command(lambda victim: write(victim.scene / "runs" / "x")), "outside, made"),
    "removed outside": (Command(lambda victim: (victim.outside / "secret.txt").unlink() or 0), "outside, removed"),
    "replaced outside": (Command(link_out), "outside, changed"),
    "changed run": (Command(lambda victim: write(victim.root / "x")), "outside, made"),
    "script": (Command(show_script), "a page has the script"),
    "wrong": (Command(lambda victim: fail(Wrong("healthy run"))), "healthy run"),
    "memory": (Command(take_memory), "memory grew by 2.0 GiB"),
    "more memory": (Command(lambda victim: int(np.ones(2**31).sum() < 0)), "MemoryError"),
    "death": (Command(lambda victim: os._exit(0)), "the process ended with exit code 0"),
    "eternity": (Command(hang), "took longer than 20 s, here: broken.py"),
}
COMMANDS = {name: command for name, (command, _) in EXPECTED.items()}
