"""timing.csv and machine.json: nothing that is wrong with them keeps a run from going on."""

import json
import os

import pytest

from teen.disk import circumstances
from teen.disk.circumstances import MACHINE, TIMING, cut_timing, log_start, log_timing

HEAD = "step,seconds,steps_per_second\n"
ROWS = "100,2.500,40\n200,4.000,66.6667\n300,6.125,47.0588\n"


def test_rows_are_written_with_their_columns(tmp_path):
    log_timing(tmp_path, 100, 2.5, 40.0)
    log_timing(tmp_path, 200, 4.00049, 200 / 3)
    assert (tmp_path / TIMING).read_text() == HEAD + "100,2.500,40\n200,4.000,66.6667\n"


@pytest.mark.parametrize(
    ("text", "step", "kept", "seconds"),
    [
        (HEAD + ROWS, 300, HEAD + ROWS, 6.125),
        (HEAD + ROWS, 250, HEAD + "100,2.500,40\n200,4.000,66.6667\n", 4.0),
        (HEAD + ROWS, 99, HEAD, 0.0),
        (HEAD + ROWS + "400,7", 500, HEAD + ROWS, 6.125),  # cut while it was written
        (HEAD + ROWS + "400,nan,1\n", 500, HEAD + ROWS, 6.125),
        (HEAD + ROWS + "400,5.000,1\n", 500, HEAD + ROWS, 6.125),  # time does not go back
        (HEAD + ROWS + "300,7.000,1\n", 500, HEAD + ROWS, 6.125),
        (HEAD + ROWS + "\0" * 10_000, 500, HEAD + ROWS, 6.125),
        (HEAD + "9" * 10_000, 500, HEAD, 0.0),
        ("seed,step,policy\n" + ROWS, 300, "", 0.0),
        ("", 300, "", 0.0),
    ],
    ids=range(11),
)
def test_rows_beyond_a_step_and_what_is_damaged_are_cut(text, step, kept, seconds, tmp_path):
    (tmp_path / TIMING).write_text(text)
    assert cut_timing(tmp_path, step) == seconds
    assert (tmp_path / TIMING).read_text() == kept
    log_timing(tmp_path, 600, 9.0, 1.0)  # goes on, with its columns
    assert (tmp_path / TIMING).read_text() == (kept or HEAD) + "600,9.000,1\n"


def test_a_log_that_is_missing_begins_anew(tmp_path):
    assert cut_timing(tmp_path, 100) == 0.0
    assert not (tmp_path / TIMING).exists()


def put(what, path, elsewhere):
    elsewhere.write_text("keep me")
    if what == "a link":
        path.symlink_to(elsewhere)
    elif what == "a FIFO":
        os.mkfifo(path)
    elif what == "a link to a folder":
        (elsewhere.parent / "folder").mkdir()
        (elsewhere.parent / "folder" / "file").write_text("keep me")
        path.symlink_to(elsewhere.parent / "folder")
    else:
        path.mkdir()
        (path / "file").write_text("a file")


@pytest.mark.parametrize("what", ["a link", "a link to a folder", "a FIFO", "a folder"])
def test_what_is_no_file_is_replaced_and_links_are_not_followed(what, tmp_path):
    run, elsewhere = tmp_path / "run", tmp_path / "elsewhere"
    run.mkdir()
    for name in circumstances.NAMES:
        put(what, run / name, elsewhere)
        if name == TIMING:
            assert cut_timing(run, 100) == 0.0
            log_timing(run, 200, 1.0, 1.0)
        else:
            log_start(run, {"step": 100})
        assert (run / name).is_file()
        assert not (run / name).is_symlink()
        assert elsewhere.read_text() == "keep me"
        if what == "a link to a folder":
            (elsewhere.parent / "folder" / "file").unlink()  # still there
            (elsewhere.parent / "folder").rmdir()


def test_every_start_is_an_entry(tmp_path):
    for step in (0, 100, 200):
        log_start(tmp_path, {"step": step, "command": "teen train --out 'ä\udcff'"})
    text = (tmp_path / MACHINE).read_bytes()
    assert [start["step"] for start in json.loads(text)] == [0, 100, 200]
    assert text.isascii()


def test_the_newest_hundred_starts_are_kept(tmp_path):
    (tmp_path / MACHINE).write_text(json.dumps([{"step": step} for step in range(500)]))
    log_start(tmp_path, {"step": 500})
    assert [start["step"] for start in json.loads((tmp_path / MACHINE).read_text())] == list(range(401, 501))


@pytest.mark.parametrize(
    "damage",
    [
        "",
        "{",
        '{"step": 3}',
        "3",
        "null",
        "[" * 100_000,
        '[{"a": ' + "[" * 900 + "]" * 900 + "}]",
        "[" + "9" * 5000 + "]",
    ],
    ids=range(8),
)
def test_a_list_that_is_damaged_begins_anew(damage, tmp_path):
    (tmp_path / MACHINE).write_text(damage)
    log_start(tmp_path, {"step": 7})
    assert json.loads((tmp_path / MACHINE).read_text())[-1] == {"step": 7}


def test_a_list_that_is_too_large_is_not_read(tmp_path):
    with (tmp_path / MACHINE).open("wb") as file:
        file.truncate(6 * 2**30)
    log_start(tmp_path, {"step": 7})
    assert json.loads((tmp_path / MACHINE).read_text()) == [{"step": 7}]
