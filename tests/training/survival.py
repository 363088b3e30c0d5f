"""A small run that is cut in many ways, and what it is compared with. As a program: the same in a process of its own,
which dies at a given moment, at once or while training goes on, or waits.

    python -m tests.training.survival die "state written" 3 train --resume runs/x
"""

import os
import signal
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

from teen.cli import main as cli
from teen.disk import checkpoint
from teen.disk.checkpoint import Checkpoint
from teen.engine import evaluate
from teen.training.keeper import CheckpointKeeper
from teen.training.recorder import Recorder

STEPS, WARMUP, BUFFER, EVERY, CHUNK = 310, 50, 200, 30, 10
TRAIN = (
    f"train --algo td3 --env tests.toys:PointMass-v0 --seeds 2 --width 8 --batch 16 --steps {STEPS} --warmup {WARMUP} "
    f"--buffer {BUFFER} --eval-every 100 --eval-episodes 1 --log-every 50 --checkpoint-every {EVERY} --sync {CHUNK}"
).split()
PLACES = ("rows written", "rows renamed", "state written", "manifest written", "checkpoint renamed", "pruned one")
A_STEP = "a step"  # a chunk of CHUNK environment steps
A_MOMENT = "a moment"  # counted in seconds from the first chunk on


def newest(run: Path) -> Checkpoint:
    return checkpoint.newest(run / "checkpoint")


def rows(saved: Checkpoint) -> np.ndarray:
    """All that the replay holds: (lane, step, column)."""
    return np.concatenate([block for _, block in saved.rows()], axis=1)[:, -BUFFER:]


def same(one: Checkpoint, other: Checkpoint) -> bool:
    ours, theirs = one.snapshot.arrays, other.snapshot.arrays
    return (
        one.step == other.step
        and one.snapshot.facts == other.snapshot.facts
        and ours.keys() == theirs.keys()
        and all(ours[k].dtype == theirs[k].dtype and np.array_equal(ours[k], theirs[k]) for k in ours)
        and np.array_equal(rows(one), rows(other))
    )


def assert_same_end(run: Path, reference: Path) -> None:
    """Logs to the byte; parameters, optimisers, random streams, simulators and replay to the bit."""
    for name in ("eval.csv", "train.csv", "config.toml", "agent/weights.safetensors", "agent/agent.json"):
        assert (run / name).read_bytes() == (reference / name).read_bytes(), name
    assert newest(run).step == STEPS
    assert same(newest(run), newest(reference))
    assert not [path for path in run.rglob("*") if path.name.endswith(".part") or path.name == "lock"]


def trained(out: Path) -> Path:
    assert cli.main([*TRAIN, "--out", str(out)]) == 0
    return out


def stopped_at_an_evaluation(out: Path) -> Path:
    """A run that waits to go on, with an evaluation that it owes, and two checkpoints."""
    with stopped_in_an_evaluation(2):
        assert cli.main([*TRAIN, "--out", str(out)]) == 143
    assert len(list(out.glob("checkpoint/step-*"))) == 2
    return out


@contextmanager
def stopped_by(number: int, patched: object, name: str, count: int) -> Iterator[None]:
    """The signal arrives when the function is called for the `count`-th time, before it does its work."""
    original, calls = getattr(patched, name), Counter()

    def hooked(*args):
        calls[name] += 1
        if calls[name] == count:
            os.kill(os.getpid(), number)
        return original(*args)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(patched, name, hooked)
        yield


@contextmanager
def stopped_in_an_evaluation(count: int) -> Iterator[None]:
    """SIGTERM arrives when the `count`-th evaluation begins, and it does not end before somebody gives it up."""
    original, calls = evaluate.rollout, Counter()

    def rollout(envs, policy, seeds, starts, lanes, wanted):
        calls["rollout"] += 1
        if calls["rollout"] == count:
            os.kill(os.getpid(), signal.SIGTERM)
            given_up = threading.Event()
            while wanted():
                given_up.wait(0.01)
        return original(envs, policy, seeds, starts, lanes, wanted)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(evaluate, "rollout", rollout)
        yield


def in_the_foreground(monkeypatch: pytest.MonkeyPatch) -> None:
    """Wait for every checkpoint."""
    original = CheckpointKeeper.__call__

    def waiting(self, *args):
        original(self, *args)
        self.written()

    monkeypatch.setattr(CheckpointKeeper, "__call__", waiting)


def start(what: str, place: str, number: float, arguments: list[str]) -> subprocess.Popen[str]:
    """The run in a process of its own. `what`: die, or wait and say so, when `place` is reached `number` times; or die
    `later`, two chunks after the step of save `number`, while the thread that has reached the place waits."""
    command = [sys.executable, "-m", "tests.training.survival", what, place, str(number), *arguments]
    environment = {**os.environ, "PYTHONPATH": "src", "TEEN_TRUST": "tests.toys"}
    return subprocess.Popen(command, env=environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def main(what: str, place: str, number: str, *arguments: str) -> None:
    passed: Counter[str] = Counter()
    moved_on = threading.Event()

    def end() -> None:
        if what == "later":
            assert moved_on.wait(60), "training waited for the checkpoint"
        if what != "wait":
            os.kill(os.getpid(), signal.SIGKILL)
        for thread in threading.enumerate():
            if thread.name.startswith("checkpoint"):
                thread.join()
        print("waiting", flush=True)
        signal.pause()

    def reached(here: str) -> None:
        passed[here] += 1
        if here == A_STEP and place == A_MOMENT and passed[here] == 1:
            threading.Timer(float(number), end).start()
        if here == place and passed[here] == int(number):
            end()

    def stepped(self: Recorder, step: int) -> None:
        original(self, step)
        reached(A_STEP)
        if what == "later" and step == int(number) * EVERY + 2 * CHUNK:
            moved_on.set()

    original, Recorder.stepped, checkpoint.reached = Recorder.stepped, stepped, reached
    cli.main(list(arguments))
    if place == A_MOMENT:
        signal.pause()  # it ended before its moment came


if __name__ == "__main__":
    main(*sys.argv[1:])
