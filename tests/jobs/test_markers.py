"""The files that tell how far jobs are: how they are written, also by several at once."""

import json
import os
import platform
import threading
from typing import NamedTuple

import pytest

from teen.disk.jobs import LEDGER, RUNNING, ledger, marker
from teen.errors import UserError
from teen.jobs import markers
from teen.jobs.markers import Heartbeat, add_to_ledger, last_lines, planned, remove_running
from teen.jobs.place import Folder, address, is_url, place
from teen.jobs.planned import PlannedJob
from teen.tune.batches import owner

STUDY = {"name": "study", "trials": {"lr=1": 0}}


class Event(NamedTuple):
    kind: str
    step: int


def test_a_place_reads_writes_lists_and_removes_by_paths_with_slashes(tmp_path):
    folder = place(str(tmp_path))
    assert folder.read("a/b/x.json") is None
    assert folder.names("a") == []
    folder.write("a/b/x.json", b"1")
    folder.write("a/b/x.json", b"2")
    assert folder.read("a/b/x.json") == b"2"
    assert (folder.names(""), folder.names("a"), folder.names("a/b")) == (["a"], ["b"], ["x.json"])
    assert folder.names("a/b/x.json") == []
    assert folder.read("a/b/x.json/y") is None
    folder.remove("a/b/x.json")
    folder.remove("a/b/x.json")
    assert folder.names("a/b") == []
    assert place(address(folder)).root == tmp_path


@pytest.mark.parametrize("path", ["", "..", "../x", "/etc/passwd", "a/../../x", "a//b", "a/./b", "a\0", "\ud800x"])
def test_no_path_leads_out_of_a_place(tmp_path, path):
    folder = Folder(tmp_path / "here")
    with pytest.raises(UserError, match="no path inside"):
        folder.write(path, b"")
    with pytest.raises(UserError, match="no path inside"):
        folder.read(path)


def test_a_link_is_not_read(tmp_path):
    (tmp_path / "secret.json").write_text('{"step": 1}')
    (tmp_path / "here" / "a").mkdir(parents=True)
    (tmp_path / "here" / "a" / "done.json").symlink_to(tmp_path / "secret.json")
    assert marker(Folder(tmp_path / "here"), "a/done.json") is None


def test_a_linked_folder_is_none(tmp_path):
    elsewhere, folder = tmp_path / "elsewhere", Folder(tmp_path / "here")
    (elsewhere / "inner").mkdir(parents=True)
    (elsewhere / "done.json").write_text("{}")
    folder.root.mkdir()
    (folder.root / "a").symlink_to(elsewhere)
    assert folder.read("a/done.json") is None
    assert (folder.names(""), folder.names("a"), folder.names("a/inner")) == (["a"], [], [])
    for path in ("a/done.json", "a/inner/x", "a/new/x"):
        with pytest.raises(NotADirectoryError, match="links among jobs are not followed"):
            folder.write(path, b"1")
        with pytest.raises(NotADirectoryError, match="links among jobs are not followed"):
            folder.remove(path)
    assert sorted(path.name for path in elsewhere.rglob("*")) == ["done.json", "inner"]
    (folder.root / "b").mkdir()
    (folder.root / "b" / "done.json").symlink_to(elsewhere / "done.json")
    folder.write("b/done.json", b"1")  # the link is replaced
    assert (folder.read("b/done.json"), (elsewhere / "done.json").read_text()) == (b"1", "{}")
    linked = tmp_path / "linked"
    linked.symlink_to(folder.root)
    assert Folder(linked).names("b") == ["done.json"]  # the folder of all jobs is the user's own


@pytest.mark.parametrize("text", ["file:///x", "s3://bucket/x", "memory://", "simplecache::s3://x"])
def test_urls_are_told_from_folders(text):
    assert is_url(text)


@pytest.mark.parametrize("text", ["runs/x", "/runs", "a:b", "c:\\runs", "://x"])
def test_folders_are_told_from_urls(text):
    assert not is_url(text)


