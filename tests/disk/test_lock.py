"""The lock of a run folder."""

import os
import shutil
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from teen.disk.lock import holder, locked
from teen.errors import InUse, StorageFault, UserError


def test_one_process_at_a_time(tmp_path):
    with locked(tmp_path / "run"):
        assert holder(tmp_path / "run") == str(os.getpid())
        with pytest.raises(InUse, match=f"in use by process {os.getpid()}"), locked(tmp_path / "run"):
            pass
        assert holder(tmp_path / "run")
    assert not holder(tmp_path / "run")
    assert not (tmp_path / "run" / "lock").exists()


def fifo(path: Path) -> None:
    os.mkfifo(path)


def unix_socket(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(path))


def link(path: Path) -> None:
    path.with_name("elsewhere").write_text("untouched")
    path.symlink_to("elsewhere")


@pytest.mark.parametrize("make", [fifo, unix_socket, link, Path.mkdir])
def test_what_is_not_a_regular_file_is_no_lock_and_does_not_block(tmp_path, make):
    """An open FIFO without a writer would wait for one, for ever."""
    make(tmp_path / "lock")
    assert holder(tmp_path) == ""
    with pytest.raises(UserError, match=str(tmp_path)), locked(tmp_path):
        pass
    assert os.path.lexists(tmp_path / "lock")
    assert not (tmp_path / "elsewhere").exists() or (tmp_path / "elsewhere").read_text() == "untouched"


def test_a_lock_may_say_anything(tmp_path):
    with locked(tmp_path):
        (tmp_path / "lock").write_bytes(b"\x1b[31m\xff\n")
        assert holder(tmp_path) == "unknown"


FORK = """
import os, signal, sys, time
from pathlib import Path
from teen.disk.lock import locked
with locked(Path(sys.argv[1])):
    child = os.fork()
    if not child:
        os.close(1)  # or its reader would wait for us
        time.sleep(60)
        os._exit(0)
    print(child, flush=True)
    os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_forked_process_does_not_inherit_the_lock(tmp_path):
    program = subprocess.run([sys.executable, "-c", FORK, str(tmp_path)], stdout=subprocess.PIPE, text=True)
    child = int(program.stdout)
    try:
        assert program.returncode == -signal.SIGKILL
        os.kill(child, 0)  # it is alive
        assert holder(tmp_path) == ""
        with locked(tmp_path):
            pass
    finally:
        os.kill(child, signal.SIGKILL)


UNWIND = FORK.replace(
    "os.close(1)  # or its reader would wait for us\n        time.sleep(60)\n        os._exit(0)", "sys.exit(0)"
).replace("os.kill(os.getpid(), signal.SIGKILL)", "os.waitpid(child, 0); print(os.listdir(sys.argv[1]))")


def test_a_forked_process_that_ends_leaves_the_lock_alone(tmp_path):
    program = subprocess.run(
        [sys.executable, "-c", UNWIND, str(tmp_path)], stdout=subprocess.PIPE, text=True, check=True
    )
    assert program.stdout.splitlines()[-1] == "['lock']"


def move(folder: Path) -> None:
    folder.rename(folder.with_name("moved"))


def replace(folder: Path) -> None:
    move(folder)
    folder.mkdir()
    (folder / "lock").write_text("1\n")


def unlock(folder: Path) -> None:
    (folder / "lock").unlink()


@pytest.mark.parametrize("change", [move, replace, unlock, shutil.rmtree])
def test_a_folder_that_is_no_longer_the_locked_one_is_noticed(tmp_path, change):
    with locked(tmp_path / "run") as lock:
        lock.check()
        change(tmp_path / "run")
        with pytest.raises(StorageFault, match="no longer the folder that this run locked"):
            lock.check()
    if change is replace:
        assert (tmp_path / "run" / "lock").read_text() == "1\n"  # another run's
