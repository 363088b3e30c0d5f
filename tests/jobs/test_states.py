"""From markers to states: worked out by hand, for each state."""

import time

import pytest

from teen.disk.jobs import JobState, marker, state_of
from teen.disk.lock import locked
from teen.jobs import markers
from teen.jobs.markers import add_to_ledger, write, write_done, write_failed
from teen.jobs.place import Folder
from teen.jobs.planned import PlannedJob
from teen.jobs.states import each, states
from tests.report.synthetic import EVERY, write_run

SETTINGS = {"algo": "td3", "env": "Pendulum-v1", "seeds": [0, 1], "steps": 1000, "lr": 0.001}
JOB = PlannedJob("x", SETTINGS)


@pytest.fixture
def folder(tmp_path):
    return Folder(tmp_path)


def running(step, updated):
    return {"host": "there", "pid": 7, "step": step, "steps": 1000, "rate": 10.0, "left": 60.5, "updated": updated}


def test_a_job_waits_runs_stops_fails_and_is_done(folder, tmp_path):
    def state():
        return state_of(folder, "x", SETTINGS, now=1000.0)

    assert state() == JobState("x", "waiting", 0, 1000)
    write(folder, "x/running.json", running(400, updated=941.0))
    assert state() == JobState("x", "running", 400, 1000, 60.5, 10.0, "there")
    write(folder, "x/running.json", running(400, updated=939.0))
    assert state() == JobState("x", "waiting", 0, 1000)
    for step in (200, 300):
        (tmp_path / "x" / "checkpoint" / f"step-{step:012}").mkdir(parents=True)
    assert state() == JobState("x", "stopped", 300, 1000)
    write_failed(folder, "x", "first\nlast")
    failed = marker(folder, "x/failed.json")
    write(folder, "x/failed.json", {**failed, "when": 999.0})
    write(folder, "x/running.json", running(400, updated=998.0))  # its process was killed
    assert state() == JobState("x", "failed", 300, 1000, error="first\nlast")
    write(folder, "x/running.json", running(500, updated=1000.0))
    assert state().state == "running"
    write_done(folder, JOB, 1000, 12.0)
    assert state() == JobState("x", "done", 1000, 1000)


def test_snapshots_at_a_url_are_checkpoints_too(folder):
    folder.write("x/state-000000000250-00000000001700000000-0a1b2c3d-000001.json", b"{}")
    folder.write("x/state-90-other.json", b"{}")
    assert state_of(folder, "x", SETTINGS) == JobState("x", "stopped", 250, 1000)


@pytest.mark.parametrize(
    ("changes", "over"),
    [
        ({}, True),
        ({"steps": 500}, True),  # it came further than that
        ({"steps": 1001}, False),
        ({"checkpoint_every": 7}, True),  # may change when a run goes on
        ({"log_every": 7}, True),  # watches it only
        ({"lr": 0.002}, False),
        ({"seeds": [0, 1, 2]}, False),
        ({"width": 8}, False),
        ({"seeds": (0, 1)}, True),  # JSON has only lists
    ],
)
def test_a_job_is_done_if_its_marker_fits_the_settings(folder, changes, over):
    write_done(folder, JOB, 1000, 12.0)
    assert markers.is_done(folder, JOB._replace(settings={**SETTINGS, **changes})) is over


def test_what_ended_early_is_done_until_more_steps_are_asked_for(folder):
    write_done(folder, JOB, 600, 12.0)  # a study pruned all of its trials
    assert markers.is_done(folder, JOB)
    assert not markers.is_done(folder, JOB._replace(settings={**SETTINGS, "steps": 2000}))


@pytest.mark.parametrize(
    "torn", [b'{"step": 1000, "sett', b"null", b'{"step": "1000", "settings": {}}', b'{"step": 1}']
)
def test_a_torn_marker_is_no_marker(folder, torn):
    folder.write("x/done.json", torn)
    folder.write("x/running.json", torn)
    folder.write("x/failed.json", b"[1]")
    assert state_of(folder, "x", SETTINGS) == JobState("x", "waiting", 0, 1000)


def test_numbers_of_strangers_do_no_harm(folder):
    values = {"updated": time.time(), "step": -3, "steps": True, "left": "x", "rate": float("inf"), "host": ["a"] * 999}
    write(folder, "x/running.json", values)
    found = state_of(folder, "x", {"steps": "many"})
    assert (found.state, found.step, found.steps, found.left, found.rate) == ("running", 0, None, None, None)


def test_all_jobs_of_the_ledger_are_listed_in_order(folder):
    add_to_ledger(folder, [JOB._replace(name=name) for name in ("c", "a", "runs/b")])
    write_done(folder, JOB._replace(name="runs/b"), 1000, 1.0)
    assert [(job.name, job.state) for job in states(folder)] == [
        ("c", "waiting"),
        ("a", "waiting"),
        ("runs/b", "done"),
    ]


def test_without_a_ledger_folders_with_markers_and_runs_are_listed(folder, tmp_path):
    write_done(folder, JOB._replace(name="runs/lr=0.2"), 1000, 1.0)
    write_run(tmp_path / "runs" / "lr=0.2" / "inner")  # of that job
    write_failed(folder, "runs/bad", "no")
    write_run(tmp_path / "set-aside" / "old-1")
    write_run(tmp_path / "runs" / "plain", evaluations=4, steps=10 * EVERY)
    write_run(tmp_path / "runs" / "whole", evaluations=4, steps=4 * EVERY)
    found = {job.name: (job.state, job.step, job.steps) for job in states(folder)}
    assert found == {
        "runs/bad": ("failed", 0, None),
        "runs/lr=0.2": ("done", 1000, 1000),
        "runs/plain": ("stopped", 4 * EVERY, 10 * EVERY),
        "runs/whole": ("done", 4 * EVERY, 4 * EVERY),
    }
    with locked(tmp_path / "runs" / "plain"):
        assert {job.name: job.state for job in states(folder)}["runs/plain"] == "running"


def test_an_empty_folder_has_no_jobs(folder):
    assert states(folder) == []


def test_a_place_that_is_no_folder_is_asked_for_many_at_once():
    class Elsewhere:
        pass

    assert each(Elsewhere(), lambda n: n * n, list(range(100))) == [n * n for n in range(100)]
