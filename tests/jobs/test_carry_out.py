"""One job, from wherever it stands."""

import json
import os
import shutil
import signal
import subprocess
import sys
import types

import pytest

from teen.disk import checkpoint
from teen.disk.jobs import marker, state_of
from teen.disk.lock import locked
from teen.errors import EnvironmentFault, LearnerFault, StorageFault
from teen.jobs import markers
from teen.jobs.carry_out import carry_out
from teen.jobs.place import Folder
from teen.jobs.planned import Result
from teen.training import run as training
from tests.training.survival import STEPS, assert_same_end, newest, stopped_in_an_evaluation

from .toys import JOB, SETTINGS


@pytest.fixture
def folder(tmp_path):
    return Folder(tmp_path)


@pytest.fixture
def untrained(monkeypatch):
    """Let nothing train: return the calls that would, which are ended by an error."""
    calls = []

    def ended(*arguments, **options):
        calls.append((arguments, options))
        raise StorageFault("as far as it goes")

    monkeypatch.setattr(training, "train_job", ended)
    return calls


def state(folder, job=JOB):
    return state_of(folder, job.name, job.settings)


def test_a_job_that_is_stopped_goes_on_and_ends_like_one_that_nothing_has_cut(folder, tmp_path, reference):
    """Leftovers of a process that died before its first checkpoint are in the way at first."""
    (tmp_path / JOB.name).mkdir(parents=True)
    (tmp_path / JOB.name / "config.toml").write_text("steps = 3")
    (tmp_path / JOB.name / "running.json").write_text("{")
    with stopped_in_an_evaluation(2):
        first = carry_out(JOB, folder)
    assert first == Result(JOB.name, "stopped", newest(tmp_path / JOB.name).step, signal=signal.SIGTERM)
    assert state(folder)[:3] == (JOB.name, "stopped", first.step)
    assert (tmp_path / "set-aside" / "point-1" / "config.toml").read_text() == "steps = 3"
    markers.write_failed(folder, JOB.name, "of another attempt")
    assert carry_out(JOB, folder) == Result(JOB.name, "done", STEPS)
    assert_same_end(tmp_path / JOB.name, reference)
    assert state(folder)[:3] == (JOB.name, "done", STEPS)
    done = marker(folder, f"{JOB.name}/done.json")
    assert (done["step"], done["settings"]) == (STEPS, SETTINGS)
    assert done["seconds"] > 0
    assert len(json.loads((tmp_path / JOB.name / "machine.json").read_text())) == 2  # starts: it did not begin again
    assert not {"failed.json", "running.json"} & set(folder.names(JOB.name))


def test_a_job_that_is_done_needs_no_jax(folder, tmp_path):
    markers.write_done(folder, JOB, STEPS, 1.0)
    code = (
        "import json, sys; from teen.jobs.carry_out import carry_out; from teen.jobs.place import place; "
        "from teen.jobs.planned import PlannedJob; "
        f"result = carry_out(PlannedJob(*json.loads(sys.argv[1])), place({str(tmp_path)!r})); "
        "print(result.state, result.step, 'jax' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code, json.dumps(JOB)], capture_output=True, text=True, check=True)
    assert done.stdout == f"done {STEPS} False\n"


def test_a_job_of_more_steps_goes_on_and_none_is_made_shorter(folder, tmp_path, stopped, monkeypatch):
    asked = []

    def resume(path, **options):
        asked.append(options["steps"])
        raise StorageFault("as far as it goes")

    monkeypatch.setattr(training, "resume", resume)
    shutil.copytree(stopped, tmp_path / JOB.name)
    for steps in (STEPS + 100, STEPS - 10):
        carry_out(JOB._replace(settings={**SETTINGS, "steps": steps}), folder)
    assert asked == [STEPS + 100, STEPS]


def test_what_only_watches_a_run_stays_as_it_began_and_a_notice_says_so(folder, tmp_path, stopped, monkeypatch, capsys):
    monkeypatch.setattr(training, "resume", lambda path, **options: 1 / 0)
    shutil.copytree(stopped, tmp_path / JOB.name)
    carry_out(JOB._replace(settings={**SETTINGS, "log_every": SETTINGS["log_every"] + 1}), folder)
    said = [line for line in capsys.readouterr().err.splitlines() if "stays" in line]
    assert said == [f"notice: log_every stays {SETTINGS['log_every']}: the run in {tmp_path / JOB.name} began with it"]


@pytest.mark.parametrize("changes", [{"lr": 0.01}, {"seeds": [0, 2]}, {"width": 16}, {"lr": [0.01, 0.02]}])
def test_the_run_of_another_job_is_set_aside(folder, tmp_path, stopped, untrained, changes, capsys):
    shutil.copytree(stopped, tmp_path / JOB.name)
    carry_out(JOB._replace(settings={**SETTINGS, **changes}), folder)
    assert len(untrained) == 1
    assert (tmp_path / "set-aside" / "point-1" / "checkpoint").is_dir()
    assert "sweep/point is no run with these settings: it is now in" in capsys.readouterr().err


def test_a_run_whose_checkpoints_are_all_damaged_begins_again(folder, tmp_path, stopped, untrained, capsys):
    shutil.copytree(stopped, tmp_path / JOB.name)
    for step in (tmp_path / JOB.name).glob("checkpoint/step-*"):
        (step / "state.safetensors").write_bytes(b"")
    carry_out(JOB, folder)
    assert len(untrained) == 1
    assert "cannot go on: no checkpoint in" in capsys.readouterr().err
    assert checkpoint.latest(tmp_path / "set-aside" / "point-1" / "checkpoint")


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"wdith": 8}, "there is no setting 'wdith': did you mean 'width'?"),
        ({"env": "nobody.knows:It-v0"}, "asks for the module 'nobody.knows'"),
        ({"warmup": 1000}, "--warmup 1000 is not below --steps"),
    ],
)
def test_a_mistake_is_one_line_and_keeps_no_other_job(folder, changes, why):
    result = carry_out(JOB._replace(settings={**SETTINGS, **changes}), folder)
    assert result.state == "failed"
    assert why in result.error
    assert len(result.error.splitlines()) == 1
    found = state(folder)
    assert (found.state, found.error) == ("failed", result.error)
    assert folder.names(JOB.name) == ["failed.json"]


