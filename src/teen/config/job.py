"""From flags and files to a job: what to train, resolved and checked."""

import os
import re
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from .. import algos, envs
from ..envs import arguments, versions
from ..errors import UserError
from ..settings import flat, leaves, replace, shown, stacked
from ..spec import AnyAlgorithm
from . import aliases, presets, variants
from .run import RunSettings

MOST_SEEDS = 10_000  # a larger number is a typing error, or a damaged file
MOST_LANES = 10_000


class Variant(NamedTuple):
    name: str  # such as alpha=0.2; empty when there is only one
    config: Any  # the algorithm's config


class Job(NamedTuple):
    """What one program trains: its lanes are every (variant, seed)."""

    settings: RunSettings
    variants: list[Variant]

    def flat(self) -> dict[str, Any]:
        """Return the flat settings from which `resolve` makes this job."""
        configs = [variant.config for variant in self.variants]
        return {**flat(self.settings), "seeds": list(self.settings.seeds), **variants.flattened(configs)}

    @property
    def lane_seeds(self) -> list[int]:
        return [seed for _ in self.variants for seed in self.settings.seeds]

    @property
    def algorithm(self) -> AnyAlgorithm:
        return algos.find(self.settings.algo, self.settings.normalise_obs)

    def settled(self) -> tuple["Job", list[str]]:
        """Return the job with the task's version and the backend that are taken here, and what to tell the user."""
        asked, wanted = self.settings.env, self.settings.backend
        env = versions.newest(asked, wanted)
        backend, slower = envs.choose_backend(env, wanted)
        taken = f"--env {asked} is taken as {env}, its newest version here" if env != asked else ""
        told = [line for variant in self.variants for line in getattr(variant.config, "notices", list)()]
        job = self._replace(settings=replace(self.settings, {"env": env, "backend": backend}))
        return job, [*filter(None, (taken, slower)), *told]

    def check_learns(self) -> None:
        """Raise a UserError where training would end before the first gradient step. Not part of `resolve`, by which
        runs that did so are read too."""
        steps, warmup = self.settings.plan.steps, self.settings.plan.warmup
        if warmup >= steps:
            raise UserError(
                f"--warmup {warmup} is not below --steps {steps}: all steps would be random, and nothing would be "
                f"learnt; lower --warmup, for example to {steps // 10}, or raise --steps"
            )

    def lane_configs(self) -> Any:
        """Return the configs of all lanes as one, leaves (lane,)."""
        return stacked([variant.config for variant in self.variants for _ in self.settings.seeds])


def parse_seeds(text: Any) -> tuple[int, ...]:
    """`10` -> 0…9, `3,5,8` -> these, `7,` -> 7, `10-19` -> a range; a list is taken as it is."""
    try:
        text = ",".join(map(str, text)) + "," if isinstance(text, (list, tuple)) else str(text)
    except (ValueError, RecursionError):  # a number of thousands of digits, or lists in lists
        text = ""
    parts = [re.fullmatch(r" *([0-9]{1,20}) *(?:- *([0-9]{1,20}) *)?", part) for part in text.rstrip(" ,").split(",")]
    spans = [(int(part[1]), int(part[2] or part[1])) for part in parts if part]
    if "," not in text and "-" not in text:
        spans = [(0, count - 1) for count, _ in spans]
    seeds: list[int] = []
    for first, last in spans if all(parts) else ():
        seeds += range(first, min(last, first + MOST_SEEDS) + 1)
        if len(seeds) > MOST_SEEDS:
            raise UserError(f"--seeds {shown(text)} names more than {MOST_SEEDS:,} seeds")
    if not seeds or len(set(seeds)) < len(seeds) or max(seeds) >= 2**31:
        raise UserError(f"--seeds {shown(text)} names no seeds: write 10, or 3,5,8, or 7, or 10-19")
    return tuple(seeds)


def ranges(seeds: Iterable[int]) -> str:
    """Return seeds as a text that names files, such as 0-4+7."""
    stretches: list[list[int]] = []
    for seed in sorted(seeds):
        if stretches and seed == stretches[-1][-1] + 1:
            stretches[-1].append(seed)
        else:
            stretches.append([seed])
    return "+".join(f"{part[0]}-{part[-1]}" if len(part) > 1 else str(part[0]) for part in stretches)


def _with_arguments(values: dict[str, Any]) -> dict[str, Any]:
    """Make `env_kwargs` part of the environment's name."""
    more = values.pop("env_kwargs", {})
    if not isinstance(more, Mapping):
        raise UserError(f"--env-kwargs must be a table of arguments, not {shown(more)}")
    return {**values, "env": arguments.joined(values["env"], more)} if values.get("env") else values


def resolve(values: Mapping[str, Any]) -> Job:
    """Return a checked job for flat settings, as flags or TOML keys give them."""
    for name in ("algo", "base", "env", "preset"):  # on which it depends what else there is
        if not isinstance(values.get(name, ""), str):
            raise UserError(f"--{name} must be text, not {shown(values[name])}")
    values = _with_arguments(presets.applied(dict(values)))
    if isinstance(values.get("from_"), os.PathLike):  # in Python
        values["from_"] = os.fspath(values["from_"])
    algo = values.get("algo", RunSettings.algo)
    config = algos.default_config(algo, values.get("base"))
    names = [leaf.name for part in (RunSettings(), config) for leaf in leaves(part)]
    for name in [*(n for n in values if n != variants.KEY), *variants.named(values.get(variants.KEY))]:
        if name not in names:
            raise UserError(aliases.unknown(name, algo, values.get("base"), names))
    if "seeds" in values:
        values["seeds"] = parse_seeds(values["seeds"])
    settings = replace(RunSettings(), values)
    if not settings.env:
        raise UserError("--env is missing: for example --env Pendulum-v1")
    if settings.plan.n_step > 1 and "gamma" not in names:
        raise UserError(
            f"--n-step {settings.plan.n_step} needs a discount, and algorithm {algo!r} has no setting 'gamma': take "
            "--n-step 1, or give its Config a per-lane number of that name (docs/extending.md)"
        )
    job = Job(settings, [Variant(*named) for named in variants.combined(config, values)])
    if (lanes := len(job.variants) * len(settings.seeds)) > MOST_LANES:
        raise UserError(f"--seeds and lists make {lanes:,} lanes: a program has at most {MOST_LANES:,}")
    return job
