"""Standard streams that are closed, full, or lack a character."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

TRAIN = (
    "train --algo td3 --env tests.toys:PointMass-v0 --width 8 --batch 16 --steps 40 --warmup 20 --eval-every 20 "
    "--eval-episodes 1 --log-every 20"
)


def shell(command: str, folder: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run a command line of bash with `teen` in it; its status is that of the first command of a pipe."""
    environment = {**os.environ, "PYTHONPATH": "src", "OUT": str(folder), "TRAIN": TRAIN, **variables}
    program = f'teen() {{ "{sys.executable}" -m teen "$@"; }}; {command}; exit ${{PIPESTATUS[0]}}'
    return subprocess.run(["bash", "-c", program], env=environment, capture_output=True, text=True, timeout=300)


RARER = [pytest.param(streams, marks=pytest.mark.full) for streams in (">&-", "2>&-", "2> /dev/full", "2>&1 | true")]


@pytest.mark.parametrize("streams", ["| head -1", ">&- 2>&- <&-", "> /dev/full", *RARER])
def test_training_goes_on_without_a_display_and_saves(tmp_path, streams):
    done = shell(f"teen $TRAIN --out $OUT/run {streams}", tmp_path)
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stdout + done.stderr
    assert (tmp_path / "run" / "agent" / "agent.json").exists()
    assert (tmp_path / "run" / "eval.csv").read_text().count("\n") > 1


def test_a_fault_is_told_by_the_exit_code_whoever_listens(tmp_path):
    assert shell("teen train --env NoSuch-v9 2>&-", tmp_path).returncode == 2
    assert shell("teen train --env NoSuch-v9 >&- 2>&-", tmp_path).returncode == 2


def test_a_table_that_nobody_reads_is_not_a_success(tmp_path, trained):
    """A closed pipe is the reader's wish; a full disk is not."""
    piped = shell(f"teen compare {trained} | true", tmp_path)
    assert (piped.returncode, piped.stderr) == (128 + 13, "")
    closed = shell(f"teen compare {trained} >&-", tmp_path)
    assert (closed.returncode, closed.stderr) == (5, "teen: standard output cannot be written: Bad file descriptor\n")
    full = shell(f"teen compare {trained} > /dev/full", tmp_path)
    assert full.returncode == 5
    assert full.stderr == "teen: standard output cannot be written: No space left on device\n"


def test_a_terminal_without_unicode_gets_the_table(tmp_path, trained):
    done = shell(f"teen eval {trained} --episodes 2 --trust tests.toys", tmp_path, PYTHONIOENCODING="ascii")
    assert done.returncode == 0, done.stderr
    assert done.stdout.isascii()
    assert "over 2 seeds" in done.stdout
