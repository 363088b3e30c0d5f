"""What experiments need, what of it is there, and how long the rest takes here."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import get_args

from rich.console import Console
from rich.table import Table

from . import estimate
from .experiments import EXPERIMENTS
from .runs import Program, State, of_store
from .scale import Scale
from .store import Store


def show(names: Sequence[str], scale: Scale, out: Path, command: str) -> None:
    """`command` is what trains and draws them. What is there is said at once: to measure speeds takes minutes."""
    store = Store(out)
    needs = {name: [entry.need for entry in EXPERIMENTS[name].entries(scale)] for name in names}
    for name, own in needs.items():
        print(f"{name}: {EXPERIMENTS[name].title}")
        if own:
            print(f"  {_states(of_store(own, store))}", flush=True)
    found = of_store([need for own in needs.values() for need in own], store)
    speeds = estimate.speeds(found, out)
    if found:
        Console(width=None if sys.stdout.isatty() else 120, markup=False, highlight=False).print(_table(found, speeds))
    print(f"in {out}: {_states(found)}")
    if speeds:
        total = estimate.words(estimate.left(found, speeds))
        print(f"left: about {total} here ({estimate.machine()}): an estimate from a few steps of each kind of program")
        print(
            "evaluations come on top, which on a GPU may add half as much again, and a minute a program to compile it"
        )
    print(f"to {'train what is left and ' if speeds else ''}draw: {command}")


def _states(found: Sequence[Program]) -> str:
    counts = {state: sum(program.state == state for program in found) for state in get_args(State)}
    return ", ".join([f"{len(found)} programs", *(f"{n} {state}" for state, n in counts.items() if n)])


def _table(found: Sequence[Program], speeds: estimate.Speeds) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0))
    for column in ("run", "lanes", "steps", "state", "left"):
        table.add_column(column, justify="left" if column in ("run", "state") else "right", overflow="fold")
    for program in found:
        cut = f"cut at {program.reached:,}" if program.resumable else "no checkpoint: begins again"
        state = cut if program.state == "cut" else program.state
        known = program.left and estimate.kind(program) in speeds
        left = estimate.words(estimate.left([program], speeds)) if known else "?" if program.left else ""
        table.add_row(program.folder.name, str(program.lanes), f"{program.steps:,}", state, left)
    return table