@pytest.mark.parametrize("torn", [b"", b'{"step": 2', b"[]", b"1", b"\xff\xfe", b"[" * 100_000])
def test_what_is_no_json_object_counts_as_absent(tmp_path, torn):
    folder = Folder(tmp_path)
    folder.write("x/done.json", torn)
    assert marker(folder, "x/done.json") is None


def test_the_ledger_grows_and_replaces_jobs_of_the_same_name(tmp_path):
    folder = Folder(tmp_path)
    assert planned(folder) == []
    add_to_ledger(folder, [PlannedJob("a", {"steps": 1}), PlannedJob("b", {"seeds": (0, 1)})])
    add_to_ledger(folder, [PlannedJob("c", {}), PlannedJob("a", {"steps": 2}, STUDY)])
    expected = [("a", {"steps": 2}, STUDY), ("b", {"seeds": [0, 1]}, None), ("c", {}, None)]
    assert [tuple(job) for job in planned(folder)] == expected
    written = (tmp_path / LEDGER).stat().st_mtime_ns
    add_to_ledger(folder, [PlannedJob("b", {"seeds": [0, 1]})])
    assert (tmp_path / LEDGER).stat().st_mtime_ns == written


def test_entries_that_make_no_sense_are_left_out(tmp_path):
    jobs = [{"name": "a", "settings": {}}, {"name": "../a", "settings": {}}, {"name": 3}, 4, {"name": "b"}]
    Folder(tmp_path).write(LEDGER, json.dumps({"format": 1, "jobs": jobs}).encode())
    assert [job["name"] for job in ledger(Folder(tmp_path))] == ["a"]


@pytest.mark.parametrize(
    "wrong",
    [
        {"name": "\ud800x"},
        {"study": "x"},
        {"study": []},
        {"study": {"name": "study"}},
        {"study": {"trials": [1]}},
        {"study": {"trials": {"lr=1": "first"}}},
    ],
)
def test_names_that_no_file_can_have_and_studies_without_trials_are_left_out(tmp_path, wrong):
    good = {"name": "a", "settings": {}, "study": STUDY}
    Folder(tmp_path).write(LEDGER, json.dumps({"format": 1, "jobs": [{**good, **wrong}, good]}).encode())
    assert owner(planned(Folder(tmp_path)), "study") == {0: PlannedJob("a", {}, STUDY)}


class Unreadable(Folder):
    """The first `times` reads fail."""

    times = 0

    def read(self, path):
        self.times -= 1
        if self.times >= 0:
            raise OSError(5, "Input/output error")
        return super().read(path)


def test_a_ledger_that_cannot_be_read_just_now_is_not_replaced(tmp_path, monkeypatch):
    waits = []
    monkeypatch.setattr(markers.time, "sleep", waits.append)
    folder = Unreadable(tmp_path)
    add_to_ledger(folder, [PlannedJob("a", {}), PlannedJob("b", {})])
    folder.times = 2
    add_to_ledger(folder, [PlannedJob("c", {})])
    assert [job.name for job in planned(folder)] == ["a", "b", "c"]
    assert waits[:2] == list(markers.WAITS)
    before, folder.times = (tmp_path / LEDGER).read_bytes(), 3
    with pytest.raises(UserError, match=r"jobs\.json cannot be read: Input/output error; move it away"):
        add_to_ledger(folder, [PlannedJob("d", {})])
    assert (tmp_path / LEDGER).read_bytes() == before
    folder.times = 3
    with pytest.raises(UserError, match="cannot be read"):
        planned(folder)  # trials under way would lose their jobs


@pytest.mark.parametrize("torn", [b"", b'{"jobs": [', b"[]", b'{"format": 1}', b'{"jobs": {}}', b"[" * 100_000])
def test_a_torn_ledger_is_not_replaced(tmp_path, monkeypatch, torn):
    monkeypatch.setattr(markers.time, "sleep", lambda seconds: None)
    (tmp_path / LEDGER).write_bytes(torn)
    with pytest.raises(UserError, match=r"jobs\.json cannot be read: it is torn"):
        add_to_ledger(Folder(tmp_path), [PlannedJob("a", {})])
    assert (tmp_path / LEDGER).read_bytes() == torn
    assert ledger(Folder(tmp_path)) is None


