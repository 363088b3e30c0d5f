"""A worker as its parent sees it: it is asked, watched, ended when it takes too long, and begun again."""

import contextlib
import json
import os
import select
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from . import generator

ROOT = Path(__file__).parents[2]
LIMIT = 60.0  # seconds for one command
PATIENCE = 900.0  # seconds to begin, and for the training of the valid runs
FAST = "--xla_backend_optimization_level=1"  # programs that run for a few steps are compiled quickly


class Result(NamedTuple):
    """A command over a seed's folder, and all that was wrong."""

    seed: int
    command: str
    code: int | None
    seconds: float
    growth: int  # bytes
    problems: list[str]
    mutations: list[str]
    said: str  # the end of its error output

    def __str__(self) -> str:
        head = f"seed {self.seed}, {self.command} ({self.code}, {self.seconds:.1f} s, {self.growth / 2**20:.0f} MiB)"
        return "\n".join(
            [f"{head}: {'; '.join(self.mutations)}", *(f"    FAILED {problem}" for problem in self.problems)]
        )


class Ended(Exception):
    """The worker is no more. The message says why."""


class Worker:
    def __init__(self, work: Path, module: str = "tests.hostile.commands", limit: float = LIMIT):
        self.work, self.module, self.limit = work, module, limit
        self._process: Any = None  # of subprocess
        self._rest = b""
        self.closed = False

    def make_valid(self) -> None:
        """Train the valid runs, if they are not there."""
        if not (self.work / "valid").is_dir():
            self._ask({"make": str(self.work / "valid.part")})
            self._answer(PATIENCE)
            os.replace(self.work / "valid.part", self.work / "valid")

    def try_seed(self, seed: int, commands: list[str]) -> Iterator[Result]:
        """Give each command to this seed's folder. One that ends the worker is a failure; the others go on."""
        left = list(commands)
        while left:
            begin = time.monotonic()
            try:
                self._ask({"seed": seed, "commands": left})
                while not (answer := self._answer(self.limit)).get("done"):
                    yield Result(seed, **answer)
                    begin = time.monotonic()
                    left.pop(0)
                return
            except Ended as ended:
                if self.closed:
                    return
                seconds = time.monotonic() - begin
                yield Result(seed, left.pop(0), None, seconds, 0, [str(ended)], self._mutations(seed), "")

    def close(self) -> None:
        """End the process for good."""
        self.closed = True
        self._kill()

    def _kill(self) -> None:
        if self._process:
            self._process.kill()
            self._process.wait()
            for pipe in (self._process.stdin, self._process.stdout):
                pipe.close()

    def _mutations(self, seed: int) -> list[str]:
        """Return a folder's mutations in words, where the worker can no longer say them."""
        scene = self.work / f"again-{seed}"
        try:
            return generator.build(generator.plan(seed), scene, self.work / "valid")[1]
        finally:
            shutil.rmtree(scene, ignore_errors=True)

    def _ask(self, request: dict[str, Any]) -> None:
        if self.closed:
            raise Ended("closed")
        if self._process is None or self._process.poll() is not None:
            self._begin()
        with contextlib.suppress(BrokenPipeError):  # it has just ended: the answer will say so
            self._process.stdin.write(json.dumps(request).encode() + b"\n")

    def _begin(self) -> None:
        self._kill()
        flags = f"{os.environ.get('XLA_FLAGS', '')} {FAST}".strip()
        environment = {**os.environ, "XLA_FLAGS": flags, "PYTHONHASHSEED": "0"}
        command = [sys.executable, "-m", "tests.hostile.worker", str(self.work), self.module]
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
        # Ctrl-C is for the parent alone: a command must not answer to it.
        self._process = subprocess.Popen(command, cwd=ROOT, env=environment, start_new_session=True, bufsize=0, **pipes)
        self._rest = b""
        self._answer(PATIENCE)  # it is ready

    def _answer(self, seconds: float) -> dict[str, Any]:
        """Return the next line of the worker's answer."""
        process = self._process
        deadline = time.monotonic() + seconds
        while b"\n" not in self._rest:
            left = deadline - time.monotonic()
            if left <= 0 or not select.select([process.stdout], [], [], left)[0]:
                raise Ended(f"took longer than {seconds:g} s, here: {self._stack()}")
            piece = os.read(process.stdout.fileno(), 65536)
            if not piece:
                raise Ended(f"the process ended with exit code {process.wait()}: {self._last_words()}")
            self._rest += piece
        line, _, self._rest = self._rest.partition(b"\n")
        answer: dict[str, Any] = json.loads(line)
        return answer

    def _stack(self) -> str:
        """Let the worker say where it is, then end it."""
        self._process.send_signal(signal.SIGUSR1)
        time.sleep(1)
        self._kill()
        threads = (self.work / f"stack-{self._process.pid}").read_text().split("\n\n")  # the main one is the last
        frames = [line.rpartition("/")[2].replace('", line ', ":") for line in threads[-1].splitlines()[1:]]
        return " < ".join(frames[:12])

    def _last_words(self) -> str:
        path = self.work / f"err-{self._process.pid}"
        return repr(path.read_text(errors="replace")[-300:]) if path.exists() else ""
