"""`teen sweep`: train every combination of a grid or a list, as lanes where that is possible and as jobs otherwise."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ..config import modules
from ..config.job import Job, resolve
from ..config.modules import Trust
from ..envs import arguments as env_arguments
from ..errors import UserError, notice
from ..jobs import packing, sweep_file, tasks
from ..jobs.packing import ANYWHERE, ON_CPU, ON_GPU, Most
from ..jobs.plan import plan
from ..jobs.planned import PlannedJob, Resources
from ..jobs.sweep_file import Sweep
from ..report.terminal import say
from .parser import Parser, add_trust
from .where import Gpus, add_where, check_where

LENGTHY = 2_000  # combinations, whose planning takes more than a few seconds


def parser() -> Parser:
    parser = Parser(prog="teen sweep", description="Train a grid or a list of settings, here or on a cluster.")
    parser.add_argument("file", type=Path, metavar="FILE.toml", help="settings, grid and list: see docs/scale.md")
    parser.add_argument("--out", metavar="PLACE", help="folder or URL of all jobs (default the file's, or runs/FILE)")
    parser.add_argument("--dry-run", action="store_true", help="print the jobs, and train nothing")
    add_where(parser)
    add_trust(parser)
    return parser


def command(arguments: list[str]) -> int:
    flags = parser().parse_args(arguments)
    check_where(flags.on, flags.address, flags.cores)
    sweep = sweep_file.read(flags.file)
    try:
        jobs = planned(sweep, flags.file, flags.trust, most_of(flags.gpus))
    except UserError as error:
        raise UserError(f"sweep file {flags.file}: {error}") from None
    out = flags.out or sweep.out or f"runs/{flags.file.stem}"
    if flags.dry_run:
        show(jobs, out)
        return 0
    from ..jobs.launch import launch
    from ..jobs.place import place

    given = flags.on == "ray" or flags.gpus is not None
    resources = for_all(jobs, flags.cores, flags.gpus) if given else None  # as the machine is
    return launch(
        jobs,
        place(out),
        on=flags.on,
        address=flags.address,
        resources=resources,
        retries=flags.retries,
        trust=flags.trust,
    )


def planned(sweep: Sweep, file: Path, trust: Trust, most: Most = ANYWHERE) -> list[PlannedJob]:
    """Return the jobs of a sweep. Whatever is wrong with its settings or tasks is a UserError."""
    combinations = list(sweep.combinations())
    if len(combinations) > LENGTHY:
        notice(f"planning {len(combinations):,} combinations")
    admit(combinations, file, trust)

    def most_lanes(job: Job) -> int:
        spec = tasks.spec(job)
        return sweep.lanes or packing.lanes_per_job(job, spec, most)

    return plan(combinations, most_lanes, sweep.varied, sweep.seeds_per_job)


def most_of(gpus: Gpus) -> Most:
    return ANYWHERE if gpus is None else ON_GPU if gpus else ON_CPU


def admit(combinations: Sequence[dict[str, Any]], file: Path, trust: Trust) -> None:
    """Import the modules that are named, where they are trusted: a file may be a stranger's."""
    seen: set[str] = set()
    for settings in combinations:
        named = {name: value for name, value in settings.items() if name in ("algo", "env", "env_kwargs", "from_")}
        if repr(named) in seen:
            continue
        seen.add(repr(named))
        env, more = named.get("env"), named.pop("env_kwargs", None)
        if isinstance(env, str) and isinstance(more, dict):
            named = {**named, "env": env_arguments.joined(env, more)}
        modules.admit(named, file, trust)
        if str(named.get("from_", "")).startswith("hf:"):
            raise UserError(f"from_ is an agent on the Hub, {named['from_']}: download it, and name its folder")


def for_all(jobs: Sequence[PlannedJob], cores: float | None, gpus: Gpus) -> Resources:
    """Return what every job gets: as much as the largest takes."""
    resolved = [resolve(job.settings) for job in packing.largest(jobs)]
    if gpus == "auto":
        memory = packing.gpu_memory()
        gpus = 1 / min(packing.jobs_per_gpu(job, tasks.spec(job), memory) for job in resolved)
    each = [packing.resources(job, tasks.spec(job), cores, gpus) for job in resolved]
    return max(each, key=lambda one: one.memory)


def show(jobs: Sequence[PlannedJob], out: str) -> None:
    """Print the plan: one line a job, and sums."""
    say(f"{'lanes':>6} {'steps':>13}  job")
    for job in jobs:
        say(f"{job.lanes:>6,} {job.settings['steps']:>13,}  {job.name}")
    lanes = sum(job.lanes for job in jobs)
    steps = sum(job.lanes * job.settings["steps"] for job in jobs)
    say(f"{len(jobs):,} job{'s'[: len(jobs) != 1]}, {lanes:,} lanes, {steps:,} environment steps, in {out}")
