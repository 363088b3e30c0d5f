"""A reader's desk: an empty folder with the runs that a page speaks of. They are small, and trained once."""

import os
import re
import shutil
import subprocess
import sys
import threading
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest import mock

import gymnasium
import numpy as np

import teen
from teen.cli import main as cli
from teen.report.serve import Server
from tests.registry import restored_registry

from . import dry
from .blocks import ROOT, Block, commands

SMALL = (
    "--env Pendulum-v1 --backend gymnasium --seeds 2 --width 8 --batch 16 --steps 200 --warmup 50 --eval-every 100 "
    "--eval-episodes 1 --log-every 50 --checkpoint-every 100"
)
TASKS = """\
import gymnasium
from gymnasium.envs.classic_control import PendulumEnv
gymnasium.register("Reach-v0", entry_point=PendulumEnv, max_episode_steps=200)
"""
CHANGES = {"pip", "make"}
RUNS = {"cheetah": "teen", "teen": "teen", "td3": "td3", "a": "teen", "b": "td3"}  # names on pages, and what they are


def train_runs(folder: Path) -> None:
    """Train an ensemble and a single learner, which pages call runs/teen, runs/td3 and otherwise."""
    for algo, more in (("td3", ""), ("teen", "--n 2 --epsilon 0.1")):
        given = ["train", "--algo", algo, *SMALL.split(), *more.split(), "--out", str(folder / algo)]
        assert cli.main(given) == 0


@contextmanager
def desk(folder: Path, trained: Path, page: Sequence[Block]) -> Iterator[dict[str, Any]]:
    """Make the folder the current one, with the runs that the page names, and yield the names that its Python may use:
    `teen`, `obs`, an observation of Pendulum-v1, and `batch_of_obs`, two of them."""
    named = {name for block in page for name in re.findall(r"\bruns/(\w+)", block.code)}
    for name in named & RUNS.keys():
        shutil.copytree(trained / RUNS[name], folder / "runs" / name)
    (folder / "my_package").mkdir()
    (folder / "my_package" / "my_tasks.py").write_text(TASKS)
    obs, _ = gymnasium.make("Pendulum-v1").reset(seed=0)
    here, path = os.getcwd(), list(sys.path)
    forget_package()  # of another test, in another folder
    os.chdir(folder)
    sys.path.insert(0, "")  # as Python's prompt does
    try:
        with restored_registry():
            yield {"teen": teen, "obs": obs, "batch_of_obs": np.stack([obs, obs])}
    finally:
        os.chdir(here)
        sys.path[:] = path
        forget_package()


def forget_package() -> None:
    for name in [name for name in sys.modules if name.split(".")[0] == "my_package"]:
        del sys.modules[name]


def do(block: Block, names: dict[str, Any], also_long: bool = False) -> None:
    """Do with a block what a reader would, or check it where it is too long. With `also_long`, what is long is run too
    where the comment above it says that it is tested."""
    whole = not block.long or (also_long and block.tested)
    if block.file:
        path = Path(block.file)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(block.code + "\n")
    elif block.kind == "python":
        code = compile("\n" * (block.line - 1) + block.smaller, block.page, "exec")  # so that errors name the line
        if whole:
            exec(code, names)
    elif block.kind == "shell" and whole:
        _run(block.smaller)
    elif block.kind == "shell":
        dry.check_script(block.code, commands(block.code))


def _run(code: str) -> None:
    """Run a script. Where it has no other commands than ours, it needs no process, in which JAX would start again."""
    words = commands(code)
    for command in words:
        assert command[0] not in CHANGES, f"{' '.join(command)} would change this environment: mark it as long"
    if any(command[0] != "teen" for command in words) or re.search(r"^\w+=", code, re.MULTILINE):
        path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
        python = f"{ROOT / 'src'}:{ROOT}:{os.environ.get('PYTHONPATH', '')}"
        given = {**os.environ, "PATH": path, "PYTHONPATH": python}
        subprocess.run(["bash", "-euo", "pipefail", "-c", code], check=True, env=given, timeout=300)
        return
    for _, *arguments in words:
        with _served():
            try:
                ended = cli.main(arguments)
            except SystemExit as end:  # after --help
                ended = end.code or 0
        assert ended == 0, f"teen {' '.join(arguments)} ended with {ended}"


@contextmanager
def _served() -> Iterator[None]:
    """A server answers one request, on any port, and is ended as by Ctrl-C."""

    def serve(self: Server) -> None:
        thread = threading.Thread(target=super(Server, self).serve_forever)
        thread.start()
        with urllib.request.urlopen(self.url, timeout=10) as answer:
            assert answer.status == 200
        self.shutdown()
        thread.join()
        raise KeyboardInterrupt

    with mock.patch.multiple(Server, serve_forever=serve), mock.patch("teen.cli.serve.PORT", 0):
        yield
