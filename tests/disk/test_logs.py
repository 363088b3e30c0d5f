"""Logs: rows of one step that belong together, what lies in the place of a log, and how much is read."""

import contextlib
import gzip
import os
import socket
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

from teen import UserError
from teen.disk import logs

HEADER = "seed,step,policy,episode,return,length\n"
ROW = "0,10,mean,0,1.5,7\n"


def rows(folder, name="eval.csv"):
    with logs.read_log(folder, name) as read:
        return list(read)


def test_rows_of_a_step_are_replaced_and_later_ones_removed(tmp_path):
    def tables(value):
        return {"diagnostics.csv": [("entropy_all", value)], "confusion.csv": [(0, 1, value / 10)]}

    for step, value in ((10, 1.0), (20, 2.0), (30, 3.0), (20, 5.0)):
        logs.write_diagnosis(tmp_path, step, [(4, tables(value)), (5, {})])
    text = (tmp_path / "diagnostics.csv").read_text().split()
    assert text == ["seed,step,quantity,value", "4,10,entropy_all,1.0", "4,30,entropy_all,3.0", "4,20,entropy_all,5.0"]
    for name in logs.REPLACED:
        logs.remove_after(tmp_path, name, 20)
    assert (tmp_path / "confusion.csv").read_text().split() == [
        "seed,step,member,guess,share",
        "4,10,0,1,0.1",
        "4,20,0,1,0.5",
    ]
    assert not (tmp_path / "members.csv").exists()


def test_two_that_write_the_same_files_at_once_lose_nothing(tmp_path):
    def write(first):
        for step in range(first, 200, 2):
            logs.write_diagnosis(tmp_path, step, [(0, {"diagnostics.csv": [("entropy_all", 1.0)]})])

    with ThreadPoolExecutor() as pool:
        for writer in [pool.submit(write, first) for first in (0, 1)]:
            writer.result()
    rows = (tmp_path / "diagnostics.csv").read_text().split()[1:]
    assert sorted(int(row.split(",")[1]) for row in rows) == list(range(200))


@pytest.mark.parametrize("line", ["", "0,1", "0,ten,entropy_all,1.0"])
def test_a_damaged_line_is_named(tmp_path, line):
    (tmp_path / "diagnostics.csv").write_text(f"seed,step,quantity,value\n{line}\n")
    with pytest.raises(UserError, match=r"diagnostics.csv is damaged: line 2 is not seed,step,quantity,value"):
        logs.write_diagnosis(tmp_path, 10, [(0, {"diagnostics.csv": [("entropy_all", 1.0)]})])


def put(folder, name, what):
    """Put something into the place of a log that is no log."""
    path, elsewhere = folder / name, folder.parent / "elsewhere"
    if what == "fifo":
        os.mkfifo(path)
    elif what == "socket":
        with socket.socket(socket.AF_UNIX) as listening, contextlib.chdir(folder):  # such a path must be short
            listening.bind(name)
    elif what == "folder":
        path.mkdir()
    else:
        elsewhere.write_bytes(gzip.compress((HEADER + ROW).encode()) if name.endswith(".gz") else b"seed,step\n0,1\n")
        path.symlink_to(elsewhere)


THINGS = {
    "fifo": "it is not a regular file",
    "socket": "it is not a regular file",
    "folder": "it is not a regular file",
    "link": "it is a link, and links in a run folder are not followed",
}


@pytest.mark.parametrize("what", THINGS)
@pytest.mark.parametrize("name", ["eval.csv", "eval.csv.gz", "train.csv", "diagnostics.csv", "confusion.csv"])
def test_only_regular_files_are_logs(tmp_path, name, what):
    (tmp_path / "run").mkdir()
    put(tmp_path / "run", name, what)
    log = name.removesuffix(".gz")
    for read in (rows, logs.read_whole) if log in logs.REPLACED else (rows,):
        with pytest.raises(UserError, match=rf"{name} cannot be read: {THINGS[what]}$"):
            read(tmp_path / "run", log)


def test_a_run_folder_may_itself_be_a_link(tmp_path):
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "eval.csv").write_text(HEADER + ROW)
    (tmp_path / "link").symlink_to("run")
    assert rows(tmp_path / "link") == [
        {"seed": "0", "step": "10", "policy": "mean", "episode": "0", "return": "1.5", "length": "7"}
    ]


def test_a_link_beside_a_log_is_not_passed_over(tmp_path):
    """A reader must not see another log than a writer does."""
    (tmp_path / "eval.csv.gz").write_bytes(gzip.compress((HEADER + ROW).encode()))
    assert len(rows(tmp_path)) == 1
    (tmp_path / "eval.csv").symlink_to("nowhere")
    with pytest.raises(UserError, match=r"eval\.csv cannot be read: it is a link"):
        rows(tmp_path)


def test_a_byte_order_mark_is_passed_over(tmp_path):
    (tmp_path / "eval.csv").write_bytes(b"\xef\xbb\xbf" + (HEADER + ROW).encode())
    assert rows(tmp_path)[0]["seed"] == "0"
    (tmp_path / "diagnostics.csv").write_bytes(b"\xef\xbb\xbfseed,step,quantity,value\n0,10,coverage,1.0\n")
    assert logs.read_whole(tmp_path, "diagnostics.csv") == "0,10,coverage,1.0\n"


