"""Measure how fast environments step: the paper's ten tasks, both backends, different numbers of copies, no learning.

    python -m benchmarks.envs --out FILE.json

Actions are uniformly random and drawn beforehand. Episodes that end are reset within the step, as in training. A
missing backend is named and left out.
"""

import argparse
import json
import os
import time
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from benchmarks import machine
from teen import envs
from teen.errors import UserError

TASKS = [
    *(f"{task}-v4" for task in ("HalfCheetah", "Hopper", "Walker2d", "Ant", "Humanoid")),
    *(f"dm_control/{task}" for task in ("cheetah-run", "finger-spin", "fish-swim", "walker-walk", "walker-run")),
]
BACKENDS: tuple[envs.Backend, ...] = ("gymnasium", "envpool")
DRAWN = 256  # ticks of actions drawn beforehand, used in a cycle
WARMUP = 5  # ticks


def steps_per_second(task: str, backend: envs.Backend, count: int, seconds: float) -> float:
    """Return the environment steps per second of all copies together, over about `seconds`."""
    copies = envs.make(task, count, backend)
    try:
        lanes = envs.Lanes(copies, range(count))
        actions = np.random.default_rng(0).uniform(-1, 1, (DRAWN, count, copies.spec.action)).astype(np.float32)
        for action in actions[:WARMUP]:
            lanes.step(action)
        ticks, start = 0, time.perf_counter()
        while (passed := time.perf_counter() - start) < seconds:
            lanes.step(actions[ticks % DRAWN])
            ticks += 1
        return ticks * count / passed
    finally:
        copies.close()


@cache
def say_once(line: str) -> None:
    print(line, flush=True)


def measure(task: str, counts: list[int], seconds: float) -> dict[str, dict[int, float]]:
    """Return steps per second by backend and count. The backends alternate, so that other load slows down both."""
    speeds: dict[str, dict[int, float]] = {backend: {} for backend in BACKENDS}
    for count in counts:
        for backend in BACKENDS:
            try:
                speeds[backend][count] = steps_per_second(task, backend, count, seconds)
            except UserError as error:
                say_once(f"{backend} left out: {error}")
    return {backend: by_count for backend, by_count in speeds.items() if by_count}


def table(rows: list[dict[str, Any]], counts: list[int]) -> Table:
    grid = Table(title="environment steps per second", title_justify="left")
    grid.add_column("task", no_wrap=True)
    for count in counts:
        for heading in (*BACKENDS, "ratio"):
            grid.add_column(f"{heading}\n×{count}", justify="right", no_wrap=True)
    for row in rows:
        speeds = row["steps_per_second"]
        cells = []
        for count in counts:
            pair = [speeds.get(backend, {}).get(count) for backend in BACKENDS]
            cells += [f"{speed:,.0f}" if speed else "–" for speed in pair]
            cells.append(f"{pair[1] / pair[0]:.2f}" if all(pair) else "–")
        grid.add_row(row["task"], *cells)
    return grid


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--tasks", nargs="*", default=TASKS)
    parser.add_argument("--counts", type=int, nargs="*", default=[1, 10, 100], help="copies stepped together")
    parser.add_argument("--seconds", type=float, default=0.7, help="timed window of each cell")
    flags = parser.parse_args()

    result: dict[str, Any] = {"machine": machine.describe(), "seconds": flags.seconds, "tasks": []}
    result["load_before"] = os.getloadavg()[0]  # well above 0: other work shared the cores, and the numbers are too low
    for task in flags.tasks:
        speeds = measure(task, flags.counts, flags.seconds)
        result["tasks"].append({"task": task, "steps_per_second": speeds})
        print(f"  {task}", flush=True)
    Console(width=140).print(table(result["tasks"], flags.counts))
    print(f"the machine's load average before: {result['load_before']:.1f}")
    if flags.out:
        flags.out.write_text(json.dumps(result, indent=2) + "\n")


if __name__ == "__main__":
    main()
