"""Estimates of training times from recorded speeds: nothing is trained, and no device is started.

A step of all lanes takes about base(lanes × members) · times(algorithm) · times(task) · times(changed settings). Every
factor is a measurement in `speeds.toml`, or one of another machine that stands in for it, as is said there. Several
updates a step, as `--preset tuned` has, take as many times as long: too much where collecting takes part of the time.
"""

import math
import tomllib
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import NamedTuple

import numpy as np

from ..settings import number_text
from .estimate import Speeds, kind
from .needs import Need
from .numbers import task
from .runs import PlannedRun


class Machine(NamedTuple):
    words: str  # which one it is
    steps: Sequence[tuple[float, float]]  # agents, which are lanes × members, ascending; milliseconds of a step of all
    times: Mapping[str, float]  # how many times as long by algorithm, task or setting; 1 where none is given


def speeds(plan: Sequence[PlannedRun]) -> dict[str, Speeds]:
    """Return the seconds that a step of each kind takes, by machine. Smoke tests have none: they only compile."""
    todo = {kind(planned): planned for planned in plan if planned.left and not planned.program.smoke}
    sizes = {name: _size(planned) for name, planned in todo.items()}
    return {
        column: {name: _seconds(*sizes[name], planned.program, machine) for name, planned in todo.items()}
        for column, machine in machines().items()
    }


@cache
def machines() -> dict[str, Machine]:
    """Return the machines with recorded speeds, by a short name."""
    tables = tomllib.loads(files(__package__).joinpath("speeds.toml").read_text())
    return {name: Machine(table["machine"], table["steps"], table["times"]) for name, table in tables.items()}


def _size(planned: PlannedRun) -> tuple[int, int]:
    """Return lanes × members, where a single policy is one member, and the updates of a step."""
    job = planned.job()
    return planned.lanes * max(job.algorithm.size(job.variants[0].config), 1), job.settings.plan.utd


def _seconds(agents: int, updates: int, program: Need, machine: Machine) -> float:
    measured, ms = zip(*machine.steps, strict=True)
    beyond = max(agents / measured[-1], 1.0)  # more agents than were measured take proportionally longer
    changes = [f"{name}={number_text(value)}" for name, value in program.changes]
    times = [machine.times.get(name, 1.0) for name in (program.algo, task(program.env), *changes)]
    return float(np.interp(agents, measured, ms) * beyond * updates * math.prod(times) / 1000)