@pytest.mark.parametrize("content", [None, ""])
def test_a_log_that_was_removed_or_emptied_begins_with_its_columns_again(tmp_path, content):
    logs.append(tmp_path, "eval.csv", [(0, 10, "mean", 0, 1.5, 7)])
    (tmp_path / "eval.csv").unlink()
    if content is not None:
        (tmp_path / "eval.csv").write_text(content)
    for step in (20, 30):
        logs.append(tmp_path, "eval.csv", [(0, step, "mean", 0, 1.5, 7)])
    assert (tmp_path / "eval.csv").read_text() == HEADER + "0,20,mean,0,1.5,7\n0,30,mean,0,1.5,7\n"


@pytest.mark.parametrize("what", THINGS)
def test_rows_are_added_to_regular_files_only(tmp_path, what):
    (tmp_path / "run").mkdir()
    put(tmp_path / "run", "eval.csv", what)
    with pytest.raises(OSError):  # noqa: PT011 the words are the system's
        logs.append(tmp_path / "run", "eval.csv", [(0, 10, "mean", 0, 1.5, 7)])
    assert not (tmp_path / "elsewhere").exists() or "mean" not in (tmp_path / "elsewhere").read_text()


@pytest.mark.parametrize(
    ("bound", "most", "text", "message"),
    [
        ("LARGEST_LOG", 200, HEADER + ROW * 10, "it has more than 200 bytes"),
        ("MOST_LINES", 5, HEADER + ROW * 5, "it has more than 5 lines"),
        ("LONGEST_LINE", 64, HEADER + "0" * 128, "a line has more than 64 bytes"),
        ("MOST_COLUMNS", 5, HEADER + ROW, "it has more than 5 columns"),
        ("LONGEST_NAME", 5, HEADER + ROW, "or one whose name is longer than 5"),
    ],
)
@pytest.mark.parametrize("packed", [False, True])
def test_what_is_too_large_is_refused(tmp_path, monkeypatch, bound, most, text, message, packed):
    path = tmp_path / ("eval.csv.gz" if packed else "eval.csv")
    path.write_bytes(gzip.compress(text.encode()) if packed else text.encode())
    monkeypatch.setattr(logs, bound, most)
    with pytest.raises(UserError, match=rf"{path.name} is too large: .*{message}"):
        rows(tmp_path)


def test_a_packed_log_is_not_unpacked_if_it_is_large_as_it_is(tmp_path, monkeypatch):
    (tmp_path / "eval.csv.gz").write_bytes(gzip.compress(HEADER.encode()) + b"\0" * 1000)  # gzip allows such padding
    assert rows(tmp_path) == []
    monkeypatch.setattr(logs, "LARGEST_PACKED", 1000)
    with pytest.raises(UserError, match=r"eval.csv.gz is too large: it has more than 1,000 bytes"):
        rows(tmp_path)


def test_what_is_wrong_is_said_briefly(tmp_path):
    (tmp_path / "eval.csv").write_text(HEADER + ROW.replace("1.5", "x" * 100_000))
    with pytest.raises(UserError, match="could not convert") as raised, logs.read_log(tmp_path, "eval.csv") as read:
        float(next(read)["return"])
    assert len(str(raised.value)) < 500


def test_a_damaged_line_has_its_number_wherever_it_is(tmp_path):
    for number in (3, logs.ROWS + 1, logs.ROWS + 2, 2 * logs.ROWS + 5):
        (tmp_path / "eval.csv").write_text(HEADER + ROW * (number - 2) + "0,10\n" + ROW * 3)
        with pytest.raises(UserError, match=f"eval.csv is damaged: line {number} has too few columns"):
            rows(tmp_path)


LIGHT = """
import resource, sys
from pathlib import Path
from teen.errors import UserError
from teen.report.runs import read
assert "jax" not in sys.modules
size = next(int(line.split()[1]) * 1024 for line in open("/proc/self/status") if line.startswith("VmSize"))
resource.setrlimit(resource.RLIMIT_AS, (size + int(sys.argv[2]) * 2**20,) * 2)
try:
    print(read(Path(sys.argv[1])).returns.shape)
except UserError as error:
    print(error)
"""


def read_with_memory(folder, mebibytes):
    """Read a run in a process that may ask for so much memory."""
    (folder / "config.toml").write_text('algo = "td3"\nenv = "Ant-v5"\n')
    arguments = [sys.executable, "-c", LIGHT, str(folder), str(mebibytes)]
    return subprocess.run(arguments, check=True, capture_output=True, text=True, timeout=120).stdout


@pytest.mark.skipif(not os.path.exists("/proc/self/status"), reason="there is no /proc here")
def test_memory_is_asked_for_as_it_is_needed(tmp_path):
    (tmp_path / "eval.csv").write_text(HEADER + "".join(f"{k % 10},{k},mean,0,1.5,7\n" for k in range(5000)))
    assert read_with_memory(tmp_path, 100) == "(10, 5000)\n"
    (tmp_path / "eval.csv").write_text(HEADER + ROW * 100_000)
    assert read_with_memory(tmp_path, 100) == "(1, 1)\n"


@pytest.mark.skipif(not os.path.exists("/proc/self/status"), reason="there is no /proc here")
@pytest.mark.parametrize(("line", "most"), [(ROW, "4,000,000 lines"), ("\0" * 999, "262,144 bytes")], ids=range(2))
def test_a_small_file_that_unpacks_to_a_large_one_is_refused(tmp_path, line, most):
    with gzip.open(tmp_path / "eval.csv.gz", "wb", compresslevel=1) as file:
        file.write(HEADER.encode())
        for _ in range(300):
            file.write(line.encode() * (2**20 // len(line)))
    assert f"eval.csv.gz is too large: it has more than {most}" in read_with_memory(tmp_path, 100).replace(
        "a line", "it"
    )
