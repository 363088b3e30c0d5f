"""What a run's circumstances were: timing.csv says how long it took, machine.json where it ran and what began it.

They differ from run to run. Nothing compares them, nothing needs them: what is wrong with one of them keeps no run from
going on. All other files of a run are the same whenever it is repeated.
"""

import json
import re
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO

from . import files, logs
from .parsing import json_of

TIMING, MACHINE = "timing.csv", "machine.json"
NAMES = (TIMING, MACHINE)
COLUMNS = ("step", "seconds", "steps_per_second")
LONGEST_LINE = 200  # bytes
MOST_STARTS = 100  # that are kept, the newest ones
LARGEST_MACHINE = 2**20  # bytes; each start has a thousand


def log_timing(folder: Path, step: int, seconds: float, rate: float) -> None:
    logs.append(folder, TIMING, [(step, f"{seconds:.3f}", f"{rate:.6g}")], COLUMNS)


def cut_timing(folder: Path, step: int) -> float:
    """Keep the rows up to this step, where a run goes on, and return the seconds of the last one. A row that is damaged
    ends them; whatever is no file is replaced."""
    try:
        with open(folder / TIMING, "r+b", opener=files.regular) as file:
            end, seconds = _whole(file, step)
            file.truncate(end)
    except FileNotFoundError:
        return 0.0
    except OSError:  # a link, a pipe, a folder, or not to be read
        files.remove(folder / TIMING)
        return 0.0
    return seconds


def _whole(file: BinaryIO, last: int) -> tuple[int, float]:
    """Return where the rows up to this step end, and the seconds of the last. Lines are read one at a time."""
    if file.readline(LONGEST_LINE) != logs.csv_text([COLUMNS]).encode():
        return 0, 0.0
    end, step, seconds = file.tell(), 0, 0.0
    while match := re.fullmatch(rb"(\d{1,16}),(\d{1,12}\.\d{3}),([0-9.e+-]{1,20})\n", file.readline(LONGEST_LINE)):
        if not step < int(match[1]) <= last or float(match[2]) < seconds:
            break
        end, step, seconds = file.tell(), int(match[1]), float(match[2])
    return end, seconds


def log_start(folder: Path, facts: Mapping[str, Any]) -> None:
    """Add the facts of a start or a resume to machine.json, after those of earlier ones where these can be read."""
    starts: Any = []
    with suppress(OSError, ValueError):
        starts = json_of(files.read(folder, MACHINE, LARGEST_MACHINE))
    earlier = starts[1 - MOST_STARTS :] if isinstance(starts, list) else []
    if (folder / MACHINE).is_dir():
        files.remove(folder / MACHINE)
    try:
        text = json.dumps([*earlier, facts], indent=1)
    except RecursionError:  # a stranger's, nested so deeply that it can be read but not written
        text = json.dumps([facts], indent=1)
    files.write_atomically(folder / MACHINE, f"{text}\n".encode())
