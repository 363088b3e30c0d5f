"""The command `teen tune`: mistakes are one line, and a study of real training is searched, killed, and goes on."""

import csv
import json
import os
import signal
import subprocess
import sys
import time

import optuna
import pytest

from teen.cli import main as cli
from teen.jobs.carry_out import carry_out
from teen.jobs.place import Folder
from teen.tune import file as study_file
from teen.tune.run import tune

STUDY = """\
[tune]
trials = 6
lanes = 3
last = 2
pruner = {name = "median", n_startup_trials = 2, n_warmup_steps = 90}
[settings]
algo = "td3"
env = "tests.toys:PointMass-v0"
seeds = 2
steps = 300
warmup = 50
eval_every = 50
eval_episodes = 1
log_every = 50
width = 8
batch = 16
checkpoint_every = 50
[search]
lr = {low = 1e-4, high = 1e-1, log = true}
gamma = {low = 0.9, high = 0.99}
"""


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "point.toml"
    path.write_text(STUDY)
    return path


def trials(out):
    read = optuna.load_study(study_name="point", storage=f"sqlite:///{out / 'study.db'}")
    return [(trial.state.name, trial.params, trial.value, trial.intermediate_values) for trial in read.trials]


@pytest.mark.parametrize(
    ("change", "arguments", "says"),
    [
        (("lr = ", "lrr = "), [], "[search]: there is no setting 'lrr'"),
        (("trials", "trails"), [], "[tune] has no key 'trails'"),
        (("PointMass-v0", "Nothing-v0"), [], "Nothing-v0"),
        (("tests.toys:", "os.path:"), [], "asks for the module 'os.path'"),
        (("", ""), ["--address", "x"], "--on ray"),
        (("", ""), ["--on", "cloud"], "--on"),
        (("", ""), ["--retries", "-1"], "--retries"),
        (("lanes = 3", "storage = 'what://x'"), [], "storage what://x cannot be opened"),
    ],
)
def test_a_mistake_is_one_line_and_nothing_begins(path, tmp_path, capsys, monkeypatch, change, arguments, says):
    monkeypatch.delitem(sys.modules, "os.path") if "os.path:" in change else None
    path.write_text(STUDY.replace(*change, 1) if change[0] else STUDY)
    assert cli.main(["tune", str(path), "--out", str(tmp_path / "out"), *arguments]) == 2
    error = capsys.readouterr().err
    assert says in error
    assert error.startswith("teen: ")
    assert error.count("\n") == 1
    assert not (tmp_path / "out" / "jobs.json").exists()


def test_a_file_that_is_not_there(capsys):
    assert cli.main(["tune", "nowhere.toml"]) == 2
    assert capsys.readouterr().err == "teen: study file nowhere.toml cannot be read: No such file or directory\n"


def test_trials_are_lanes_and_pruned_ones_fall_silent(path, tmp_path):
    """Real training, in this process."""
    place = Folder(tmp_path / "out")

    def launch(jobs):
        from teen.jobs.markers import add_to_ledger

        add_to_ledger(place, jobs)
        assert all(carry_out(job, place).state == "done" for job in jobs)
        return 0

    assert tune(study_file.read(path), place, launch) == 0
    found = trials(place.root)
    assert [len(found), *(state for state, *_ in found[:3])] == [6, "COMPLETE", "COMPLETE", "COMPLETE"]
    jobs = json.loads((place.root / "jobs.json").read_text())["jobs"]
    assert [job["name"] for job in jobs] == ["trials-00000-00002", "trials-00003-00005"]
    for job in jobs:
        for variant, number in job["study"]["trials"].items():
            with (place.root / job["name"] / variant / "eval.csv").open() as file:
                rows = [row for row in csv.DictReader(file) if row["policy"] == "mean"]
            steps = sorted({int(row["step"]) for row in rows})
            state, _, value, reported = found[number]
            assert steps == sorted(reported)  # a pruned one is evaluated no more
            means = [sum(float(row["return"]) for row in rows if int(row["step"]) == step) / 2 for step in steps]
            assert [reported[step] for step in steps] == pytest.approx(means, rel=1e-6)
            assert steps == [50, 100, 150, 200, 250, 300] if state == "COMPLETE" else steps[-1] < 300
            assert value == pytest.approx(sum(means[-2:]) / 2 if state == "COMPLETE" else means[-1], rel=1e-6)


def command(path, out, *more):
    environment = {**os.environ, "PYTHONPATH": "src:.", "TEEN_TRUST": "tests.toys"}
    line = [sys.executable, "-m", "teen", "tune", str(path), "--out", str(out), *more]
    return subprocess.Popen(line, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


@pytest.mark.full
def test_on_ray_a_study_is_the_same(path, tmp_path):
    """Two programs side by side. Without a pruner it does not matter which of them is ahead."""
    pruner = 'pruner = {name = "median", n_startup_trials = 2, n_warmup_steps = 90}'
    path.write_text(STUDY.replace(pruner, 'pruner = "none"').replace("lanes = 3", "lanes = 2\nbatch = 4"))
    here, there = tmp_path / "here", tmp_path / "there"
    assert command(path, there, "--on", "ray", "--cores", "1").wait(400) == 0
    assert command(path, here).wait(400) == 0
    assert trials(here) == trials(there)
    assert (here / "best.toml").read_bytes() == (there / "best.toml").read_bytes()


@pytest.mark.full
def test_a_study_that_is_killed_goes_on(path, tmp_path):
    """The command and its program die of kill -9 in the middle of the second batch; the study ends as undisturbed."""
    whole, cut = tmp_path / "whole", tmp_path / "cut"
    assert command(path, whole).wait(400) == 0
    process, second = command(path, cut), cut / "trials-00003-00005"
    while not any(second.glob("checkpoint/step-*")):
        assert process.poll() is None
        time.sleep(0.02)
    child = json.loads((second / "running.json").read_text())["pid"]
    os.kill(process.pid, signal.SIGKILL)
    os.kill(child, signal.SIGKILL)
    process.wait(60)
    assert "RUNNING" in [state for state, *_ in trials(cut)]
    assert command(path, cut).wait(400) == 0
    assert trials(cut) == trials(whole)
    for log in whole.rglob("*.csv"):
        if log.name in ("eval.csv", "train.csv"):
            assert log.read_bytes() == (cut / log.relative_to(whole)).read_bytes(), log
