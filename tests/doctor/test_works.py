"""What is said of simulators, pictures and training that do not work; and how other processes are asked."""

from pathlib import Path

import pytest

import teen
from teen.doctor import child, works
from teen.doctor.checkup import examine, trains
from teen.doctor.finding import Finding, guarded
from teen.doctor.packages import Package


def answering(monkeypatch, why, *lines):
    for name in ("probe", "python"):
        monkeypatch.setattr(child, name, lambda *arguments: child.Answer(list(lines), why))


def test_without_a_way_to_draw_there_is_a_warning_that_says_what_to_install(monkeypatch):
    monkeypatch.setattr("teen.play.gl.candidates", lambda: ("egl", "osmesa"))
    monkeypatch.setattr("teen.play.gl.works", lambda way: False)
    (finding,) = works.rendering()
    assert (finding.state, finding.text) == ("warning", "MuJoCo can draw no pictures here; tried: egl, osmesa")
    assert "libegl1" in finding.remedy
    monkeypatch.setattr("teen.play.gl.works", lambda way: way == "osmesa")
    (finding,) = works.rendering()
    assert (finding.state, finding.text) == ("ok", "MuJoCo draws with osmesa")


@pytest.mark.parametrize("check", [works.mujoco, works.envpool])
def test_a_simulator_that_does_not_step_is_a_failure(check, monkeypatch):
    monkeypatch.setattr(works, "package", lambda name: Package(name, "", "1", True))
    answering(monkeypatch, "UserError: libEGL.so.1: cannot open")
    (finding,) = check()
    assert finding.state == "failure"
    assert "libEGL.so.1: cannot open" in finding.text
    assert finding.remedy
    answering(monkeypatch, "", "It steps")
    assert [finding.state for finding in check()] == ["ok"]


def test_envpool_is_not_tried_where_it_is_not_installed(monkeypatch):
    monkeypatch.setattr(works, "package", lambda name: Package(name, "", None, False))
    assert works.envpool() == []


def test_a_training_that_fails_or_leaves_nothing_is_a_failure(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    answering(monkeypatch, "teen: JAX finds no device")
    (finding,) = works.training()
    assert (finding.state, finding.text) == ("failure", "a training of 100 steps fails: JAX finds no device")
    answering(monkeypatch, "")
    (finding,) = works.training()
    assert finding.state == "failure"
    assert "the run lacks agent/agent.json, eval.csv, curve.png" in finding.text
    assert list(tmp_path.iterdir()) == []


def test_without_a_folder_to_write_there_is_no_training(monkeypatch):
    monkeypatch.chdir("/proc")
    (finding,) = works.training()
    assert finding.state == "failure"
    assert "no run folder" in finding.text


def test_a_check_that_raises_is_a_failure_and_the_next_one_is_made():
    def bad():
        raise ZeroDivisionError("by\nzero")

    begun = []
    good = Finding(works.TRAINING, "ok", "it trains")
    findings = examine({"bad": bad, works.TRAINING: lambda: [good]}, begun.append)
    assert findings == [Finding("bad", "failure", "this could not be checked: ZeroDivisionError: by zero"), good]
    assert begun == ["bad", works.TRAINING]
    assert trains(findings)
    assert not trains(guarded(works.TRAINING, bad))


def test_extras_come_last():
    found = [Finding("extra fast", "ok", ""), Finding("devices", "ok", "")]
    assert [finding.name for finding in examine({"all": lambda: found})] == ["devices", "extra fast"]


def test_a_process_that_hangs_or_is_killed_has_a_reason():
    assert child.python(["-c", "import time; time.sleep(600)"], 0.5).why == "it did not end within 0.5 seconds"
    assert child.python(["-c", "import os; os.kill(os.getpid(), 9)"]).why == "(ended by signal 9)"
    assert child.python(["-c", "import sys; sys.exit(3)"]).why == "exit code 3"
    assert child.python(["-c", "import sys; print('a'); sys.exit('\\033[31mb\\nc')"]) == (["a"], "c")
    assert child.python(["-c", "print('a')"]) == (["a"], "")


def test_a_python_that_cannot_be_started_has_a_reason(tmp_path, monkeypatch):
    monkeypatch.setattr("sys.executable", str(tmp_path))
    assert child.python([]) == ([], f"{tmp_path} cannot be started: Permission denied")


def test_modules_of_the_current_folder_are_not_executed(tmp_path, monkeypatch):
    (tmp_path / "json.py").write_text("raise SystemExit('executed')")
    (tmp_path / "teen.py").write_text("raise SystemExit('executed')")
    monkeypatch.setenv("PYTHONPATH", str(Path(teen.__file__).parents[1]))  # it may be relative
    monkeypatch.chdir(tmp_path)
    assert child.probe("imports", "json") == (['["json", ""]'], "")
