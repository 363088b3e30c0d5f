"""Planned runs are trained: each once, those that were cut go on, and one that fails does not stop the others."""

import os
import signal
import sys

import pytest

from teen.cli.main import main
from teen.disk.lock import locked
from teen.envs import pool
from teen.errors import EnvironmentFault, UserError
from teen.paper import reproduce, runs
from teen.paper.needs import Entry
from teen.paper.reproduce import render, train_and_render
from teen.paper.runs import planned_runs
from teen.paper.scale import Scale
from teen.paper.store import Store
from teen.training import run as training
from teen.training.outcome import Outcome
from teen.training.recorder import Recorder

from ..training.survival import stopped_by
from .synthetic import FEW, TOY, needs, write

MILLION = 1_000_000


@pytest.fixture
def counted(monkeypatch):
    """Training that takes no time and is counted: the jobs that were run, and the folders that went on."""
    calls = {"run": [], "resume": []}
    by_folder = {}

    def run(job, out, show=True, command="python"):
        calls["run"].append(job)
        write(by_folder[out], 1.0)
        return Outcome([], [], [], job.settings.plan.steps, None)

    def resume(path, show=True, command="python", **changes):
        calls["resume"].append((path, changes))
        return Outcome([], [], [], changes["steps"], None)

    def remember(needed, out):
        plan = planned_runs(needed, out)
        by_folder.update({p.folder: p for p in plan})
        return plan

    monkeypatch.setattr(runs, "planned_runs", remember)
    monkeypatch.setattr(training, "train_job", run)
    monkeypatch.setattr(training, "resume", resume)
    return calls


def test_variants_share_a_program_and_are_trained_once(tmp_path, counted):
    one_task = [need for need in needs("ablation-alpha") if need.env == "Ant-v4"]
    assert runs.train(one_task, tmp_path) == (None, [])
    assert [[v.config.alpha for v in job.variants] for job in counted["run"]] == [[0, 0.2, 0.5, 1]]
    assert runs.train(one_task, tmp_path) == (None, [])
    assert len(counted["run"]) == 1
    assert counted["resume"] == []


def test_each_size_of_the_ensemble_is_a_program(tmp_path, counted):
    one_task = [need for need in needs("ablation-n") if need.env == "Ant-v4"]
    runs.train(one_task, tmp_path)
    assert [job.variants[0].config.n for job in counted["run"]] == [2, 5, 10, 20]
    assert {tuple(v.config.alpha for v in job.variants) for job in counted["run"]} == {(0.2, 0)}


def test_a_cut_run_is_resumed(tmp_path, counted):
    (planned, *others) = planned_runs(needs("table1"), tmp_path)
    write(planned, 1.0, until=300_000, checkpoint=275_000)
    runs.train(needs("table1"), tmp_path)
    assert counted["resume"] == [(planned.folder, {"steps": MILLION})]
    assert len(counted["run"]) == len(others)


def test_a_run_that_was_cut_before_its_first_checkpoint_begins_again(tmp_path, counted, capsys):
    (planned, *_) = planned_runs([TOY], tmp_path)
    write(planned, 7.0, until=30)
    runs.train([TOY], tmp_path)
    assert len(counted["run"]) == 1
    kept = tmp_path / "set-aside" / f"{planned.folder.name}-1"
    assert "8.0" in (kept / "eval.csv").read_text()
    assert str(kept) in capsys.readouterr().out
    assert [p.state for p in planned_runs([TOY], tmp_path)] == ["done"]


def test_a_run_with_settings_of_before_makes_room(tmp_path, counted, capsys):
    """A preset has changed since: the new run's folder has the same name."""
    (planned,) = planned_runs([TOY], tmp_path)
    config = write(planned, 7.0) / "config.toml"
    config.write_text(config.read_text().replace("lr = 0.0003", "lr = 0.001"))
    assert [p.state for p in planned_runs([TOY], tmp_path)] == ["missing"]
    assert runs.train([TOY], tmp_path) == (None, [])
    assert len(counted["run"]) == 1
    kept = tmp_path / "set-aside" / f"{planned.folder.name}-1"
    assert "lr = 0.001" in (kept / "config.toml").read_text()
    assert f"is no run with these settings: it is now in {kept}" in capsys.readouterr().out
    assert [p.state for p in planned_runs([TOY], tmp_path)] == ["done"]


def test_a_run_that_another_process_begins_again_is_not_taken_away(tmp_path, counted, monkeypatch):
    (planned,) = planned_runs([TOY], tmp_path)
    write(planned, 7.0, until=30)
    seen = runs.planned_runs([TOY], tmp_path)
    monkeypatch.setattr(runs, "planned_runs", lambda *_: seen)
    with locked(planned.folder):
        assert runs.train([TOY], tmp_path) == (None, [])
    assert counted["run"] == []
    assert (planned.folder / "eval.csv").exists()


