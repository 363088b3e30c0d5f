"""A row of the table that `make bench` prints: what is measured, its bar and its aim.

Every row has a script of its own: `python -m benchmarks.NAME --out FILE.json`.
"""

import argparse
import importlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks import machine

GPU, FEW_CORES, ANY = "H200, 16 cores", "2 cores", "any"


class Row(NamedTuple):
    name: str  # of its script
    on: str
    measure: str
    unit: str
    bar: float | None = None
    aim: float | None = None
    lower_is_better: bool = True

    def passed(self, value: float) -> bool | None:
        if self.bar is None:
            return None
        return value <= self.bar if self.lower_is_better else value >= self.bar


ROWS = [
    Row("td3_loop", GPU, "TD3, 10 lanes, HalfCheetah-v4, whole loop without evaluation", "µs a step", 450, 330),
    Row("td3_loop.ratio", GPU, "the same over the larger of update and simulators alone", "×", 1.5, 1.2),
    Row("teen_loop", GPU, "TEEN, 10 lanes, HalfCheetah-v4, whole loop with evaluation", "µs a step", 820, 740),
    Row("teen_loop.ratio", GPU, "the same over the update alone", "×", 1.15, 1.05),
    Row("teen_loop.share", GPU, "evaluation's share of that loop", "%", 10),
    Row("teen_loop.ant", GPU, "TEEN, 10 lanes, Ant-v4, whole loop without evaluation", "µs a step", 1000, 850),
    Row("teen_loop.ant_ratio", GPU, "the same over the larger of update and simulators alone", "×", 1.35, 1.15),
    Row("teen_loop.ant_share", GPU, "evaluation's share of the loop on Ant-v4", "%", 25),
    Row("many_lanes", GPU, "TEEN, 40 lanes, Walker2d-v4, whole loop over update alone", "×", 1.1, 1.03),
    Row("teen_update", GPU, "TEEN update alone, 10 lanes, all actors", "µs", 500, 300),
    Row("td3_peers", FEW_CORES, "TD3 end to end, one seed, HalfCheetah-v5, against SBX", "×", 1.5, 2.5, False),
    Row("td3_peers.sb3", FEW_CORES, "the same against Stable-Baselines3", "×", 1.8, 2.5, False),
    Row("sac_peers", FEW_CORES, "SAC end to end, one seed, HalfCheetah-v5, against SBX", "×", 1.5, 2.5, False),
    Row("sac_peers.sb3", FEW_CORES, "the same against Stable-Baselines3", "×", 1.8, 2.5, False),
    Row("processes", FEW_CORES, "TD3, a process of one seed on each core, over the best of one program", "×"),
    Row("processes.free", FEW_CORES, "the same where the system may move the processes", "×"),
    Row("update_share", FEW_CORES, "TEEN update, GFLOP/s over the large matrix product", "%", 50, 75, False),
    Row("predict", FEW_CORES, "TD3, action for one observation, over Stable-Baselines3's time", "×", 1),
    Row("predict.teen", FEW_CORES, "the same for TEEN, ten members", "×", 1),
    Row("memory", ANY, "memory of a 10-lane TEEN run over its replay and parameters", "×", 1.3, 1.1),
    Row(
        "checkpoint",
        ANY,
        "time for which a checkpoint holds up a 10-lane TEEN run, of 25,000 steps between two",
        "%",
        2,
    ),
    Row("checkpoint.write", ANY, "the same until it is on disk; training goes on meanwhile", "%"),
    Row(
        "launcher", ANY, "a job of `teen sweep --on ray` that only writes its markers, beyond Ray's own time", "ms", 50
    ),
    Row("launcher.ray", ANY, "an empty task of Ray's in a process of its own", "ms"),
    Row("scaling", ANY, "TEEN update against members and lanes: 10 lanes of N=10 (all: in the file)", "µs"),
]


def main(script: str, measure: Callable[[], dict[str, Any]]) -> None:
    """Run one row. `measure` returns `values` by the names of rows, and what else the result should keep."""
    name = Path(script).stem
    parser = argparse.ArgumentParser(description=importlib.import_module(f"benchmarks.{name}").__doc__)
    parser.add_argument("--out", type=Path)
    flags = parser.parse_args()
    result = {"machine": machine.describe(), **measure()}
    for row in ROWS:
        if row.name in result["values"]:
            print(line(row, result["values"][row.name]), flush=True)
    if flags.out:
        flags.out.write_text(json.dumps(result, indent=2) + "\n")


def line(row: Row, value: float) -> str:
    verdict = {True: "reached", False: "not reached", None: "no bar"}[row.passed(value)]
    bar = "–" if row.bar is None else f"{row.bar:g}"
    aim = "–" if row.aim is None else f"{row.aim:g}"
    return f"{row.measure}: {value:.3g} {row.unit} (bar {bar}, aim {aim}: {verdict})"
