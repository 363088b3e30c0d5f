"""From flags and files to a job: what to train, resolved and checked."""

import difflib
import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from .. import algos
from ..errors import UserError
from ..settings import flat, leaves, replace, stacked, variants
from ..spec import AnyAlgorithm
from . import presets
from .run import RunSettings

MOST_SEEDS = 10_000  # a larger number is a typing error, or a damaged file


class Variant(NamedTuple):
    name: str  # such as alpha=0.2; empty when there is only one
    config: Any  # the algorithm's config


class Job(NamedTuple):
    """What one program trains: its lanes are every (variant, seed)."""

    settings: RunSettings
    variants: list[Variant]

    def flat(self) -> dict[str, Any]:
        """Return the flat settings from which `resolve` makes this job."""
        first = self.variants[0].config
        per_lane = {
            leaf.name: list(dict.fromkeys(flat(variant.config)[leaf.name] for variant in self.variants))
            for leaf in leaves(first)
            if leaf.per_lane
        }
        lists = {name: values for name, values in per_lane.items() if len(values) > 1}
        return {**flat(self.settings), "seeds": list(self.settings.seeds), **flat(first), **lists}

    @property
    def lane_seeds(self) -> list[int]:
        return [seed for _ in self.variants for seed in self.settings.seeds]

    @property
    def algorithm(self) -> AnyAlgorithm:
        return algos.find(self.settings.algo, self.settings.normalise_obs)

    def lane_configs(self) -> Any:
        """Return the configs of all lanes as one, leaves (lane,)."""
        return stacked([variant.config for variant in self.variants for _ in self.settings.seeds])


def parse_seeds(text: Any) -> tuple[int, ...]:
    """`10` -> 0…9, `3,5,8` -> these, `7,` -> 7, `10-19` -> a range; a list is taken as it is."""
    if isinstance(text, (list, tuple)):
        text = ",".join(map(str, text)) + ","
    text = str(text).replace(" ", "")
    try:
        if re.fullmatch(r"\d+", text):
            seeds = list(range(min(int(text), MOST_SEEDS + 1)))
        else:
            seeds = []
            for part in text.rstrip(",").split(","):
                first, _, last = part.partition("-")
                seeds += range(int(first), min(int(last or first), int(first) + MOST_SEEDS) + 1)
    except ValueError:
        seeds = []
    if len(seeds) > MOST_SEEDS:
        raise UserError(f"--seeds {text!r} names more than {MOST_SEEDS:,} seeds")
    if not seeds or len(set(seeds)) < len(seeds) or min(seeds) < 0 or max(seeds) >= 2**31:
        raise UserError(f"--seeds {text!r} names no seeds: write 10, or 3,5,8, or 7, or 10-19")
    return tuple(seeds)


def resolve(values: Mapping[str, Any]) -> Job:
    """Return a checked job for flat settings, as flags or TOML keys give them."""
    values = presets.applied(dict(values))
    algo = values.get("algo", RunSettings.algo)
    config = algos.default_config(algo, values.get("base"))
    names = [leaf.name for part in (RunSettings(), config) for leaf in leaves(part)]
    for name in values:
        if name not in names:
            close = difflib.get_close_matches(name, names, 1)
            hint = f"; did you mean {close[0]!r}?" if close else ""
            raise UserError(f"unknown setting {name!r} for algorithm {algo!r}{hint}")
    if "seeds" in values:
        values["seeds"] = parse_seeds(values["seeds"])
    settings = replace(RunSettings(), values)
    if not settings.env:
        raise UserError("--env is missing: for example --env Pendulum-v1")
    return Job(settings, [Variant(*named) for named in variants(config, values)])
