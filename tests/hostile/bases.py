"""The valid runs that hostile ones are made of, trained for a few steps. They share compiled programs where they can:
a program with one seed of two variants has as many lanes as one with two seeds."""

import shutil
import sys
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path

from teen.cli.main import main

BASES = ("single", "sweep", "paper")
STEPS, MORE = 40, 60  # that the runs have, and to which they are resumed
FEW = 10  # random steps, before the learner begins
PAPER_STEPS, PAPER_MORE = 60, 80  # the learner begins after 50: a shorter run is refused
TRAIN = (
    f"train --algo td3 --env Pendulum-v1 --backend gymnasium --width 8 --batch 8 --steps {STEPS} --warmup {FEW} "
    "--buffer 20 --eval-every 20 --eval-episodes 1 --log-every 10 --checkpoint-every 20"
).split()
PAPER = ["paper", "ablation-alpha", "--smoke", "--seeds", "1", "--steps", str(PAPER_STEPS)]


def make(folder: Path) -> None:
    """Train the runs into `folder / base`. The first has everything that a run folder may hold."""
    with redirect_stdout(StringIO()), redirect_stderr(StringIO()):
        _command([*TRAIN, "--seeds", "2", "--out", f"{folder / 'single'}"])
        _command(["analyze", f"{folder / 'single'}", "--episodes", "1"])
        _command([*TRAIN, "--seeds", "1", "--lr", "0.001,0.003", "--out", f"{folder / 'sweep'}"])
        _command([*PAPER, "--run", "--out", f"{folder / 'papers'}"])
    (program,) = (folder / "papers" / "runs").iterdir()
    shutil.move(program, folder / "paper")
    (folder / "single" / "quarantine.csv").write_text("seed,step,quantity\n1,40,critic_loss\n")


def _command(arguments: list[str]) -> None:
    if code := main(arguments):
        raise RuntimeError(f"{arguments} ended with exit code {code}: {sys.stderr.getvalue()}")


def variants(root: Path) -> list[Path]:
    """Return the folders of a program's variants; the folder itself where there is one."""
    if (root / "config.toml").is_file():
        return [root]
    return sorted(path.parent for path in root.glob("*/config.toml"))


def observations(env: str) -> int:
    return {"Pendulum-v1": 3, "HalfCheetah-v4": 17}.get(env, 3)