def test_launchers_that_write_at_once_leave_a_whole_ledger(tmp_path):
    """An entry may be lost between two looks, and its launcher adds it again in the end. What is there is whole."""
    expected = {f"{who}-{number}" for who in range(3) for number in range(5)}

    def add_one_after_the_other(who):
        for number in range(5):
            add_to_ledger(Folder(tmp_path), [PlannedJob(f"{who}-{number}", {"steps": number})])

    threads = [threading.Thread(target=add_one_after_the_other, args=(who,)) for who in range(3)]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        assert {job["name"] for job in ledger(Folder(tmp_path)) or ()} <= expected
    assert ledger(Folder(tmp_path))
    assert os.listdir(tmp_path) == [LEDGER]


def test_a_heartbeat_says_who_works_and_how_far_it_is(tmp_path, monkeypatch):
    folder, now = Folder(tmp_path), 1000.0
    monkeypatch.setattr(markers.time, "time", lambda: now)
    with Heartbeat(folder, "a") as beat:
        first = marker(folder, "a/running.json")
        assert (first["host"], first["pid"], first["step"]) == (platform.node(), os.getpid(), 0)
        assert (first["began"], first["updated"]) == (1000.0, 1000.0)
        beat.plan(500, 50, 100)
        beat(Event("log", 150))
        beat(Event("evaluation", 120))
        now = 1010.0
        beat.beat()
        then = marker(folder, "a/running.json")
        assert (then["step"], then["steps"], then["began"], then["updated"]) == (150, 500, 1000.0, 1010.0)
    assert folder.names("a") == []


def test_a_heartbeat_beats_by_itself_and_survives_a_place_that_fails(tmp_path):
    beaten = threading.Semaphore(0)

    class Failing(Folder):
        times = 0

        def write(self, path, data):
            self.times += 1
            beaten.release()
            if self.times == 2:
                raise OSError("the network is down")
            super().write(path, data)

    folder = Failing(tmp_path)
    with Heartbeat(folder, "a", period=0.01):
        for _ in range(4):
            assert beaten.acquire(timeout=60)
        assert marker(folder, "a/running.json")
    assert folder.names("a") == []


def test_the_heartbeat_of_another_is_left_alone(tmp_path):
    folder = Folder(tmp_path)
    with Heartbeat(folder, "a"):
        folder.write(f"a/{RUNNING}", b'{"host": "elsewhere", "pid": 1}')
    assert marker(folder, f"a/{RUNNING}") == {"host": "elsewhere", "pid": 1}
    remove_running(folder, "a", 1)
    assert folder.names("a") == [RUNNING]
    markers.write(folder, f"a/{RUNNING}", {"host": platform.node(), "pid": 1})
    remove_running(folder, "a", 1)
    assert folder.names("a") == []


def test_the_last_lines_of_an_error_are_kept():
    assert last_lines("\n".join(map(str, range(100))) + "\n").splitlines() == [str(n) for n in range(80, 100)]
    assert len(last_lines("x" * 10**6)) <= 8_000


def test_hours_of_work_do_not_hang_on_one_write(tmp_path, monkeypatch):
    class Failing(Folder):
        left = 2

        def write(self, path, data):
            self.left -= 1
            if self.left >= 0:
                raise OSError("the network is down")
            super().write(path, data)

    waits = []
    monkeypatch.setattr(markers.time, "sleep", waits.append)
    folder = Failing(tmp_path)
    markers.write_done(folder, PlannedJob("a", {}), 5, 1.0)
    assert marker(folder, "a/done.json") == {"step": 5, "seconds": 1.0, "settings": {}}
    assert waits == [1.0, 5.0]
    folder.left = 3
    with pytest.raises(OSError, match="network"):
        markers.write_done(folder, PlannedJob("a", {}), 5, 1.0)
