"""How fast programs ran side by side on one GPU, as docs/scale.md says."""

import csv
import gzip
import json

from .logs import ROOT
from .pages import flat
from .runs import ALL_TASKS, FIRST, HALF_MILLION, PAPER, SECOND

TEXT = flat((ROOT / "docs" / "scale.md").read_text())


def times(run):
    """Return the second of training at which a run came to each step."""
    with gzip.open(ROOT / "results" / run / "timing.csv.gz", "rt") as lines:
        return {int(row["step"]): float(row["seconds"]) for row in csv.DictReader(lines)}


def test_five_and_seven_programs():
    """Steps per second from step 60,000 on, when everything is compiled."""
    for part, said in ((SECOND, "ran at {} to {} steps a second each,"), (FIRST, "lanes at {} to {}.")):
        speeds = []
        for file in (ROOT / "results" / part).rglob("timing.csv.gz"):
            at = times(file.parent)
            speeds.append((max(at) - 60_000) / (at[max(at)] - at[60_000]))
        assert said.format(round(min(speeds)), round(max(speeds))) in TEXT


def test_nine_programs():
    runs = [run for task in HALF_MILLION for some in ALL_TASKS[task].values() for run in some if run.startswith(PAPER)]
    minutes = {run: times(run)[500_000] / 60 for run in runs}
    assert len(minutes) == 12  # α = 0.2 and 0 are one program
    assert f"came to 500,000 steps in {min(minutes.values()):.0f} to {max(minutes.values()):.0f} minutes" in TEXT
    assert "teen-Ant-v4" in max(minutes, key=minutes.get)
    measured = json.loads((ROOT / "benchmarks/results/h200/side_by_side.json").read_text())
    gpu, cores = (round(100 * measured["busy"][what]) for what in ("gpu", "cores"))
    assert f"with the GPU {gpu} % and the cores {cores} % busy" in TEXT
    used = [(name, program) for look in measured["cores_used"] for name, program in look["programs"].items()]
    busiest = max(max(program["busiest_threads"]) for _, program in used)
    assert f"No thread used more than {busiest} of a core" in TEXT
    assert f"up to {max(program['cores'] for name, program in used if name == 'teen-Ant-v4'):.1f} cores" in TEXT
