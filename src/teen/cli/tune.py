"""`teen tune`: search for settings with Optuna. Trials are lanes of programs, here or on a cluster."""

from functools import partial
from pathlib import Path
from typing import Any

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
    parser.add_argument("file", type=Path, metavar="FILE.toml", help="what to search: [tune], [settings], [search]")
    parser.add_argument("--out", help="folder or URL of the jobs and the study (default: the file's, or runs/FILE)")
    parser.add_argument("--on", choices=("local", "ray"), default="local", help="where programs run (default local)")
    parser.add_argument("--address", help="of a Ray cluster to join (default: one that starts and stops with this)")
    parser.add_argument("--cores", type=float, help="cores of each program (default 1)")
    parser.add_argument(
        "--gpus", type=float, help="GPUs of each program; a share, such as 0.25, is possible (default 0)"
    )
    parser.add_argument("--retries", type=int, default=3, help="times that a lost program is tried again (default 3)")
    add_trust(parser)
    return parser


def command(arguments: list[str]) -> int:
    flags = parser().parse_args(arguments)
    check_where(flags.on, flags.address)
    if flags.on == "ray":
        cluster.needed()  # before there is a study
    from ..jobs.launch import launch
    from ..jobs.place import place
    from ..tune import file as study_file
    from ..tune.run import tune

    asked = study_file.read(flags.file)
    modules.admit(asked.settings, flags.file, flags.trust)
    where = place(flags.out or asked.out or f"runs/{flags.file.stem}")
    carried_out = partial(
        launch,
        place=where,
        on=flags.on,
        address=flags.address,
        resources=_resources(flags),
        retries=flags.retries,
        trust=flags.trust,
    )
    return tune(asked, where, carried_out)


    return tune(asked, where, launched, most_of(flags.gpus))
