"""Snapshots of run folders at a URL: whole ones count, and nobody damages another's."""

import json
import re
import sys

import fsspec
import pytest

from teen.config.job import resolve
from teen.errors import StorageFault, UserError
from teen.jobs import mirror, snapshots
from teen.jobs.mirror import Mirror
from teen.jobs.place import place
from teen.jobs.remote import Remote, shown
from teen.training import run as training
from tests.jobs.torn import TornFileSystem
from tests.training.survival import EVERY, STEPS, TRAIN, assert_same_end

JOB = "td3-Point,seeds=0"


@pytest.fixture(params=["file", "torn"])
def remote(request, tmp_path):
    fsspec.register_implementation("torn", TornFileSystem, clobber=True)
    yield Remote(f"{request.param}://{tmp_path}/place/")
    TornFileSystem.breaks.clear()


@pytest.fixture
def torn(tmp_path):
    fsspec.register_implementation("torn", TornFileSystem, clobber=True)
    yield Remote(f"torn://{tmp_path}/place")
    TornFileSystem.breaks.clear()


def attempt(remote, folder):
    made = Mirror(remote, JOB, folder, sleep=lambda seconds: None)
    return made, made.fetch()


def write(folder, **files):
    for name, text in files.items():
        path = folder / name.replace("__", "/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def content(folder):
    return {str(path.relative_to(folder)): path.read_text() for path in folder.rglob("*") if path.is_file()}


def stored(remote):
    """Return the contents that are stored, and how many snapshots."""
    names = [name for a in remote.names(f"{JOB}/files") for name in remote.names(f"{JOB}/files/{a}")]
    lists = [name for name in remote.names(JOB) if name.startswith("state-")]
    return [name for name in names if name != "begun"], lists


def test_a_place_has_the_methods_of_a_folder(remote, tmp_path):
    assert remote.read("a/b.json") is None
    assert remote.names("a") == []
    assert remote.names("") == []
    remote.write("a/b.json", b"1")
    remote.write("a/b.json", b"22")
    remote.write("a/c/d", b"")
    assert (remote.read("a/b.json"), remote.read("a/c/d")) == (b"22", b"")
    assert remote.names("a") == ["b.json", "c"]
    assert remote.names("") == ["a"]
    remote.remove("a/b.json")
    remote.remove("a/b.json")
    assert remote.names("a") == ["c"]
    remote.remove("a")
    assert remote.names("") == []
    assert isinstance(place(remote.url), Remote)
    assert (tmp_path / "place").is_dir()


def test_a_snapshot_comes_back_without_what_is_half_written(remote, tmp_path):
    one, two = tmp_path / "one", tmp_path / "two"
    first, step = attempt(remote, one)
    assert step is None
    write(one, **{"eval.csv": "a", "checkpoint__step": "b", "lock": "1", "x.part": "half", "empty": ""})
    (one / "link").symlink_to("/etc/passwd")
    first.kept(30)
    _, step = attempt(remote, two)
    assert step == 30
    assert content(two) == {"eval.csv": "a", "checkpoint/step": "b", "empty": ""}


def test_only_new_content_is_uploaded_and_two_snapshots_stay(remote, tmp_path, monkeypatch):
    uploads = []
    original = Remote.upload
    monkeypatch.setattr(Remote, "upload", lambda self, path, *a: (uploads.append(path), original(self, path, *a))[1])
    one, _ = attempt(remote, tmp_path / "one")
    for step in (10, 20, 30, 40):
        write(tmp_path / "one", **{"rows": "same", f"state{step % 20}": str(step), "log": "x" * step})
        one.kept(step)
    assert len(uploads) == 1 + 4 + 4
    files, lists = stored(remote)
    assert [int(name.split("-")[1]) for name in lists] == [30, 40]
    assert len(files) == 1 + 3 + 2  # rows; the states of 20 and 40 and that of 30; two logs
    _, step = attempt(remote, tmp_path / "two")
    assert step == 40
    assert content(tmp_path / "two") == {"rows": "same", "state0": "40", "state10": "30", "log": "x" * 40}


@pytest.mark.parametrize("damage", ["short", "other", "missing", "torn list"])
def test_of_damaged_snapshots_the_one_before_is_taken(damage, torn, tmp_path, capsys):
    one, _ = attempt(torn, tmp_path / "one")
    for step in (10, 20):
        write(tmp_path / "one", log="x" * step)
        one.kept(step)
    list_path = tmp_path / "place" / JOB / stored(torn)[1][-1]
    sha256 = json.loads(list_path.read_text())["files"]["log"]["sha256"]
    (file,) = (tmp_path / "place" / JOB).glob(f"files/*/{sha256}")
    if damage == "missing":
        file.unlink()
    elif damage == "torn list":
        list_path.write_text(list_path.read_text()[:-4])
    else:
        file.write_text("x" * 15 if damage == "short" else "y" * 20)
    two, step = attempt(torn, tmp_path / "two")
    assert step == 10
    assert content(tmp_path / "two") == {"log": "x" * 10}
    assert re.search(r"notice: .*state-0+20-.* is not whole, the one before is taken: ", capsys.readouterr().err)
    two.kept(20)
    assert attempt(torn, tmp_path / "three")[1] == 20


@pytest.mark.parametrize("path", ["../out", "/tmp/out", "a/../../out", "a//b", "./a", "", "\ud800x"])
def test_a_strangers_list_leads_nowhere_else(path, torn, tmp_path, capsys):
    one, _ = attempt(torn, tmp_path / "one")
    write(tmp_path / "one", log="x")
    one.kept(10)
    name = stored(torn)[1][0]
    listed = json.loads(torn.read(f"{JOB}/{name}"))
    torn.write(f"{JOB}/{name}", json.dumps({**listed, "files": {path: listed["files"]["log"]}}).encode())
    assert attempt(torn, tmp_path / "two" / "in")[1] is None
    assert "it lists" in capsys.readouterr().err
    assert not [p for p in (tmp_path / "two").rglob("*") if p.is_file()]


@pytest.mark.parametrize("content", ['{"log": {"sha256": "%s", "bytes": 1e999}}' % ("0" * 64), "[" * 100_000])
def test_a_list_of_numbers_or_depths_beyond_reason_is_passed_over(content, torn, tmp_path, capsys):
    one, _ = attempt(torn, tmp_path / "one")
    write(tmp_path / "one", log="x")
    one.kept(10)
    one.kept(20)
    torn.write(f"{JOB}/{stored(torn)[1][-1]}", f'{{"files": {content}}}'.encode())
    assert attempt(torn, tmp_path / "two")[1] == 10
    assert "is not whole, the one before is taken: it is torn" in capsys.readouterr().err


def test_an_upload_that_breaks_off_is_told_and_the_next_brings_all(torn, tmp_path, capsys):
    one, _ = attempt(torn, tmp_path / "one")
    write(tmp_path / "one", rows="r" * 2000, log="first")
    TornFileSystem.breaks[:] = [1]  # the second file
    one.kept(10)
    error = capsys.readouterr().err
    assert error.startswith("notice: the checkpoint of step 10 was not uploaded to torn://")
    assert "Connection reset" in error
    assert attempt(torn, tmp_path / "two")[1] is None
    one, _ = attempt(torn, tmp_path / "one")
    TornFileSystem.breaks[:] = [2]  # the list
    one.kept(10)
    assert attempt(torn, tmp_path / "three")[1] is None
    one, _ = attempt(torn, tmp_path / "one")
    one.kept(20)
    assert attempt(torn, tmp_path / "four")[1] == 20


def test_the_last_upload_is_tried_again_and_then_an_error(torn, tmp_path):
    one, _ = attempt(torn, tmp_path / "one")
    write(tmp_path / "one", log="x" * 100, other="")
    TornFileSystem.breaks[:] = [0] * (mirror.TRIES - 1)
    one.finish(50)
    assert attempt(torn, tmp_path / "two")[1] == 50
    one, _ = attempt(torn, tmp_path / "one")
    TornFileSystem.breaks[:] = [0] * mirror.TRIES
    with pytest.raises(StorageFault, match=f"cannot be uploaded after {mirror.TRIES} tries: Connection reset"):
        one.finish(50)


@pytest.mark.parametrize("clock", [1, -1])
def test_a_zombie_damages_nothing(clock, torn, tmp_path, monkeypatch):
    """Whatever the clock of the machine says on which the retry runs."""
    zombie, _ = attempt(torn, tmp_path / "zombie")
    write(tmp_path / "zombie", rows="r", log="1")
    zombie.kept(10)
    now = 10**18 * 2 if clock > 0 else 5
    monkeypatch.setattr(mirror.time, "time_ns", lambda: now)
    retry, step = attempt(torn, tmp_path / "retry")
    assert step == 10
    for step in (20, 30, 40):
        write(tmp_path / "retry", log=str(step))
        retry.kept(step)
        write(tmp_path / "zombie", log=f"z{step}")
        zombie.kept(step + 5)
    with pytest.raises(StorageFault, match="taken over by an attempt that began later"):
        zombie.finish(50)
    retry.finish(50)
    third, _ = attempt(torn, tmp_path / "third")
    assert content(tmp_path / "third") == {"rows": "r", "log": "40"}
    third.kept(50)
    third.kept(60)
    assert {name.split("-", 2)[2][:29] for name in stored(torn)[1]} == {third.attempt}


def test_what_an_attempt_began_from_stays_until_it_has_two_of_its_own(torn, tmp_path):
    one, _ = attempt(torn, tmp_path / "one")
    write(tmp_path / "one", log="1")
    one.kept(10)
    two, _ = attempt(torn, tmp_path / "two")
    two.kept(20)
    steps = [[int(name.split("-")[1]) for name in stored(torn)[1]]]
    (tmp_path / "place" / JOB / stored(torn)[1][-1]).write_text("{")
    assert attempt(torn, tmp_path / "three")[1] == 10
    two.kept(30)
    steps.append([int(name.split("-")[1]) for name in stored(torn)[1]])
    assert steps == [[10, 20], [20, 30]]


def test_training_goes_on_from_what_was_uploaded(torn, tmp_path, reference, monkeypatch):
    """In another folder, as on another machine; the end is the same to the bit."""
    values = cli_values()
    monkeypatch.setattr(mirror, "KEPT", 20)
    first, _ = attempt(torn, tmp_path / "first")
    training.train_job(resolve(values), first.folder, show=False, kept=first.kept)
    steps = [int(name.split("-")[1]) for name in stored(torn)[1]]
    assert steps == [*range(EVERY, STEPS, EVERY), STEPS]
    for name in stored(torn)[1][4:]:
        torn.remove(f"{JOB}/{name}")
    second, step = attempt(torn, tmp_path / "second")
    assert step == 4 * EVERY
    training.resume(second.folder, show=False, kept=second.kept)
    second.finish(STEPS)
    assert_same_end(second.folder, reference)
    snapshots.newest(torn, JOB, tmp_path / "end")
    assert_same_end(tmp_path / "end", reference)


def cli_values():
    words = iter(TRAIN[1:])
    values = {flag.removeprefix("--").replace("-", "_"): value for flag, value in zip(words, words, strict=True)}
    return {name: int(value) if value.isdecimal() else value for name, value in values.items()}


@pytest.mark.parametrize(
    ("url", "line"),
    [("nothing://x/y", "nothing://x/y cannot be used as storage: Protocol not known: nothing"), ("s3://x/y", "s3fs")],
)
def test_a_url_that_cannot_be_used_is_one_line(url, line):
    with pytest.raises(UserError, match=line):
        Remote(url)


def test_without_fsspec_it_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "fsspec.core", None)
    with pytest.raises(UserError, match=r'pip install "teen-rl\[cluster\]"'):
        Remote("file:///x")


def test_passwords_are_not_shown():
    assert shown("ftp://me:secret@host/a@b") == "ftp://…@host/a@b"
    assert shown("ftp://me:sec@ret@host/a") == "ftp://…@host/a"
    assert shown("https://host/a?sv=1&sig=sec/ret@x, again") == "https://host/a?… again"
    assert shown("memory://a/b") == "memory://a/b"
    with pytest.raises(UserError, match="nothing://…@x/y") as error:
        Remote("nothing://me:secret@x/y?sig=secret")
    assert "secret" not in str(error.value)
