"""`teen fetch`: bring the runs of jobs at a URL into a folder."""

from pathlib import Path

from ..errors import UserError
from ..jobs.fetch import Fetched, fetch
from ..jobs.place import place
from ..report.terminal import say
from .parser import Parser


def parser() -> Parser:
    parser = Parser(prog="teen fetch", description="Bring the runs of jobs at a URL here, to compare and report them.")
    parser.add_argument("url", metavar="URL", help="where the jobs are, as --out of teen sweep named it")
    parser.add_argument("--out", type=Path, required=True, help="a new folder, or one of an earlier fetch, to renew it")
    parser.add_argument("--whole", action="store_true", help="with checkpoints and replays, which are most of it")
    return parser


def command(arguments: list[str]) -> int:
    flags = parser().parse_args(arguments)
    where = place(flags.url)
    from ..jobs.remote import Remote  # after `place`, which says so where fsspec is missing

    if not isinstance(where, Remote):
        raise UserError(f"{flags.url} is no URL: a folder needs no fetching, teen report reads it where it is")
    told: list[Fetched] = []

    def tell(job: Fetched) -> None:
        told.append(job)
        step = (
            "nothing was uploaded yet" if job.step is None else f"step {job.step:,}{'' if job.new else ', as before'}"
        )
        say(f"{job.name}: {step}")

    fetch(where, flags.out, flags.whole, tell)
    there = sum(job.step is not None for job in told)
    say(f"{there} of {len(told)} jobs are in {flags.out}; teen report {flags.out} --out report shows them")
    return 0
