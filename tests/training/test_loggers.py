"""Loggers beside a run: they show what its CSV files say, also after a stop, and nothing that they do changes it."""

import os
import re
import shutil
import signal
import subprocess
import sys

import pytest

import teen
from teen.cli import main as cli
from teen.config.job import resolve
from teen.disk.folder import RunFolder
from teen.engine.evaluate import Episode
from teen.errors import UserError
from teen.loggers import background
from teen.loggers.base import merged
from teen.loggers.tensorboard import TensorBoard
from teen.training import feed
from teen.training.recorder import Recorder
from tests.loggers.own import Good, Hangs, Raises
from tests.loggers.reading import (
    assert_same_curves,
    from_csv,
    from_rows,
    from_tensorboard,
    from_trackio,
    from_wandb,
    hparams,
    wandb_records,
)
from tests.support import same_in_every_run
from tests.training.survival import stopped_by

SMALL = {
    "algo": "td3", "env": "tests.toys:PointMass-v0", "seeds": "3,5", "gamma": [0.9, 0.95], "width": 8, "batch": 16,
    "warmup": 20, "steps": 160, "eval_every": 40, "eval_episodes": 2, "log_every": 20, "checkpoint_every": 40,
    "buffer": 80,  # less than any number of steps here, so that all runs share their programs
}  # fmt: skip
VARIANTS = ["gamma=0.9", "gamma=0.95"]
ALL = {
    "algo": "teen", "env": "tests.toys:PointMass-v0", "seeds": "3,5", "alpha": [0, 0.2], "n": 2, "width": 8,
    "batch": 16, "warmup": 20, "steps": 160, "eval_every": 40, "eval_episodes": 2, "members_every": 80,
    "log_every": 20, "checkpoint_every": 40,
    "buffer": 80,  # less than any number of steps here, so that all runs share their programs
}  # fmt: skip
ALL = "tensorboard,wandb,trackio"


def flags(**changes):
    values = {name: value for name, value in {**SMALL, **changes}.items() if value is not None}
    pairs = [(f"--{name.replace('_', '-')}", value) for name, value in values.items()]
    return [part for name, x in pairs for part in (name, ",".join(map(str, x)) if isinstance(x, list) else str(x))]


@pytest.fixture(scope="module")
def plain(tmp_path_factory):
    """A run without loggers."""
    out = tmp_path_factory.mktemp("plain") / "run"
    teen.train(out=out, show=False, **SMALL)
    return out


