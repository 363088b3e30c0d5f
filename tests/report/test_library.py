"""The list of runs below a folder, without a server."""

import gc
import json
import os
import shutil
import threading
import time
import weakref

import pytest

from teen.disk.jobs import LEDGER
from teen.disk.lock import locked
from teen.errors import UserError
from teen.report import library as lists
from teen.report import shelf
from teen.report.library import Library
from teen.report.runs import read

from .synthetic import write_run


def test_a_run_and_one_of_its_name_inside_are_two(tmp_path):
    root = write_run(tmp_path / "same", level=1)
    inner = write_run(root / "same", level=2)
    library = Library(root)
    assert library.folders() == {".": root, "same": inner}
    assert sorted(summary.score for summary in library.summaries()) == [101, 201]


def test_a_run_that_is_shown_by_itself_is_not_being_written_because_its_neighbours_are(tmp_path):
    with locked(tmp_path):
        (summary,) = Library(write_run(tmp_path / "run")).summaries()
        assert not summary.writing
        assert Library(tmp_path).summaries()[0].writing


def test_a_job_is_not_being_written_because_a_study_holds_the_folder_of_all(tmp_path):
    write_run(tmp_path / "trial-00000")
    write_run(tmp_path / "trials-00001-00002" / "lr=1")
    (tmp_path / LEDGER).write_text('{"jobs": []}')
    with locked(tmp_path), locked(tmp_path / "trials-00001-00002"):
        writing = {summary.name: summary.writing for summary in Library(tmp_path).summaries()}
        assert writing == {"trial-00000": False, "trials-00001-00002/lr=1": True}
    with locked(tmp_path / "trial-00000"):
        assert [summary.writing for summary in Library(tmp_path).summaries()].count(True) == 1


def test_runs_that_are_gone_are_forgotten(tmp_path):
    first, _ = write_run(tmp_path / "first"), write_run(tmp_path / "second")
    library = Library(tmp_path)
    library.summaries()
    gone = weakref.ref(library._shelf.read(first)[1].returns)
    shutil.rmtree(first)
    assert len(library.summaries()) == 1
    gc.collect()
    assert gone() is None


@pytest.fixture
def slow(monkeypatch):
    """Let every run called `large` be read only when this is set; `begun` says that somebody reads it."""
    release, begun = threading.Event(), threading.Event()

    def waiting(path):
        if path.name.startswith("large"):
            begun.set()
            assert release.wait(60)
        return read(path)

    monkeypatch.setattr(shelf, "read", waiting)
    release.begun = begun
    yield release
    release.set()


def test_a_large_run_keeps_nobody_waiting_but_those_who_ask_for_it(tmp_path, monkeypatch, slow):
    for name in ("large", "large-too"):
        write_run(tmp_path / name)
    write_run(tmp_path / "small", evaluations=1)
    monkeypatch.setattr(lists, "PATIENCE", 0.1)
    library = Library(tmp_path)
    answers = []
    asking = [threading.Thread(target=lambda: answers.append(library.data(["large"]))) for _ in range(3)]
    for thread in asking:
        thread.start()
    assert slow.begun.wait(60)
    deadline = time.monotonic() + 60
    while (errors := {run.name: run.error for run in library.summaries()})["small"] and time.monotonic() < deadline:
        pass
    assert errors == {"large": "it is still being read", "large-too": "it is still being read", "small": ""}
    assert json.loads(library.data(["small"])[0])["labels"] == ["td3"]
    assert not answers
    slow.set()
    for thread in asking:
        thread.join(60)
    assert len(set(answers)) == 1
    monkeypatch.setattr(lists, "PATIENCE", 60)
    assert [summary.error for summary in library.summaries()] == ["", "", ""]


def test_a_run_that_is_read_again_is_shown_as_it_was(tmp_path, monkeypatch, slow):
    run = write_run(tmp_path / "large", evaluations=3)
    slow.set()
    library = Library(tmp_path)
    assert library.summaries()[0].step == 30_000
    slow.clear()
    monkeypatch.setattr(lists, "PATIENCE", 0.1)
    os.utime(run / "eval.csv", (1e9, 1e9))
    assert library.summaries()[0].step == 30_000


def test_what_may_be_large_when_unpacked_is_read_last():
    stamps = [(("eval.csv", 0, 5000),), (("eval.csv.gz", 0, 4), ("config.toml", 0, 900)), (("eval.csv.gz", 0, 6),)]
    assert [shelf.most_bytes(stamp) for stamp in stamps] == [5000, 4900, 6000]


def test_runs_are_read_once(tmp_path, monkeypatch):
    write_run(tmp_path / "run")
    reads = []
    monkeypatch.setattr(shelf, "read", lambda path: reads.append(path) or read(path))
    library = Library(tmp_path)
    for _ in range(2):
        library.summaries()
        library.data(["run"])
    assert reads == [tmp_path / "run"]


def test_only_so_many_numbers_are_kept(tmp_path, monkeypatch):
    paths = [write_run(tmp_path / name) for name in "abc"]
    numbers = read(paths[0]).numbers
    monkeypatch.setattr(shelf, "MOST_NUMBERS", 2 * numbers)
    kept = shelf.Shelf()
    for path in paths:
        kept.read(path)
    assert list(kept._runs) == paths[1:]
    monkeypatch.setattr(shelf, "MOST_NUMBERS", numbers - 1)
    kept.read(paths[0])
    assert list(kept._runs) == paths[:1]  # the one that was asked for


def test_runs_that_are_too_large_together_are_not_shown(tmp_path, monkeypatch):
    for name in "ab":
        write_run(tmp_path / name, seeds=(0,) if name == "a" else (1,))
    library = Library(tmp_path)
    assert "error" not in json.loads(library.data(["a", "b"])[0])
    monkeypatch.setattr(lists, "MOST_TOGETHER", 1)
    assert "too large to be shown together" in json.loads(Library(tmp_path).data(["a", "b"])[0])["error"]


def test_a_folder_that_is_none(tmp_path):
    (tmp_path / "loop").symlink_to("loop")
    for name in ("x" * 300, "loop", "nowhere"):
        with pytest.raises(UserError, match="is not a folder"):
            Library(tmp_path / name)


def test_what_is_no_file_is_named(tmp_path):
    run = write_run(tmp_path / "run")
    (run / "train.csv").unlink()
    os.mkfifo(run / "train.csv")
    (summary,) = Library(tmp_path).summaries()
    assert summary.error == f"{run / 'train.csv'} cannot be read: it is not a regular file"
