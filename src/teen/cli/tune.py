"""`teen tune`: search for settings with Optuna. Trials are lanes of programs, here or on a cluster."""

from collections.abc import Sequence
from pathlib import Path

from ..jobs import cluster
from ..jobs.planned import PlannedJob
from .parser import Parser, add_trust
from .sweep import admit, for_all, most_of
from .where import add_where, check_where


def parser() -> Parser:
    parser = Parser(
        prog="teen tune",
        description="Search for an algorithm's settings, as a file says. The same command goes on after a stop.",
    )
    parser.add_argument("file", type=Path, metavar="FILE.toml", help="[tune], [settings] and [search]: docs/scale.md")
    parser.add_argument("--out", metavar="PLACE", help="folder or URL of all jobs (default the file's, or runs/FILE)")
    add_where(parser)
    add_trust(parser)
    return parser


def command(arguments: list[str]) -> int:
    flags = parser().parse_args(arguments)
    check_where(flags.on, flags.address, flags.cores)
    if flags.on == "ray":
        cluster.needed()  # before there is a study
    from ..jobs.launch import launch
    from ..jobs.place import place
    from ..tune import file as study_file
    from ..tune.run import tune

    asked = study_file.read(flags.file)
    admit([asked.settings], flags.file, flags.trust)
    where = place(flags.out or asked.out or f"runs/{flags.file.stem}")
    given = flags.on == "ray" or flags.gpus is not None

    def launched(jobs: Sequence[PlannedJob]) -> int:
        resources = for_all(jobs, flags.cores, flags.gpus) if given else None  # as the machine is
        to = {"on": flags.on, "address": flags.address, "retries": flags.retries, "trust": flags.trust}
        return launch(jobs, where, resources=resources, **to)

    return tune(asked, where, launched, most_of(flags.gpus))
