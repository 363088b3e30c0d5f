"""From combinations of settings to jobs: what can be lanes of one program becomes lanes, the rest becomes jobs."""

import json
import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, NamedTuple, TypeVar

from ..config import variants
from ..config.job import Job, parse_seeds, resolve
from ..config.run import RunSettings
from ..errors import UserError
from ..settings import Leaf, checked, flat, leaves
from .naming import job_name
from .planned import PlannedJob
from .sweep_file import MOST_JOBS

MOST_LANES = 1_000_000  # of all jobs; more are a typing error

T = TypeVar("T")
Numbers = tuple[float, ...]  # the per-lane numbers of a variant
Seeds = tuple[int, ...]


class Program(NamedTuple):
    """All combinations that differ in nothing but seeds and per-lane numbers."""

    fixed: dict[str, Any]  # what they have in common, as flat settings
    job: Job  # one lane of it
    names: list[str]  # of the per-lane numbers
    blocks: dict[Seeds, list[Numbers]]  # variants by the seeds that they need
    seen: dict[Numbers, set[int]]

    def add(self, numbers: Numbers, seeds: Seeds) -> None:
        """Add a variant's lanes that are not there yet."""
        seen = self.seen.setdefault(numbers, set())
        if new := tuple(seed for seed in seeds if seed not in seen):
            seen.update(new)
            self.blocks.setdefault(new, []).append(numbers)


def plan(
    combinations: Iterable[Mapping[str, Any]],
    most_lanes: Callable[[Job], int],
    shown: Collection[str] = (),
    seeds_per_job: int | None = None,
) -> list[PlannedJob]:
    """Return the jobs that train all combinations, each lane once, in the order in which they are first named. A wrong
    setting is a UserError. `most_lanes` says how many lanes a job like this one may have; names show the settings in
    `shown`."""
    parts = list(islice(_parts(_programs(combinations), most_lanes, seeds_per_job), MOST_JOBS + 1))
    if len(parts) > MOST_JOBS:
        raise UserError(f"these are more than {MOST_JOBS:,} jobs: take more lanes or seeds per job")
    jobs: dict[str, PlannedJob] = {}
    for part in parts:
        planned = _planned(*part, shown)
        if planned.name in jobs:  # one in four thousand million, and only where names show no difference
            raise UserError(f"two jobs have the name {planned.name}: change a setting of one of them a little")
        jobs[planned.name] = planned
    return list(jobs.values())


def _parts(
    programs: Iterable[Program], most_lanes: Callable[[Job], int], seeds_per_job: int | None
) -> Iterator[tuple[Program, Seeds, Sequence[Numbers]]]:
    """Yield the seeds and variants of every job."""
    for program in programs:
        lanes = most_lanes(program.job)
        for seeds, numbers in program.blocks.items():
            for own, chosen in _split(seeds, _ordered(numbers), lanes, seeds_per_job):
                yield program, own, chosen


def _programs(combinations: Iterable[Mapping[str, Any]]) -> list[Program]:
    found: dict[str, Program] = {}  # by what is resolved
    resolved: dict[str, tuple[Program, Any]] = {}  # by what is written, with the algorithm's config
    kinds: dict[str, dict[str, Leaf]] = {}  # the per-lane numbers, by what decides which there are
    lanes = 0
    for combination in combinations:
        deciding = {name: combination[name] for name in ("algo", "base", "env", "preset") if name in combination}
        if (kind := _key(deciding)) not in kinds:
            config = resolve(deciding).variants[0].config
            kinds[kind] = {leaf.name: leaf for leaf in leaves(config) if leaf.per_lane}
        known = kinds[kind]
        given = {name: combination[name] for name in combination if name in known or name == variants.KEY}
        common = {name: value for name, value in combination.items() if name not in given and name != "seeds"}
        if (written := _key(common)) not in resolved:
            job = resolve({**common, "seeds": [0]})
            job.check_learns()
            fixed = {name: value for name, value in job.flat().items() if name not in known}
            program = found.setdefault(_key(fixed), Program(fixed, job, list(known), {}, {}))
            resolved[written] = program, job.variants[0].config
        program, config = resolved[written]
        seeds = tuple(sorted(parse_seeds(combination.get("seeds", RunSettings.seeds))))  # their order means nothing
        for row in _rows(config, given, known):
            lanes += len(seeds)
            if lanes > MOST_LANES:
                raise UserError(f"combinations and seeds make more than {MOST_LANES:,} lanes")
            program.add(tuple(row[name] for name in program.names), seeds)
    return list(found.values())


def _rows(config: Any, given: Mapping[str, Any], known: Mapping[str, Leaf]) -> Iterator[dict[str, Any]]:
    """Yield the settings of every variant."""
    if any(isinstance(value, (list, tuple)) for value in given.values()):
        yield from (flat(one) for _, one in variants.combined(config, given))
    else:  # by far the usual case, and this is faster
        yield {**flat(config), **{name: checked(known[name], value) for name, value in given.items()}}


def _planned(program: Program, seeds: Seeds, numbers: Sequence[Numbers], shown: Collection[str]) -> PlannedJob:
    tables = [dict(zip(program.names, one, strict=True)) for one in numbers]
    settings = resolve({**program.fixed, "seeds": list(seeds), variants.KEY: tables}).flat()
    return PlannedJob(job_name(settings, shown), settings)


def _ordered(numbers: Sequence[Numbers]) -> list[Numbers]:
    """Return variants in the order of `config.variants`, in which those of a grid are lists, whatever the order of the
    file's keys is."""
    ranks = [
        {number: rank for rank, number in enumerate(dict.fromkeys(column))} for column in zip(*numbers, strict=True)
    ]
    return sorted(numbers, key=lambda one: [rank[number] for rank, number in zip(ranks, one, strict=True)])


def _split(
    seeds: Seeds, numbers: Sequence[Numbers], lanes: int, seeds_per_job: int | None
) -> Iterator[tuple[Seeds, Sequence[Numbers]]]:
    """Yield the seeds and variants of each job. Variants are divided first: the seeds of one stay together."""
    size = seeds_per_job or len(seeds)
    for block in (seeds[start : start + size] for start in range(0, len(seeds), size)):
        for own in _even(block, lanes):
            for chosen in _even(numbers, min(max(lanes // len(own), 1), variants.MOST_VARIANTS)):
                yield tuple(own), chosen


def _even(items: Sequence[T], most: int) -> Iterator[Sequence[T]]:
    """Yield parts of about the same size, in order: none has to wait long for another."""
    parts = math.ceil(len(items) / most)
    for k in range(parts):
        yield items[k * len(items) // parts : (k + 1) * len(items) // parts]


def _key(settings: Mapping[str, Any]) -> str:
    return json.dumps(settings, sort_keys=True, default=repr)
