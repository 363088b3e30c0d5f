"""`teen fetch`: what jobs have uploaded, in a folder."""

import pytest

from teen.cli.main import main
from teen.jobs import markers
from teen.jobs.mirror import Mirror
from teen.jobs.place import Folder
from teen.jobs.planned import PlannedJob
from teen.jobs.remote import Remote
from teen.jobs.states import states

BUSY, WAITING = PlannedJob("td3,seeds=0", {"steps": 20, "seeds": [0]}), PlannedJob("td3,seeds=1", {"seeds": [1]})


@pytest.fixture
def place(tmp_path):
    place = Remote(f"file://{tmp_path}/bucket")
    markers.add_to_ledger(place, [BUSY, WAITING])
    return place


def upload(place, folder, step, **files):
    mirror = Mirror(place, BUSY.name, folder)
    mirror.fetch()
    for name, text in {**files, "checkpoint__step": "x" * 1000}.items():
        path = folder / name.replace("__", "/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    mirror.finish(step)


def content(folder):
    return {str(path.relative_to(folder)): path.read_text() for path in folder.rglob("*") if path.is_file()}


def test_the_newest_logs_come_without_checkpoints(place, tmp_path, capsys):
    upload(place, tmp_path / "run", 10, eval="early")
    out = tmp_path / "here"
    assert main(["fetch", place.url, "--out", str(out)]) == 0
    assert content(out / BUSY.name) == {"eval": "early"}
    printed = capsys.readouterr().out.splitlines()
    assert printed[:2] == [f"{BUSY.name}: step 10", f"{WAITING.name}: nothing was uploaded yet"]
    assert main(["fetch", place.url, "--out", str(out)]) == 0
    assert capsys.readouterr().out.splitlines()[0] == f"{BUSY.name}: step 10, as before"

    upload(place, tmp_path / "run", 20, eval="late", added="new")
    markers.write_done(place, BUSY, 20, 1.0)
    assert main(["fetch", place.url, "--out", str(out)]) == 0
    assert content(out / BUSY.name).keys() == {"eval", "added", "done.json"}
    assert (out / BUSY.name / "eval").read_text() == "late"
    capsys.readouterr()
    assert main(["status", str(out), "--json"]) == 0
    assert '"state": "done"' in capsys.readouterr().out


def test_failures_come_and_go_without_a_new_snapshot(place, tmp_path, capsys):
    def fetched():
        assert main(["fetch", place.url, "--out", str(tmp_path / "here")]) == 0
        return [[job.state for job in states(where)] for where in (place, Folder(tmp_path / "here"))]

    upload(place, tmp_path / "run", 10, eval="early")
    assert fetched() == [["stopped", "waiting"], ["waiting", "waiting"]]  # a checkpoint is not fetched
    markers.write_failed(place, BUSY.name, "late")
    markers.write_failed(place, WAITING.name, "before its first upload")
    assert fetched() == [["failed", "failed"]] * 2
    assert content(tmp_path / "here" / BUSY.name).keys() == {"eval", "failed.json"}
    capsys.readouterr()
    assert main(["status", str(tmp_path / "here"), "--failed"]) == 0
    assert "before its first upload" in capsys.readouterr().out
    markers.remove_failed(place, BUSY.name)
    markers.remove_failed(place, WAITING.name)
    assert fetched() == [["stopped", "waiting"], ["waiting", "waiting"]]


def test_with_checkpoints(place, tmp_path):
    upload(place, tmp_path / "run", 10, eval="early")
    assert main(["fetch", place.url, "--out", str(tmp_path / "here")]) == 0
    assert main(["fetch", place.url, "--out", str(tmp_path / "here"), "--whole"]) == 0
    assert content(tmp_path / "here" / BUSY.name) == {"eval": "early", "checkpoint/step": "x" * 1000}


def test_what_is_refused(place, tmp_path, capsys):
    other = tmp_path / "other"
    other.mkdir()
    (other / "mine.txt").write_text("precious")
    for arguments, said in {
        (place.url, "--out", str(other)): f"--out {other} holds other files: name a new folder",
        (str(other), "--out", str(tmp_path / "new")): f"{other} is no URL: a folder needs no fetching",
        (f"file://{other}", "--out", str(tmp_path / "new")): f"file://{other} holds no jobs: there is no jobs.json",
    }.items():
        assert main(["fetch", *arguments]) == 2
        assert said in capsys.readouterr().err
    assert content(other) == {"mine.txt": "precious"}
    assert not (tmp_path / "new").exists()
