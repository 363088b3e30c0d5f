"""Jobs in processes of their own: one that is killed, one that fails, one that is to stop."""

import json
import os
import signal
import subprocess
import sys
from contextlib import ExitStack

import pytest

from teen.disk.jobs import marker
from teen.disk.lock import locked
from teen.envs.sentinel import is_stopped
from teen.jobs import local
from teen.jobs.launch import launch
from teen.jobs.markers import is_done, write
from teen.jobs.place import Folder
from teen.jobs.planned import PlannedJob
from tests.training.survival import assert_same_end

from .toys import JOB, PRETENDER


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "jobs").mkdir()
    return Folder(tmp_path / "jobs")


@pytest.fixture
def pretending(monkeypatch):
    monkeypatch.setattr(local, "CHILD", (sys.executable, "-c", PRETENDER))


def jobs(*does):
    return [PlannedJob(f"{number}-{what}", {"does": what}) for number, what in enumerate(does)]


def run(folder, *does, **options):
    results = []
    ended = local.run(jobs(*does), folder, results.append, **options)
    return ended, results


def begun(folder):
    return (folder.root / "log").read_text().split()


def test_jobs_are_carried_out_one_after_the_other(folder, pretending):
    ended, results = run(folder, "done", "fails", "done")
    assert ended is None
    assert [(r.name, r.state, r.step) for r in results] == [
        ("0-done", "done", 7),
        ("1-fails", "failed", 0),
        ("2-done", "done", 7),
    ]
    assert results[1].error == "the first line\nthe last line"


@pytest.mark.parametrize(("does", "retries", "state", "times"), [
    ("dies2", 3, "done", 3),
    ("dies3", 3, "done", 4),
    ("dies9", 2, "failed", 3),
    ("dies1", 0, "failed", 1),
])  # fmt: skip
def test_a_process_that_is_killed_is_started_again(folder, pretending, does, retries, state, times):
    ended, (result, other) = run(folder, does, "done", retries=retries)
    assert ended is None
    assert (result.state, len(begun(folder))) == (state, times + 1)
    assert other.state == "done"
    if state == "failed":
        assert result.error == "last words\nthe process was killed by SIGKILL; is there enough memory?"
        assert marker(folder, f"{result.name}/failed.json")["error"] == result.error


def test_a_process_that_ends_without_a_word_has_failed_and_is_not_tried_again(folder, pretending, capfd):
    _, (result, other) = run(folder, "exits", "done")
    assert result.error == "out of luck\nthe process ended with exit code 1"
    assert (other.state, len(begun(folder))) == ("done", 2)
    assert "out of luck" in capfd.readouterr().err


def test_what_a_killed_process_left_does_not_look_as_if_it_ran(folder, pretending, monkeypatch):
    started = local.subprocess.Popen

    def popen(*arguments, **options):
        child = started(*arguments, **options)
        write(folder, "0-dies9/running.json", {"host": os.uname().nodename, "pid": child.pid})
        return child

    monkeypatch.setattr(local.subprocess, "Popen", popen)
    run(folder, "dies9", retries=0)
    assert folder.names("0-dies9") == ["failed.json"]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_reaches_the_process_once_and_the_rest_is_left(folder, pretending, number):
    before = signal.getsignal(number)
    ended, results = run(folder, "done", f"asks{int(number)}", "done")
    assert ended == number
    assert [(r.name, r.state, r.step, r.signal) for r in results[1:]] == [
        (f"1-asks{int(number)}", "stopped", 1, number)
    ]
    assert begun(folder) == ["0-done", f"1-asks{int(number)}"]
    assert signal.getsignal(number) is before


def test_a_job_that_another_process_trains_is_left_to_it(folder, pretending, capfd, monkeypatch):
    monkeypatch.setattr(local, "LINGER", 0.0)
    with locked(folder.root / "0-done"):
        ended, results = run(folder, "done", "done")
        assert (ended, [(r.name, r.state) for r in results]) == (None, [("1-done", "done"), ("0-done", "taken")])
        assert launch(jobs("done", "done"), folder) == 0
    said = capfd.readouterr()
    assert f"is in use by process {os.getpid()}: it trains there; this process goes on with the next job" in said.err
    assert said.out.splitlines()[-1] == "2 jobs: 1 done, 1 left to other processes"


