"""What experiments need, what of it is there, and how long the rest takes here."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import get_args

from rich.console import Console
from rich.table import Table

from . import estimate
from .experiments import EXPERIMENTS
from .runs import PlannedRun, State, plan
from .scale import Scale
from .store import Store


def print_status(names: Sequence[str], scale: Scale, out: Path, command: str) -> None:
    """Print what is there, then the time that the rest takes: to measure speeds takes minutes. `command` is the
    command line that trains and renders these experiments."""
    store = Store(out)
    needs = {name: [entry.need for entry in EXPERIMENTS[name].entries(scale)] for name in names}
    for name in names:
        print(f"{name}: {EXPERIMENTS[name].title}")
        if needs[name]:
            print(f"  {_counts(plan(needs[name], store))}", flush=True)
    planned = plan([need for experiment in needs.values() for need in experiment], store)
    speeds = estimate.speeds(planned, out)
    if planned:
        console = Console(width=None if sys.stdout.isatty() else 120, markup=False, highlight=False)
        console.print(_table(planned, speeds))
    print(f"in {out}: {_counts(planned)}")
    if speeds:
        total = estimate.words(estimate.seconds_left(planned, speeds))
        print(f"left: about {total} here ({estimate.machine()}): an estimate from a few steps of each kind of program")
        print("evaluations come on top (on a GPU up to half as much again), and a minute a program to compile it")
    print(f"to {'train what is left and ' if speeds else ''}write the pages: {command}")


def _counts(planned: Sequence[PlannedRun]) -> str:
    counts = {state: sum(run.state == state for run in planned) for state in get_args(State)}
    return ", ".join([f"{len(planned)} programs", *(f"{n} {state}" for state, n in counts.items() if n)])


def _table(planned: Sequence[PlannedRun], speeds: estimate.Speeds) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0))
    for column in ("run", "lanes", "steps", "state", "left"):
        table.add_column(column, justify="left" if column in ("run", "state") else "right", overflow="fold")
    for run in planned:
        cut = f"cut at {run.reached:,}" if run.resumable else "no checkpoint: begins again"
        state = cut if run.state == "cut" else run.state
        time = estimate.words(estimate.seconds_left([run], speeds)) if estimate.kind(run) in speeds else "?"
        table.add_row(run.folder.name, str(run.lanes), f"{run.steps:,}", state, time if run.left else "")
    return table
