"""From flags and files to a job: what to run, resolved and checked."""

import difflib
import re
import tomllib
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from platform import python_version
from typing import Any, Literal, NamedTuple

import tomli_w

from .. import algos
from ..engine.loop import Plan
from ..envs import Backend
from ..errors import UserError
from ..nets import Precision
from ..settings import flat, leaves, replace, setting, variants
from . import presets

MOST_SEEDS = 10_000  # a number beyond it is a slip of the hand, or a damaged file


@dataclass(frozen=True)
class Run:
    """The settings that do not depend on the algorithm."""

    algo: str = setting("teen", f"{', '.join(algos.NAMES)}, or a module of your own")
    env: str = setting("", "Gymnasium id, dm_control/domain-task, or package.module:Id of your own")
    backend: Backend = setting("auto", "who steps the environments; auto: EnvPool where it offers the task")
    seeds: tuple[int, ...] = setting((0,), "10: seeds 0-9; 3,5,8: these; 7,: just 7; 10-19: a range")
    steps: int = setting(
        1_000_000, "decisions of each seed: environment steps, but for action repeat", "TEEN §5", low=1
    )
    warmup: int = setting(25_000, "first steps, of uniform random actions", "TD3", low=0)
    utd: int = setting(1, "gradient steps per environment step", "REDQ: 20", low=1)
    batch: int = setting(256, "transitions in a gradient step", "TD3", low=1)
    buffer: int = setting(1_000_000, "transitions kept", "TD3", low=1)
    eval_every: int = setting(5_000, "steps between evaluations", "TD3", low=1)
    eval_episodes: int = setting(10, "episodes of an evaluation", "TD3", low=1, high=10_000)
    members_every: int = setting(50_000, "steps between evaluations of each member", "ours", low=1)
    log_every: int = setting(1_000, "steps between rows of train.csv", "ours", low=1)
    diagnose_every: int = setting(
        0, "steps between rows of diagnostics.csv: bias, entropy, members (docs/diagnostics.md); 0: none", "ours", low=0
    )
    diagnose_episodes: int = setting(10, "episodes of a diagnosis", "ours", low=1, high=1_000)

    sync: int = setting(10, "steps between hand-overs of weights and data; 1: strictly in turn", "ours", low=1)
    replay: Literal["auto", "device", "host"] = setting(
        "auto", "where transitions are kept; auto: with the learner, or in host memory where they do not fit", "ours"
    )

    precision: Precision = setting(
        "tf32", "products of an update: float32; tf32: that on a CPU, TF32 on a GPU; bf16: operands rounded to bfloat16"
    )

    action_repeat: int = setting(1, "environment steps for which an action is held", "TEEN App. B", low=1)
    reward_scale: float = setting(1.0, "factor on training rewards; evaluation shows the environment's own", "ours")
    normalise_obs: bool = setting(False, "shift and scale observations by running statistics", "ours")
    env_timeout: float = setting(60.0, "seconds after which a step counts as hung", "ours", above=0)
    checkpoint_every: int = setting(
        25_000, "steps between checkpoints, from which --resume goes on; 0: none, not even at the end", "ours", low=0
    )
    on_nan: Literal["quarantine", "stop"] = setting(
        "quarantine", "a learner whose numbers are no longer finite: its lane no longer counts, or the run ends", "ours"
    )

    def plan(self) -> Plan:
        return Plan(**{name: getattr(self, name) for name in Plan._fields if name != "first"})


class Variant(NamedTuple):
    name: str  # such as alpha=0.2; empty when there is only one
    config: Any  # the algorithm's config


class Job(NamedTuple):
    """One program: its lanes are every (variant, seed)."""

    run: Run
    variants: list[Variant]

    def settings(self) -> dict[str, Any]:
        """The flat settings that `resolve` makes this job of."""
        first = self.variants[0].config
        varied = {
            leaf.name: list(dict.fromkeys(flat(variant.config)[leaf.name] for variant in self.variants))
            for leaf in leaves(first)
            if leaf.per_lane
        }
        several = {name: values for name, values in varied.items() if len(values) > 1}
        return {**flat(self.run), "seeds": list(self.run.seeds), **flat(first), **several}

    @property
    def lane_seeds(self) -> list[int]:
        return [seed for _ in self.variants for seed in self.run.seeds]


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
    """Flat settings, as flags or TOML keys give them, to a checked job."""
    values = presets.applied(dict(values))
    config = algos.default_config(values.get("algo", Run.algo), values.get("base"))
    known = [leaf.name for part in (Run(), config) for leaf in leaves(part)]
    for name in values:
        if name not in known:
            close = difflib.get_close_matches(name, known, 1)
            hint = f"; did you mean {close[0]!r}?" if close else ""
            raise UserError(f"unknown setting {name!r} for algorithm {values.get('algo', Run.algo)!r}{hint}")
    if "seeds" in values:
        values["seeds"] = parse_seeds(values["seeds"])
    run = replace(Run(), values)
    if not run.env:
        raise UserError("--env is missing: for example --env Pendulum-v1")
    return Job(run, [Variant(*named) for named in variants(config, values)])


def read(path: Path) -> dict[str, Any]:
    """The flat settings of a config file. The versions in it are information, not settings."""
    try:
        values = tomllib.loads(path.read_text())
    except OSError as error:
        raise UserError(f"config file {path} cannot be read: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise UserError(f"config file {path} is damaged: {error}") from None
    values.pop("versions", None)
    for name, value in values.items():
        if isinstance(value, dict):
            raise UserError(f"config file {path} has an unknown table [{name}]")
    return values


def versions() -> dict[str, str]:
    """Of everything that may change a result. EnvPool, where it is installed, brings a MuJoCo of its own."""
    found = {"python": python_version()}
    for name in ("jax", "gymnasium", "mujoco", "envpool"):
        with suppress(PackageNotFoundError):
            found[name] = version(name)
    return {**found, "teen": own_version()}


def own_version() -> str:
    from .. import __version__

    return __version__


def dump(run: Run, config: Any) -> str:
    """The text of config.toml: settings by their flag's name, and the versions they ran with."""
    settings = {name: list(v) if isinstance(v, tuple) else v for name, v in {**flat(run), **flat(config)}.items()}
    return tomli_w.dumps({**settings, "versions": versions()})
