"""Whole runs with the compiled collector: docs/reliability.md holds, but that EnvPool's simulators cannot be saved."""

import filecmp
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import teen
from teen.disk import checkpoint
from teen.envs import CompiledEnvs
from teen.errors import EnvironmentFault, UserError
from teen.training import run as training
from tests.engine.collecting import tamper

SMALL = {
    "width": 8, "n": 3, "m": 2, "batch": 16, "seeds": 2, "steps": 600, "warmup": 100, "eval_every": 200,
    "eval_episodes": 2, "members_every": 400, "log_every": 100, "checkpoint_every": 200, "sync": 10, "show": False,
}  # fmt: skip
COMMAND = [
    sys.executable, "-m", "teen", "train", "--algo", "td3", "--env", "Hopper-v4", "--width", "8", "--batch", "16",
    "--seeds", "2", "--warmup", "100", "--eval-every", "500", "--eval-episodes", "2", "--log-every", "100",
    "--checkpoint-every", "200", "--collector", "compiled",
]  # fmt: skip
STEPS = 10_000  # many more than a run takes before it is ended; a run that goes on cannot be made shorter
WRITTEN = ("eval.csv", "train.csv", "config.toml", "agent/weights.safetensors")


def evaluated(run: Path) -> list[tuple[int, int]]:
    """Steps and seeds of the headline policy's episodes."""
    rows = [line.split(",") for line in (run / "eval.csv").read_text().splitlines()[1:]]
    return [(int(step), int(seed)) for seed, step, policy, *_ in rows if policy == "mean"]


def expected(every: int, last: int) -> list[tuple[int, int]]:
    """Two episodes of two seeds, without a gap and without a row twice."""
    return [(step, seed) for step in range(every, last + 1, every) for seed in (0, 1) for _ in range(2)]


def test_the_same_command_twice_gives_identical_files_and_the_choice_is_recorded(tmp_path, capsys):
    for name in ("one", "two"):
        teen.train("teen", "Hopper-v4", out=tmp_path / name, **{**SMALL, "show": name == "one"})
    assert "collector: compiled" in capsys.readouterr().err
    for name in WRITTEN:
        assert filecmp.cmp(tmp_path / "one" / name, tmp_path / "two" / name, shallow=False), name
    assert 'collector = "compiled"' in (tmp_path / "one" / "config.toml").read_text()


def test_gymnasium_is_collected_in_python_and_a_resume_keeps_the_collector(tmp_path):
    settings = {**SMALL, "steps": 200, "eval_every": 200}
    teen.train("td3", "Hopper-v4", out=tmp_path / "a", backend="gymnasium", **_without_members(settings))
    assert 'collector = "python"' in (tmp_path / "a" / "config.toml").read_text()
    teen.train("td3", "Hopper-v4", out=tmp_path / "b", collector="python", **_without_members(settings))
    training.resume(tmp_path / "b", steps=400, show=False)
    assert 'collector = "python"' in (tmp_path / "b" / "config.toml").read_text()


def _without_members(settings):
    return {name: value for name, value in settings.items() if name not in ("n", "m")}


@pytest.mark.parametrize(
    ("env", "settings", "message"),
    [
        ("Hopper-v4", {"backend": "gymnasium"}, "needs EnvPool, and Hopper-v4 is stepped with gymnasium"),
        ("tests.toys:PointMass-v0", {}, "needs EnvPool, and tests.toys:PointMass-v0 is stepped with gymnasium"),
    ],
)
def test_what_cannot_be_compiled_is_refused(env, settings, message, tmp_path):
    with pytest.raises(UserError, match=message):
        teen.train("td3", env, out=tmp_path / "run", collector="compiled", steps=100, warmup=50, show=False, **settings)
    assert not (tmp_path / "run").exists()


@pytest.mark.full
def test_resumed_twice_it_ends_alike_and_no_row_is_missing(tmp_path):
    teen.train("teen", "Hopper-v4", out=tmp_path / "one", **SMALL)
    shutil.copytree(tmp_path / "one", tmp_path / "two")
    for name in ("one", "two"):
        training.resume(tmp_path / name, steps=1200, show=False)
    for name in WRITTEN:
        assert filecmp.cmp(tmp_path / "one" / name, tmp_path / "two" / name, shallow=False), name
    assert evaluated(tmp_path / "one") == [
        (step, seed) for step in range(200, 1201, 200) for seed in (0, 1) for _ in "ab"
    ]


@pytest.mark.parametrize("number", [pytest.param(signal.SIGTERM, marks=pytest.mark.full), signal.SIGKILL])
def test_a_run_that_is_ended_goes_on(number, tmp_path):
    """SIGTERM comes in the middle of a chunk: the one that has been begun after it is not used. SIGKILL leaves no time
    for anything."""
    run = tmp_path / "run"
    process = subprocess.Popen([*COMMAND, "--steps", str(STEPS), "--out", str(run)], stderr=subprocess.PIPE)
    give_up = time.monotonic() + 120
    while not list(run.glob("checkpoint/step-*400")) and time.monotonic() < give_up:
        time.sleep(0.05)
    os.kill(process.pid, number)
    process.communicate(timeout=60)
    assert process.returncode in (-signal.SIGKILL, 128 + signal.SIGTERM)
    saved = checkpoint.newest(run / "checkpoint")
    steps = saved.step
    if number == signal.SIGTERM:
        assert sum(block.shape[1] for _, block in saved.rows()) == steps
    assert steps < STEPS
    training.resume(run, show=False)
    assert evaluated(run) == expected(500, STEPS)
    trained = [line.split(",")[:2] for line in (run / "train.csv").read_text().splitlines()[1:]]
    assert trained == [[str(seed), str(step)] for step in range(200, STEPS + 1, 100) for seed in (0, 1)]


@pytest.mark.parametrize(("where", "part"), [("training", "step 225"), ("an evaluation", "of an evaluation")])
def test_a_simulator_that_fails_ends_the_run_with_a_checkpoint(where, part, tmp_path, monkeypatch):
    made = CompiledEnvs.__init__

    def tampered(self, *args, **kwargs):
        made(self, *args, **kwargs)
        if (self.copies == 1) == (where == "training"):
            tamper(self, 1, 225 if where == "training" else 3, "nan")

    monkeypatch.setattr(CompiledEnvs, "__init__", tampered)
    settings = {**_without_members(SMALL), "eval_every": 600 if where == "training" else 300}
    with pytest.raises(
        EnvironmentFault, match=f"HalfCheetah-v4 failed in lane 1, seed 1, .*{part}.*: returned a number"
    ):
        teen.train("td3", "HalfCheetah-v4", out=tmp_path / "run", **settings)
    assert checkpoint.newest(tmp_path / "run" / "checkpoint").step >= 200
