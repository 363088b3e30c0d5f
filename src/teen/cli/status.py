"""`teen status`: how far every job of a sweep, a study or the paper is."""

import json
import os

from rich.table import Table

from ..disk.jobs import LEDGER, JobState
from ..errors import UserError
from ..jobs.place import Folder, place
from ..jobs.states import states
from ..report.job_listing import LAST, counts, last_lines, left, progress
from ..report.terminal import say, show
from .parser import Parser

FAILURES = 5  # whose last lines are shown beside the table of all jobs


def parser() -> Parser:
    parser = Parser(prog="teen status", description="How far every job is: waiting, running, stopped, done or failed.")
    parser.add_argument("place", metavar="DIR", help="the folder of the jobs, or its URL")
    parser.add_argument("--failed", action="store_true", help="only those that failed, with more of their errors")
    parser.add_argument("--json", action="store_true", help="as JSON, for other programs")
    return parser


def command(arguments: list[str]) -> int:
    flags = parser().parse_args(arguments)
    where = place(flags.place)
    if isinstance(where, Folder) and not os.path.isdir(where.root):
        raise UserError(f"{where} is not a folder")
    jobs = states(where)
    if not jobs:
        raise UserError(f"{where} holds no jobs: there is neither {LEDGER} nor a run")
    chosen = [job for job in jobs if job.state == "failed"] if flags.failed else jobs
    if flags.json:
        print(json.dumps([job._asdict() for job in chosen], indent=1))
        return 0
    if LEDGER not in where.names(""):
        say(f"{where} has no {LEDGER}: these are the runs that were found there")
    if chosen and not flags.failed:
        show(_table(chosen))
    failed = [job for job in jobs if job.state == "failed"]
    for job in failed if flags.failed else failed[:FAILURES]:
        say(f"{job.name} failed:")
        for line in last_lines(job, 20 if flags.failed else LAST):
            say(f"  {line}")
    if not flags.failed and len(failed) > FAILURES:
        say(f"and {len(failed) - FAILURES} more: teen status {where} --failed")
    say(counts(jobs))
    return 0


def _table(jobs: list[JobState]) -> Table:
    table = Table()
    table.add_column("job", overflow="fold")
    for column in ("state", "step", "left"):
        table.add_column(column, justify="left" if column == "state" else "right", no_wrap=True)
    for job in jobs:
        table.add_row(job.name, job.state, progress(job), left(job))
    return table