def test_a_program_that_fails_does_not_keep_others_from_training(tmp_path, counted, monkeypatch, capsys):
    working = training.train_job

    def run(job, out, show=True, command="python"):
        if job.settings.algo == "sac":
            raise EnvironmentFault("the ant fell over")
        return working(job, out, show)

    monkeypatch.setattr(training, "train_job", run)
    _, failures = runs.train([need for need in needs("table1") if need.env == "Ant-v4"], tmp_path)
    assert [job.settings.algo for job in counted["run"]] == ["teen", "td3", "rnd", "sunrise"]
    assert [(f.planned.program.algo, str(f.error)) for f in failures] == [("sac", "the ant fell over")]
    assert "the ant fell over" in capsys.readouterr().err


def test_a_program_that_another_process_has_just_taken_is_no_failure(tmp_path, counted, monkeypatch, capsys):
    """It takes it while this one prepares the same program."""
    working = training.train_job

    def run(job, out, show=True, command="python"):
        if job.settings.algo != "sac":
            return working(job, out, show)
        with locked(out), locked(out):
            pytest.fail("two processes train in one folder")

    monkeypatch.setattr(training, "train_job", run)
    _, failures = runs.train([need for need in needs("table1") if need.env == "Ant-v4"], tmp_path)
    assert [job.settings.algo for job in counted["run"]] == ["teen", "td3", "rnd", "sunrise"]
    assert not failures
    assert f"in use by process {os.getpid()}" in capsys.readouterr().out


def test_a_run_really_stopped_goes_on_to_the_same_end(tmp_path, capsys):
    """300 steps with a checkpoint every 100; the signal comes in the middle."""
    whole, cut = tmp_path / "whole", tmp_path / "cut"
    assert runs.train([TOY], whole) == (None, [])
    with stopped_by(signal.SIGTERM, Recorder, "stepped", 12):
        assert runs.train([TOY], cut) == (signal.SIGTERM, [])
    (planned,) = planned_runs([TOY], cut)
    assert (planned.state, planned.resumable) == ("cut", True)
    assert 0 < planned.reached < 300
    entry = Entry("TD3", TOY)
    assert Store(cut).trained(entry).lacking == "seeds 0-1 after step 0"
    assert runs.train([TOY], cut) == (None, [])
    assert [p.state for p in planned_runs([TOY], cut)] == ["done"]
    ends = [(out / "runs" / planned.folder.name / "eval.csv").read_text() for out in (whole, cut)]
    assert ends[0] == ends[1]
    assert Store(cut).trained(entry).lacking == ""


@pytest.fixture
def bare(monkeypatch):
    """The package without its extras: no scikit-learn, EnvPool, Shimmy or dm_control."""
    for module in ("sklearn", "sklearn.manifold", "shimmy", "dm_control"):
        monkeypatch.setitem(sys.modules, module, None)
    monkeypatch.setattr(pool, "unavailable", lambda: "EnvPool is not installed: pip install 'teen-rl[fast]'")


@pytest.mark.parametrize("action", ["--run", "--draw"])
def test_without_scikit_learn_its_extra_is_named_before_anything_is_done(tmp_path, bare, capsys, action):
    assert main(["paper", "theory", "region", "--smoke", action, "--out", str(tmp_path / "out")]) == 2
    printed, line = capsys.readouterr()
    assert not printed
    assert line.count("\n") == 1
    assert "region: t-SNE needs scikit-learn: pip install 'teen-rl[analysis]'" in line
    assert "theory" not in line
    assert not (tmp_path / "out").exists()


def test_one_line_names_all_extras_that_are_needed(tmp_path, bare, capsys):
    assert main(["paper", "all", "--smoke", "--run", "--out", str(tmp_path / "out")]) == 2
    line = capsys.readouterr().err
    assert line.count("\n") == 1
    assert "nothing was trained" in line
    assert "table2, claims, curves-dmc: environment 'dm_control/cheetah-run' needs Shimmy and dm_control" in line
    assert "pip install 'teen-rl[dmc]' or 'teen-rl[fast]'" in line
    assert "pip install 'teen-rl[analysis]'" in line
    assert not (tmp_path / "out").exists()


def test_what_needs_no_extra_runs_without_them(tmp_path, bare, monkeypatch):
    done = []
    monkeypatch.setattr(reproduce, "write_page", lambda page, folder, *_: done.append(folder.name))

    def train(needs, out, command):
        done.append(len(needs))
        return None, []

    assert train_and_render(["theory", "table1"], Scale(smoke=True), tmp_path, train=train) is None
    render(["table2"], Scale(smoke=True), tmp_path)  # makes no environments
    assert done == [6, "theory", "table1", "table2"]


def test_runs_that_are_done_need_no_simulator(tmp_path, bare, monkeypatch):
    monkeypatch.setattr(reproduce, "write_page", lambda *_: None)
    first, *others = planned_runs(needs("table2", scale=FEW), tmp_path)
    for planned in others:
        write(planned, 1.0)
    with pytest.raises(UserError, match="table2: environment 'dm_control/cheetah-run' needs"):
        train_and_render(["table2"], FEW, tmp_path)
    write(first, 1.0)
    assert train_and_render(["table2"], FEW, tmp_path) is None
