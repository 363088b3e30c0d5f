"""What experiments need, what of it is there, and how long the rest takes."""

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import get_args

from rich.console import Console
from rich.table import Table

from . import estimate, recorded
from .estimate import Speeds
from .experiments import EXPERIMENTS
from .runs import PlannedRun, State, plan
from .scale import Scale
from .store import Store

HERE = "here"  # the column of this machine, as it was measured


def print_status(names: Sequence[str], scale: Scale, out: Path, command: str, measure: bool = False) -> None:
    """Print what is there, then the time that the rest takes: by recorded speeds, or by those of this machine, which
    takes minutes to measure. `command` is the command line that trains and renders these experiments."""
    store = Store(out)
    needs = {name: [entry.need for entry in EXPERIMENTS[name].entries(scale)] for name in names}
    for name in names:
        print(f"{name}: {EXPERIMENTS[name].title}")
        if needs[name]:
            print(f"  {_counts(plan(needs[name], store))}", flush=True)
    planned = plan([need for experiment in needs.values() for need in experiment], store)
    speeds = {HERE: estimate.speeds(planned, out)} if measure else recorded.speeds(planned)
    known = {column: kinds for column, kinds in speeds.items() if kinds}
    if planned:
        console = Console(width=None if sys.stdout.isatty() else 120, markup=False, highlight=False)
        console.print(_table(planned, known))
    print(f"in {out}: {_counts(planned)}")
    left = any(run.left for run in planned)
    for line in _times(planned, known, scale) if left else ():
        print(line)
    print(f"to {'train what is left and ' if left else ''}write the pages: {command}")


def _counts(planned: Sequence[PlannedRun]) -> str:
    counts = {state: sum(run.state == state for run in planned) for state in get_args(State)}
    return ", ".join([f"{len(planned)} programs", *(f"{n} {state}" for state, n in counts.items() if n)])


def _times(planned: Sequence[PlannedRun], speeds: Mapping[str, Speeds], scale: Scale) -> list[str]:
    """Return what the rest takes in all, and what that rests on."""
    totals = {column: estimate.words(estimate.seconds_left(planned, kinds)) for column, kinds in speeds.items()}
    if HERE in totals:
        return [
            f"left: about {totals[HERE]} here ({estimate.machine()})",
            "an estimate from a few steps of each kind of program; a minute a program to compile it comes on top, and "
            "evaluations, on a GPU up to half as much again",
        ]
    if totals:
        machines = recorded.machines()
        return [
            "left: " + ", ".join(f"about {total} on {machines[name].words}" for name, total in totals.items()),
            "by speeds recorded there; a minute a program to compile it comes on top, and on 2 cores evaluations",
            "--measure measures this machine instead, a few steps of each kind of program: minutes",
        ]
    return ["left: some seconds a program, most of them to compile it"] if scale.smoke else []


def _table(planned: Sequence[PlannedRun], speeds: Mapping[str, Speeds]) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0))
    for column in ("run", "lanes", "steps", "state", *(f"left, {name}" for name in speeds)):
        table.add_column(column, justify="left" if column in ("run", "state") else "right", overflow="fold")
    for run in planned:
        cut = f"cut at {run.reached:,}" if run.resumable else "no checkpoint: begins again"
        state = cut if run.state == "cut" else run.state
        times = [
            estimate.words(estimate.seconds_left([run], kinds)) if estimate.kind(run) in kinds else "?"
            for kinds in speeds.values()
        ]
        table.add_row(run.folder.name, str(run.lanes), f"{run.steps:,}", state, *(t if run.left else "" for t in times))
    return table
