"""Many jobs from the outside: what is printed, what is left out, which exit code."""

import os
import signal
import sys
import types

import pytest

from teen.errors import UserError
from teen.jobs import local
from teen.jobs.launch import launch
from teen.jobs.markers import planned, write_done
from teen.jobs.place import Folder
from teen.jobs.planned import PlannedJob, Result

from .toys import PRETENDER


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setattr(local, "CHILD", (sys.executable, "-c", PRETENDER))
    (tmp_path / "jobs").mkdir()
    return Folder(tmp_path / "jobs")


def jobs(*does):
    return [PlannedJob(f"{number}-{what}", {"does": what}) for number, what in enumerate(does)]


def test_each_end_is_one_line_and_a_failure_is_told_once(folder, capfd):
    assert launch(jobs("done", "fails", "done"), folder) == 1
    said = capfd.readouterr()
    assert said.out.splitlines() == [
        "3 jobs",
        "[1 of 3] 0-done: done after 7 steps",
        "[3 of 3] 2-done: done after 7 steps",
        "3 jobs: 2 done, 1 failed",
    ]
    assert said.err.splitlines() == [
        "teen: [2 of 3] 1-fails failed: the first line",
        "  the last line",
        f"teen status {folder} --failed shows why; the same command tries them again",
    ]
    assert [job.name for job in planned(folder)] == ["0-done", "1-fails", "2-done"]


def test_what_is_done_is_left_out_and_a_finished_sweep_starts_nothing(folder, capfd):
    first, second = jobs("done", "done")
    write_done(folder, first, 7, 1.0)
    assert launch([first, second], folder) == 0
    assert capfd.readouterr().out.splitlines()[:2] == ["2 jobs: 1 done before", "[1 of 1] 1-done: done after 7 steps"]
    write_done(folder, second, 7, 1.0)
    assert launch([first, second], folder) == 0
    assert capfd.readouterr().out == "2 jobs: 2 done before\n"
    assert (folder.root / "log").read_text() == "1-done\n"


def test_a_stop_leaves_the_rest_and_says_how_to_go_on(folder, capfd):
    assert launch(jobs("asks15", "done"), folder) == 128 + signal.SIGTERM
    said = capfd.readouterr()
    assert said.out.splitlines()[-2:] == ["[1 of 2] 0-asks15: stopped after 1 step", "2 jobs: 1 stopped, 1 not begun"]
    assert said.err == "stopped by SIGTERM; the same command goes on from here\n"


def test_without_a_display_only_failures_are_told(folder, capfd):
    assert launch(jobs("done", "fails"), folder, show=False) == 1
    said = capfd.readouterr()
    assert said.out == ""
    assert said.err.splitlines() == ["teen: [2 of 2] 1-fails failed: the first line", "  the last line"]


@pytest.mark.parametrize(("before", "trust", "all_of_it"), [
    (None, "mine", "mine"),
    ("yours", ["mine", "ours"], "mine,ours,yours"),
    ("yours", (), "yours"),
])  # fmt: skip
def test_trusted_modules_reach_the_processes_and_nobody_else(folder, monkeypatch, capfd, before, trust, all_of_it):
    monkeypatch.delenv("TEEN_TRUST", raising=False)
    if before:
        monkeypatch.setenv("TEEN_TRUST", before)
    launch(jobs("trust"), folder, trust=trust)
    assert f"0-trust: done after {len(all_of_it)} steps" in capfd.readouterr().out
    assert os.environ.get("TEEN_TRUST") == before


def test_a_cluster_gets_the_same_jobs(folder, monkeypatch, capfd):
    asked = []

    def run(jobs, place, told, resources, retries, address, begin):
        assert planned(place) == []  # until it begins
        begin()
        asked.append((len(planned(place)), place, resources, retries, address))
        for job in jobs:
            told(Result(job.name, "done", 3))

    module = types.SimpleNamespace(run=run)
    monkeypatch.setitem(sys.modules, "teen.jobs.on_ray", module)
    monkeypatch.setattr("teen.jobs.on_ray", module, raising=False)
    assert launch(jobs("done", "done"), folder, on="ray", address="auto", retries=5) == 0
    assert asked == [(2, folder, None, 5, "auto")]
    assert "[2 of 2] 1-done: done after 3 steps" in capfd.readouterr().out


def test_mistakes_are_found_before_anything_is_written(folder, tmp_path):
    with pytest.raises(UserError, match="take --on ray"):
        launch(jobs("done"), folder, address="10.0.0.1:6379")
    with pytest.raises(UserError, match="on local or ray"):
        launch(jobs("done"), folder, on="mars")
    (tmp_path / "file").write_text("")
    with pytest.raises(UserError, match="is not a folder"):
        launch(jobs("done"), Folder(tmp_path / "file"))
    assert folder.names("") == []