def test_a_job_that_another_process_leaves_meanwhile_is_carried_out_at_the_end(folder, pretending):
    """As after kill -9 of a launcher, whose job stops a moment later."""
    with ExitStack() as stack:
        stack.enter_context(locked(folder.root / "0-done"))
        results = []

        def told(result):
            results.append((result.name, result.state))
            stack.close()

        assert local.run(jobs("done", "done"), folder, told) is None
    assert results == [("1-done", "done"), ("0-done", "done")]


LAUNCHER = f"""
import sys
from teen.jobs import local
from teen.jobs.place import Folder
from teen.jobs.planned import PlannedJob
local.CHILD = (sys.executable, "-c", {PRETENDER!r})
local.run([PlannedJob("a", {{"does": "pauses"}})], Folder(sys.argv[1]), lambda result: print(result.state, result.step))
"""


def test_ctrl_z_pauses_the_process_of_the_job_as_well(folder):
    launcher = subprocess.Popen([sys.executable, "-c", LAUNCHER, str(folder)], stdout=subprocess.PIPE, text=True)
    _, status = os.waitpid(launcher.pid, os.WUNTRACED)
    assert os.WIFSTOPPED(status)
    child = int((folder.root / "pid").read_text())
    while not is_stopped(child):
        os.kill(child, 0)  # it has not ended
    os.kill(launcher.pid, signal.SIGCONT)
    assert launcher.communicate(timeout=60)[0] == "done 1\n"


CHILD = """
import sys, time
from teen.jobs import child
from teen.jobs.planned import Result

def carry_out(job, place, show):
    try:
        print(job.name, place.root, show, flush=True)
        time.sleep(60)
    except KeyboardInterrupt as stop:
        return Result(job.name, "stopped", signal=stop.args[0])

child.carry_out = carry_out
child.main(int(sys.argv[1]))
"""


def test_a_process_stops_when_its_launcher_is_gone(tmp_path):
    reader, writer = os.pipe()
    child = subprocess.Popen(
        [sys.executable, "-c", CHILD, str(writer)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, pass_fds=[writer]
    )
    os.close(writer)
    order = {"job": JOB._asdict(), "place": str(tmp_path), "show": False}
    child.stdin.write(json.dumps(order).encode() + b"\n")
    child.stdin.flush()
    assert child.stdout.readline().decode() == f"sweep/point {tmp_path} False\n"
    child.stdin.close()  # as the system does for a launcher that was killed
    assert child.wait(60) == 0
    child.stdout.close()
    with os.fdopen(reader) as answer:
        assert json.load(answer) == {"name": "sweep/point", "state": "stopped", "step": 0, "error": "", "signal": 15}


def test_a_child_without_an_order_says_what_it_is_for():
    done = subprocess.run([sys.executable, "-m", "teen.jobs.child", "9"], stdin=subprocess.DEVNULL, capture_output=True)
    assert done.returncode != 0


def misfortune(monkeypatch, what, tmp_path):
    monkeypatch.setattr(local, "CHILD", (sys.executable, "-m", "tests.jobs.toys", what, str(tmp_path / what)))


def test_a_job_that_is_killed_in_a_save_ends_like_one_that_nothing_has_cut(
    folder, tmp_path, reference, monkeypatch, capfd
):
    misfortune(monkeypatch, "killed", tmp_path)
    assert launch([JOB], folder, trust="tests.toys") == 0
    assert (tmp_path / "killed").exists()
    assert_same_end(folder.root / JOB.name, reference)
    said = capfd.readouterr()
    assert "sweep/point: the process was killed by SIGKILL; it goes on from its checkpoint" in said.err
    assert said.out.splitlines()[0] == "1 job"
    assert said.out.splitlines()[-2:] == ["[1 of 1] sweep/point: done after 310 steps", "1 job: 1 done"]
    assert is_done(folder, JOB)
    monkeypatch.setattr(local, "CHILD", ("must", "not", "start"))
    assert launch([JOB], folder) == 0
    assert capfd.readouterr().out == "1 job: 1 done before\n"


@pytest.mark.full
def test_a_job_that_ctrl_c_has_stopped_goes_on_with_the_same_command(folder, tmp_path, reference, monkeypatch, capfd):
    misfortune(monkeypatch, "interrupted", tmp_path)
    assert launch([JOB, JOB._replace(name="other")], folder, trust="tests.toys") == 130
    assert "1 stopped, 1 not begun" in capfd.readouterr().out
    assert folder.names("other") == []
    assert "running.json" not in folder.names(JOB.name)
    assert launch([JOB], folder, trust="tests.toys") == 0
    assert_same_end(folder.root / JOB.name, reference)
