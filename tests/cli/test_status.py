"""`teen status` as a user sees it."""

import json
import os
import subprocess
import sys
import time

import pytest

from teen.cli import main as cli
from teen.jobs.markers import add_to_ledger, write, write_done, write_failed
from teen.jobs.place import Folder
from teen.jobs.planned import PlannedJob
from tests.report.synthetic import write_run


@pytest.fixture
def sweep(tmp_path):
    """Return a folder with a job in each state."""
    folder = Folder(tmp_path / "sweep")
    jobs = [PlannedJob(name, {"steps": 1_000_000}) for name in ("finished", "training", "cut", "broken", "next")]
    add_to_ledger(folder, jobs)
    write_done(folder, jobs[0], 1_000_000, 60.0)
    write(folder, "training/running.json", {"step": 250_000, "left": 3725.4, "rate": 201.3, "updated": time.time()})
    (folder.root / "cut" / "checkpoint" / "step-000000025000").mkdir(parents=True)
    write_failed(folder, "broken", "\n".join(f"line {n}" for n in range(30)))
    return folder.root


def lines(capsys):
    return [" ".join(line.replace("│", " ").split()) for line in capsys.readouterr().out.splitlines()]


def test_every_job_is_listed_with_its_progress(sweep, capsys):
    assert cli.main(["status", str(sweep)]) == 0
    shown = lines(capsys)
    assert "finished done 1,000,000" in shown
    assert "training running 250,000 of 1,000,000 1:02:05" in shown
    assert "cut stopped 25,000 of 1,000,000" in shown
    assert "next waiting 0 of 1,000,000" in shown
    at = shown.index("broken failed:")
    assert shown[at:] == [
        "broken failed:", "line 27", "line 28", "line 29",
        "5 jobs: 1 running, 1 failed, 1 stopped, 1 waiting, 1 done",
    ]  # fmt: skip


def test_failures_alone_have_more_of_their_errors(sweep, capsys):
    assert cli.main(["status", "--failed", str(sweep)]) == 0
    shown = lines(capsys)
    assert shown[:2] == ["broken failed:", "line 10"]  # the last 20 are kept
    assert "training" not in " ".join(shown[:-1])


def test_other_programs_read_json(sweep, capsys):
    assert cli.main(["status", str(sweep), "--json"]) == 0
    jobs = {job["name"]: job for job in json.loads(capsys.readouterr().out)}
    assert {name: job["state"] for name, job in jobs.items()} == {
        "finished": "done", "training": "running", "cut": "stopped", "broken": "failed", "next": "waiting"
    }  # fmt: skip
    assert (jobs["training"]["step"], jobs["training"]["left"], jobs["training"]["rate"]) == (250_000, 3725.4, 201.3)
    assert cli.main(["status", str(sweep), "--json", "--failed"]) == 0
    assert [job["name"] for job in json.loads(capsys.readouterr().out)] == ["broken"]


def test_a_folder_without_a_ledger_lists_its_runs(tmp_path, capsys):
    write_run(tmp_path / "runs" / "td3-Hopper", evaluations=4)
    assert cli.main(["status", str(tmp_path)]) == 0
    shown = lines(capsys)
    assert shown[0].endswith("has no jobs.json: these are the runs that were found there")
    assert "runs/td3-Hopper stopped 40,000 of 100,000" in shown


def test_what_strangers_write_is_shown_without_control_codes(tmp_path, capsys):
    folder = Folder(tmp_path)
    add_to_ledger(folder, [PlannedJob("a\x1b[31mred", {})])
    write_failed(folder, "a\x1b[31mred", "\x1b]0;owned\x07 [bold]no[/bold]")
    assert cli.main(["status", str(tmp_path)]) == 0
    said = capsys.readouterr().out
    assert "\x1b" not in said
    assert "[bold]no[/bold]" in said


def test_times_and_names_beyond_reason_are_left_out(tmp_path, capsys):
    jobs = [{"name": name, "settings": {"steps": 9}} for name in ("slow", "\ud800x")]
    write(Folder(tmp_path), "jobs.json", {"format": 1, "jobs": jobs})
    write(Folder(tmp_path), "slow/running.json", {"step": 5, "left": 9e14, "updated": time.time()})
    assert cli.main(["status", str(tmp_path)]) == 0
    shown = lines(capsys)
    assert "slow running 5 of 9" in shown
    assert shown[-1] == "1 job: 1 running"


def test_a_folder_whose_name_is_no_text_is_passed_over(tmp_path, capsys):
    write_done(Folder(tmp_path), PlannedJob("a", {"steps": 9}), 9, 1.0)
    (tmp_path / os.fsdecode(b"\xff")).mkdir()
    assert cli.main(["status", str(tmp_path)]) == 0
    assert "a done 9" in lines(capsys)


@pytest.mark.parametrize(("arguments", "why"), [
    (["nowhere"], "nowhere is not a folder"),
    (["."], ". holds no jobs: there is neither jobs.json nor a run"),
    ([], "the following arguments are required: DIR"),
    ([".", "--fialed"], "did you mean --failed?"),
])  # fmt: skip
def test_mistakes_are_one_line(tmp_path, monkeypatch, capsys, arguments, why):
    monkeypatch.chdir(tmp_path)
    assert cli.main(["status", *arguments]) == 2
    said = capsys.readouterr().err
    assert why in said
    assert len(said.splitlines()) == 1


def test_it_needs_no_jax(sweep):
    code = f"import sys, teen.cli.main as cli; cli.main(['status', {str(sweep)!r}]); print('jax' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "False"
