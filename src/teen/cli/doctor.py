"""`teen doctor`: what works on this machine, and what to do about the rest."""

from collections.abc import Sequence

from ..doctor.checkup import CHECKS, examine, trains
from ..doctor.finding import Finding
from .parser import Parser

COLOURS = {"ok": "green", "warning": "yellow", "failure": "bold red", "not installed": "dim"}
CANNOT_TRAIN = 2


def parser() -> Parser:
    return Parser(
        prog="teen doctor",
        description="Check packages, devices, simulators, drawing and the current folder, and train for a moment. "
        "Exit code 0 if `make train` would work here, otherwise 2.",
    )


def command(arguments: list[str]) -> int:
    parser().parse_args(arguments)
    findings = _examined()
    _show(findings)
    if trains(findings):
        print("make train works here")
        return 0
    print("make train does not work here: begin with the first failure")
    return CANNOT_TRAIN


def _examined() -> list[Finding]:
    """Check everything. It takes a while: a terminal shows what is being checked."""
    try:
        from rich.console import Console
    except Exception:  # rich itself may be what is broken
        return examine(CHECKS)
    names = list(CHECKS)
    with Console(stderr=True).status("") as line:
        return examine(CHECKS, lambda name: line.update(f"checking {name} ({names.index(name) + 1} of {len(names)})"))


def _show(findings: Sequence[Finding]) -> None:
    try:
        from rich.table import Table
        from rich.text import Text

        from ..report.terminal import show
    except Exception:  # as above
        for finding in findings:
            print(f"{finding.name}: {finding.state}: {finding.text}{finding.remedy and f' -> {finding.remedy}'}")
        return
    table = Table(box=None, padding=(0, 2, 0, 0), show_header=False)
    for _ in range(2):
        table.add_column(no_wrap=True)
    table.add_column()
    for finding in findings:
        said = Text(f"{finding.text}\n-> {finding.remedy}" if finding.remedy else finding.text)
        table.add_row(finding.name, Text(finding.state, COLOURS[finding.state]), said)
    show(table)