@pytest.fixture(scope="module")
def logged(tools, tmp_path_factory):
    """The same run with all three tools, stopped by SIGTERM, moved, and resumed by the command."""
    first, out = (tmp_path_factory.mktemp(name) / "run" for name in ("first", "logged"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(background, "PATIENCE", 300.0)  # machines may be as slow as they like
        with stopped_by(signal.SIGTERM, Recorder, "evaluated", 2):
            assert teen.train(out=first, show=False, log=ALL.split(","), **SMALL).stopped_by == signal.SIGTERM
        shutil.move(first, out)
        assert cli.main(["train", "--resume", str(out), "--log", ALL]) == 0
    return out


def without(files, *names):
    return {path: data for path, data in files.items() if not any(name in path.split("/") for name in names)}


def test_loggers_change_nothing(plain, logged):
    tools = "tensorboard", "wandb", "logger-id", "checkpoint"
    files = without(same_in_every_run(plain), "checkpoint")
    assert without(same_in_every_run(logged), *tools) == files
    assert {"eval.csv", "train.csv", "weights.safetensors"} <= {path.split("/")[-1] for path in files}


@pytest.mark.parametrize("variant", VARIANTS)
def test_tensorboard_shows_the_run(logged, variant):
    folder = logged / variant
    assert_same_curves(from_tensorboard(folder), from_csv(folder))
    assert {path.name: len(list(path.iterdir())) for path in (folder / "tensorboard").iterdir()} == {
        "mean": 2, "seed-3": 2, "seed-5": 2,
    }  # fmt: skip
    shown = hparams(folder)
    assert (shown["gamma"], shown["width"], shown["seeds"]) == (float(variant.split("=")[1]), 8, "[3, 5]")
    assert (shown["env"], shown["normalise_obs"]) == ("tests.toys:PointMass-v0", False)


@pytest.mark.parametrize("variant", VARIANTS)
def test_weights_and_biases_shows_the_run(logged, variant):
    folder = logged / variant
    assert_same_curves(from_wandb(folder), from_csv(folder))
    records = wandb_records(folder)
    runs = [record.run for record in records if record.HasField("run")]
    identity = (folder / feed.IDENTITY).read_text().strip()
    assert {(run.run_id, run.project, run.run_group) for run in runs} == {(identity, "teen", "run")}
    assert {run.display_name for run in runs} == {f"run {variant}"}
    config = {item.key: item.value_json for run in runs for item in run.config.update}
    assert (config["gamma"], config["seeds"], config["algo"]) == (variant.split("=")[1], "[3,5]", '"td3"')
    globs = {(r.metric.glob_name, r.metric.step_metric) for r in records if r.HasField("metric")}
    assert ("*", "env_step") in globs
    assert len(list((folder / "wandb").iterdir())) == 2  # one for each start, and no links to the latest


@pytest.mark.parametrize("variant", VARIANTS)
def test_trackio_shows_the_run(logged, variant):
    folder = logged / variant
    curves, config = from_trackio((folder / feed.IDENTITY).read_text().strip())
    assert_same_curves(curves, from_csv(folder))
    assert (config["gamma"], config["seeds"], config["_Group"]) == (float(variant.split("=")[1]), [3, 5], "run")


def test_bad_loggers_leave_a_run_alone(plain, tmp_path, monkeypatch, capsys):
    """And a good one beside them has every row."""
    monkeypatch.setattr(background, "PATIENCE", 3.0)
    good, hanging = Good(), [Hangs("begin"), Hangs("log"), Hangs("close")]
    raising = [Raises("begin"), Raises("log", count=2), Raises("close"), Raises("log", SystemExit(1))]
    outcome = teen.train(out=tmp_path / "run", show=False, log=[*hanging, good, *raising], **SMALL)
    for one in hanging:
        one.freed.set()
    assert (outcome.step, outcome.stopped_by) == (160, None)
    assert without(same_in_every_run(tmp_path / "run"), "logger-id") == same_in_every_run(plain)
    lines = [line for line in capsys.readouterr().err.splitlines() if line.startswith("notice: logger")]
    names = sorted(re.match(r"notice: logger ([\w-]+) is dropped", line)[1] for line in lines)
    assert names == ["Hangs", "Hangs-2", "Hangs-3", "Raises", "Raises-2", "Raises-3", "Raises-4"]
    (run,) = good.runs
    assert (run.folder, run.step, good.closed) == (tmp_path / "run", 0, 1)
    for variant in run.variants:
        assert variant.folder == tmp_path / "run" / variant.name
        rows = [{"step": step, **x} for (name, step), x in merged(good.rows).items() if name == variant.name]
        assert_same_curves(from_rows(rows, "step"), from_csv(variant.folder))


def test_the_command_goes_on_without_a_logger_that_fails(plain, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(TensorBoard, "log", Raises("log").log)
    assert cli.main(["train", *flags(), "--out", str(tmp_path / "run"), "--log", "tensorboard"]) == 0
    assert len(re.findall("^notice: logger tensorboard is dropped.*$", capsys.readouterr().err, re.MULTILINE)) == 1
    for variant in VARIANTS:
        for name in ("eval.csv", "train.csv"):
            assert (tmp_path / "run" / variant / name).read_bytes() == (plain / variant / name).read_bytes()


def test_a_model_learns_with_loggers_and_goes_on_with_them(tmp_path):
    good, settings = Good(), {name: value for name, value in SMALL.items() if name not in ("algo", "steps")}
    model = teen.TD3(**settings, out=tmp_path / "run", show=False)
    model.learn(80, log=good)
    model.learn(80, log=good)
    assert [run.step for run in good.runs] == [0, 80]
    first, again = good.runs
    assert [variant.id for variant in first.variants] == [variant.id for variant in again.variants]
    assert good.closed == 2
    steps = [row.step for row in good.rows if "eval/return" in row.values and row[:2] == ("gamma=0.9", None)]
    assert steps == [40, 80, 120, 160]


def test_what_is_no_logger_is_said_before_anything_is_made(tmp_path):
    for log in ("tensorbord", [3]):
        with pytest.raises(UserError, match="no logger"):
            teen.train(out=tmp_path / "run", show=False, log=log, **SMALL)
    assert not (tmp_path / "run").exists()


def test_seeds_in_quarantine_do_not_count(tmp_path):
    job = resolve({**SMALL, "env": "Pendulum-v1"})
    folders = [RunFolder(tmp_path / variant.name, job.settings, variant.config) for variant in job.variants]
    for folder in folders:
        folder.path.mkdir()
    good = Good()

    def episodes(step):
        """Of each lane: one of the evaluated policy, and two of members."""
        return [
            [Episode(seed, step, policy, 0, 10.0 * lane + k, 5) for k, policy in enumerate(["mean", "0", "1"])]
            for lane, seed in enumerate([3, 5, 3, 5])
        ]

    with feed.Feed(job, folders, {"good": good}) as told:
        told.begin(100, missing=[0])
        told.evaluated(120, episodes(120))
        told.quarantined(3, 130, "q")
        told.evaluated(140, episodes(140))
    names = "eval/return", "eval/members_return"
    first, second = VARIANTS
    assert [(*row[:3], *(row.values[name] for name in names)) for row in good.rows] == [
        (first, 5, 120, 10.0, 11.5), (first, None, 120, 10.0, 11.5),
        (second, 3, 120, 20.0, 21.5), (second, 5, 120, 30.0, 31.5), (second, None, 120, 25.0, 26.5),
        (first, 5, 140, 10.0, 11.5), (first, None, 140, 10.0, 11.5),
        (second, 3, 140, 20.0, 21.5), (second, None, 140, 20.0, 21.5),
    ]  # fmt: skip


@pytest.mark.parametrize("content", [b"", b"../../x\n", b"\xff" * 50, b"0" * 1000], ids=range(4))
def test_an_identity_that_is_none_is_replaced(content, tmp_path):
    (tmp_path / feed.IDENTITY).write_bytes(content)
    drawn = feed.identity(tmp_path)
    assert re.fullmatch("[0-9a-f]{16}", drawn)
    assert feed.identity(tmp_path) == drawn


WAITING = """
import threading
import teen
from teen.loggers import background
from tests.loggers.own import Hangs
from tests.training.test_loggers import SMALL

background.PATIENCE = 600.0
logger = Hangs("close")
threading.Thread(target=lambda: print("reached", logger.reached.wait(), flush=True), daemon=True).start()
teen.train(out=sys.argv[1], show=False, log=logger, **SMALL)
"""


@pytest.mark.full
def test_a_second_signal_ends_the_wait_for_loggers(tmp_path):
    command = [sys.executable, "-c", "import sys\n" + WAITING, str(tmp_path / "run")]
    environment = {**os.environ, "PYTHONPATH": "src"}
    pipe = subprocess.PIPE
    with subprocess.Popen(command, env=environment, text=True, stdout=pipe, stderr=pipe) as process:
        assert process.stdout.readline() == "reached True\n"
        process.send_signal(signal.SIGTERM)
        assert "a second signal stops at once" in process.stderr.readline()
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 128 + signal.SIGTERM
    assert (tmp_path / "run" / VARIANTS[0] / "agent" / "weights.safetensors").exists()  # all was saved before