@pytest.mark.parametrize("kind", [EnvironmentFault, LearnerFault, StorageFault, OSError])
def test_what_goes_wrong_in_a_run_is_one_line(folder, monkeypatch, kind):
    def train_job(*arguments, **options):
        assert state(folder).state == "running"
        raise kind("lane 3 fell\nover")

    monkeypatch.setattr(training, "train_job", train_job)
    assert carry_out(JOB, folder) == Result(JOB.name, "failed", error="lane 3 fell over")
    assert state(folder).error == "lane 3 fell over"


def test_an_error_that_nobody_thought_of_leaves_its_last_lines(folder, monkeypatch):
    def train_job(*arguments, **options):
        return 1 / 0

    monkeypatch.setattr(training, "train_job", train_job)
    result = carry_out(JOB, folder)
    assert result.state == "failed"
    assert result.error.splitlines()[-1] == "ZeroDivisionError: division by zero"
    assert "return 1 / 0" in result.error
    assert state(folder).error == result.error


@pytest.mark.parametrize(("stop", "number"), [(KeyboardInterrupt(), 2), (KeyboardInterrupt(15), 15)])
def test_a_stop_before_training_listens_is_a_stop(folder, monkeypatch, stop, number):
    def train_job(*arguments, **options):
        raise stop

    monkeypatch.setattr(training, "train_job", train_job)
    assert carry_out(JOB, folder) == Result(JOB.name, "stopped", signal=number)
    assert folder.names(JOB.name) == []


def test_the_work_of_another_process_is_left_alone(folder, tmp_path):
    with locked(tmp_path / JOB.name):
        markers.write(folder, f"{JOB.name}/running.json", {"host": "there", "pid": 1})
        result = carry_out(JOB, folder)
        assert result.state == "taken"
        assert result.error.endswith(f"is in use by process {os.getpid()}: it trains there")
        assert folder.names(JOB.name) == ["lock", "running.json"]
        assert marker(folder, f"{JOB.name}/running.json") == {"host": "there", "pid": 1}


def test_a_place_that_cannot_be_written_is_one_line(tmp_path):
    (tmp_path / "file").write_text("")
    result = carry_out(JOB, Folder(tmp_path / "file"))
    assert (result.state, len(result.error.splitlines())) == ("failed", 1)


def test_a_study_is_told_and_may_end_a_job_that_is_then_done(folder, monkeypatch):
    told = []

    def reporter(job):
        assert job.study == {"name": "it"}
        return lambda event: told.append((event.kind, event.step)) or event.step < 100

    monkeypatch.setitem(sys.modules, "teen.jobs.trials", types.SimpleNamespace(reporter=reporter))
    job = JOB._replace(study={"name": "it"})
    result = carry_out(job, folder)
    assert (result.state, ("log", 100) in told) == ("done", True)
    assert 100 <= result.step < STEPS
    assert state(folder, job)[:4] == (JOB.name, "done", result.step, STEPS)
    assert carry_out(job, folder) == result
