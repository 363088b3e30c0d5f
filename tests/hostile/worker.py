"""A process that gives commands to hostile run folders, one after the other. As a program, it is told what to do on
standard input and answers there in lines of JSON:

    python -m tests.hostile.worker WORK [MODULE]    # MODULE has the commands
"""

import contextlib
import faulthandler
import importlib
import json
import os
import resource
import shutil
import signal
import sys
import threading
import time
import traceback
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

import jax

from . import bases, checks, code, generator
from .commands import OUT, Command, Wrong
from .victim import Victim

GIBIBYTE = 2**30
MOST_GROWTH = 1.5 * GIBIBYTE  # of resident memory, by one command
HARD_LIMIT = 4 * GIBIBYTE  # of data, for one command: then the process fails, not the machine
MOST_PROGRAMS = 2.5 * GIBIBYTE  # of resident memory, most of it compiled programs


def memory(what: str) -> int:
    """Return a number of bytes from the system's record of this process; 0 where there is no such record."""
    with contextlib.suppress(OSError), open("/proc/self/status") as file:
        return next(int(line.split()[1]) * 1024 for line in file if line.startswith(what + ":"))
    return 0


class Stage:
    """The scene of one seed. It is built again after a command that may have changed it."""

    def __init__(self, seed: int, work: Path):
        self.plan, self.folder, self.valid = generator.plan(seed), work / f"seed-{seed}", work / "valid"
        self.victim: Victim | None = None
        self.mutations: list[str] = []

    def give(self, name: str, command: Command) -> dict[str, Any]:
        """Give the command, and return what is wrong afterwards."""
        if self.victim is None:
            self.victim, self.mutations = generator.build(self.plan, self.folder, self.valid)
        shutil.rmtree(self.folder / OUT, ignore_errors=True)
        (self.folder / OUT).mkdir()
        mark = self.folder / "mark"
        os.environ[code.MARK] = str(mark)
        but = (OUT, "mark", *command.leaves, *([f"runs/{self.plan.name}"] if command.writes else ()))
        before = checks.snapshot(self.folder, but)
        with _being_at(self.victim.here):
            resident, begin = _peak_from_here(), time.monotonic()
            number, problems, out, err = _captured(command, self.victim, self.folder.parent, self.plan.ascii)
            seconds, growth = time.monotonic() - begin, memory("VmHWM") - resident
        problems += checks.output(number, out, err)
        problems += [f"outside, {change}" for change in checks.changes(before, checks.snapshot(self.folder, but))]
        if mark.exists():
            problems.append(f"executed: {mark.read_text()!r}")
        for module in list(checks.imported(self.folder)):
            problems.append(f"imported: {module}")
            del sys.modules[module]
        if growth > MOST_GROWTH:
            problems.append(f"memory grew by {growth / GIBIBYTE:.1f} GiB")
        if command.writes or problems:
            self.victim = None
        answer = {"command": name, "code": number, "seconds": seconds, "growth": growth, "problems": problems}
        return {**answer, "mutations": self.mutations, "said": err.decode(errors="replace")[-500:]}

    def clear(self) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)


def _peak_from_here() -> int:
    """Let the system forget the largest size that the process had. Return the size now."""
    with contextlib.suppress(OSError), open("/proc/self/clear_refs", "w") as file:
        file.write("5")
    return memory("VmRSS")


@contextlib.contextmanager
def _being_at(folder: Path) -> Iterator[None]:
    """Be where commands are given; afterwards Python's path is as it was."""
    back, path = os.getcwd(), list(sys.path)
    with contextlib.suppress(OSError):  # the run folder may be no folder any more
        os.chdir(folder)
    importlib.invalidate_caches()
    try:
        yield
    finally:
        os.chdir(back)
        sys.path[:] = path


def _captured(
    command: Command, victim: Victim, place: Path, ascii_only: bool
) -> tuple[int | None, list[str], bytes, bytes]:
    """Return the exit code, what was raised, and both outputs as they left the process."""
    problems: list[str] = []
    number: int | None = None
    with (place / f"out-{os.getpid()}").open("w+b") as out, (place / f"err-{os.getpid()}").open("w+b") as err:
        with _redirected(out, err, "ascii" if ascii_only else "utf-8"):
            try:
                number = command.run(victim)
            except Wrong as error:
                problems.append(str(error))
            except BaseException as error:
                last = traceback.extract_tb(error.__traceback__)[-1]
                where = f"{Path(last.filename).name}:{last.lineno} {last.name}"
                problems.append(f"raised {type(error).__name__}: {str(error)!r:.200} in {where}")
        return number, problems, _content(out), _content(err)


@contextlib.contextmanager
def _redirected(out: IO[bytes], err: IO[bytes], encoding: str) -> Iterator[None]:
    kept = os.dup(1), os.dup(2)
    sys.stdout.reconfigure(encoding=encoding, errors="strict")
    os.dup2(out.fileno(), 1)
    os.dup2(err.fileno(), 2)
    try:
        yield
    finally:
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
        for target, handle in enumerate(kept, 1):
            os.dup2(handle, target)
            os.close(handle)


def _content(file: IO[bytes]) -> bytes:
    file.seek(0)
    return file.read()


def _limit_memory() -> None:
    """Allow so much more than there is now. Programs of odd shapes are forgotten before they fill the memory."""
    if memory("VmRSS") > MOST_PROGRAMS:
        jax.clear_caches()
    resource.setrlimit(resource.RLIMIT_DATA, (memory("VmData") + HARD_LIMIT, resource.RLIM_INFINITY))


def _follow(parent: int) -> None:
    """End when the parent has ended, also in the middle of a command that hangs."""
    while os.getppid() == parent:
        time.sleep(1)
    os._exit(1)


def main(work: str, module: str = "tests.hostile.commands") -> None:
    """Answer requests: a seed and the names of commands."""
    threading.Thread(target=_follow, args=(os.getppid(),), daemon=True).start()
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what anybody prints between commands
    os.environ["BROWSER"] = "true"  # a program that does nothing
    warnings.simplefilter("always", RuntimeWarning)
    warnings.simplefilter("always", UserWarning)
    commands: dict[str, Command] = importlib.import_module(module).COMMANDS
    folder = Path(work)
    faulthandler.register(signal.SIGUSR1, (folder / f"stack-{os.getpid()}").open("w"))
    print(json.dumps({"done": True}), file=answers, flush=True)
    for line in sys.stdin:
        request = json.loads(line)
        if "make" in request:
            bases.make(Path(request["make"]))
        if "seed" in request:
            stage = Stage(request["seed"], folder)
            for name in request["commands"]:
                _limit_memory()
                print(json.dumps(stage.give(name, commands[name])), file=answers, flush=True)
            stage.clear()
        print(json.dumps({"done": True}), file=answers, flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
