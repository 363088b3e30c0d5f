"""A trained agent on disk: `agent/` in a run folder.

It holds `agent.json`, which says what it is, and `weights.safetensors`, whose arrays have the lane as their first axis.
Nothing is ever unpickled.
"""

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import safetensors.numpy
from jax import random, vmap

from .. import algos
from ..config import toml
from ..config.job import MOST_SEEDS, parse_seeds
from ..config.modules import Trust
from ..config.run import RunSettings
from ..config.toml import versions
from ..engine import memory
from ..engine.acting_part import acting_names
from ..errors import UserError
from ..settings import flat, leaves, replace, shown
from ..snapshot import filled, named, on_host
from ..spec import AnyAlgorithm, PyTree, Spec
from . import agreement, files
from .agent import Agent
from .files import write_atomically
from .parsing import arrays_of, json_of, whole_number

FORMAT = 3  # 2 had the config's per-lane numbers among the weights, where they were needed; they are dropped
SLIM = 4  # only what acting reads, and perhaps in half precision: what `teen share` writes
LAST, BEST = "agent", "agent-best"  # in a run folder: the newest, and each seed's best so far
CARD, WEIGHTS = "agent.json", "weights.safetensors"
LARGEST_CARD = 2**20  # bytes; a real one has two thousand
LARGEST_STEP = 10**12
MOST_ABSENT = (
    100  # times what a slim agent holds: real ones leave out as much as they hold, REDQ with many critics more
)


def save(
    folder: Path,
    agent: Agent,
    spec: Spec,
    *,
    slim: bool = False,
    half: bool = False,
    trained_with: Mapping[str, str] | None = None,
) -> None:
    """Write both files atomically, so that an agent on disk is always whole. A `slim` one has only what acting reads,
    with `half` the matrices in float16. `trained_with` are the versions of the training, where that was not here."""
    files.make_folder(folder)
    slim = slim or half or not agent.complete
    card = {
        "format": SLIM if slim else FORMAT,
        "step": agent.step,
        "obs": spec.obs,
        "action": spec.action,
        "run": flat(agent.settings),
        "config": flat(agent.config),
        "versions": dict(trained_with or versions()),
    }
    if set(agent.steps) != {agent.step}:
        card["steps"] = agent.steps
    arrays = {name: np.ascontiguousarray(leaf) for name, leaf in on_host(agent.weights).items()}
    if slim:
        kept = acting_names(agent.algo, agent.config, agent.weights, spec)
        arrays = {name: array for name, array in arrays.items() if name in kept}
    if half:
        arrays = {name: array.astype(_stored(name, array)) for name, array in arrays.items()}
        card["half"] = True
    write_atomically(folder / WEIGHTS, safetensors.numpy.save(arrays))
    write_atomically(folder / CARD, (json.dumps(card, indent=2) + "\n").encode())


def export(folder: Path, agent: Agent) -> None:
    """Write an agent alone, with what `teen.load` needs, into a new folder or over one that was written so before."""
    if os.path.lexists(folder):
        try:
            others = sorted({path.name for path in folder.iterdir()} - {toml.CONFIG, LAST})
        except OSError as error:
            raise UserError(f"{folder} cannot be used: {error.strerror}") from None
        if others:
            raise UserError(f"{folder} holds {others[0]}, which is no part of a saved agent: choose another folder")
    try:
        files.make_folder(folder)
        save(folder / LAST, agent, agent.spec)
        write_atomically(folder / toml.CONFIG, toml.dump(agent.settings, agent.config).encode())
    except OSError as error:
        raise UserError(f"{folder} cannot be written: {error.strerror}") from None


def saved_step(folder: Path) -> int | None:
    """Return the step of the agent there; None where there is none. A damaged one is no reason to take another."""
    try:
        return int(_card(folder)["step"])
    except FileNotFoundError:
        return None


def read(folder: Path, trust: Trust = ()) -> Agent:
    """Return what `save` wrote, checked against what it says of itself and what config.toml says of the run. `trust`
    lists the modules that it may name."""
    try:
        card = _card(folder)
    except FileNotFoundError as error:
        raise UserError(f"{folder.parent} holds no agent yet: {error.filename} is missing") from None
    agreement.admit(card["run"], folder / CARD, trust)
    try:
        settings = replace(RunSettings(), {**card["run"], "seeds": parse_seeds(card["run"].get("seeds"))})
        config = replace(algos.default_config(settings.algo, card["config"].get("base")), card["config"])
        spec = Spec(*(whole_number(card.get(name), 2**31) for name in Spec._fields))
        if len(_steps(card)) not in (0, len(settings.seeds)):
            raise ValueError(f"it has {len(settings.seeds)} seeds and steps of {len(_steps(card))}")
        if not settings.env or min(spec) < 1:
            raise ValueError("its environment has no name, or nothing to observe or to do")
    except ValueError as error:
        raise _damaged(folder, f"{CARD}: {error}") from None
    values = {**flat(settings), **flat(config)}
    said = {name: value for name, value in values.items() if name in card["run"] or name in card["config"]}
    agreement.check(folder.parent, said, folder / CARD)
    dropped = {leaf.name for leaf in leaves(config) if leaf.per_lane} if card["format"] == 2 else set()
    algo, slim = algos.find(settings.algo, settings.normalise_obs), card["format"] == SLIM
    template = _template(algo, config, spec, len(settings.seeds))
    everything = named(template)
    expected = acting_names(algo, config, template, spec) if slim else everything.keys()
    try:
        present = {name: everything[name] for name in expected}
        absent = {name: leaf for name, leaf in everything.items() if name not in expected}
        if memory.size(absent) > MOST_ABSENT * memory.size(present) + 2**24:
            raise ValueError(f"it leaves out {memory.size(absent):,} bytes, and holds {memory.size(present):,}")
        arrays = {
            **_arrays(folder, present, dropped, bool(card.get("half"))),
            **{name: _nothing(leaf) for name, leaf in absent.items()},
        }
        weights = jax.tree.map(jnp.asarray, filled(template, arrays))
    except FileNotFoundError as error:
        raise UserError(f"{folder.parent} holds no agent yet: {error.filename} is missing") from None
    except OSError as error:
        raise _damaged(folder, f"{WEIGHTS} cannot be read: {error.strerror}") from None
    except ValueError as error:
        raise _damaged(folder, f"{WEIGHTS}: {error}") from None
    return Agent(settings, config, int(card["step"]), weights, tuple(card.get("steps", ())), not slim)


def _card(folder: Path) -> dict[str, Any]:
    """Return the content of agent.json. That its parts are there and of their kind has been checked."""
    try:
        card = json_of(files.read(folder.parent, f"{folder.name}/{CARD}", LARGEST_CARD))
        if not isinstance(card, dict):
            raise ValueError("it is no table")
        if card.get("format") not in (2, FORMAT, SLIM):
            number = f"has format {shown(card.get('format'))}; this version reads 2, {FORMAT} and {SLIM}"
            raise UserError(f"the agent in {folder} {number}")
        for part in ("run", "config"):
            if not isinstance(card.get(part), dict):
                raise ValueError(f"{part} is {shown(card.get(part))}, and not a table")
        for step in (card.get("step"), *_steps(card)):
            whole_number(step, LARGEST_STEP)
    except (FileNotFoundError, UserError):
        raise
    except OSError as error:
        raise _damaged(folder, f"{CARD} cannot be read: {error.strerror}") from None
    except ValueError as error:
        raise _damaged(folder, f"{CARD}: {error}") from None
    return card


def _steps(card: dict[str, Any]) -> list[Any]:
    """Return the steps of each seed's weights, where they are not all of the last step."""
    steps = card.get("steps", [])
    if not isinstance(steps, list) or len(steps) > MOST_SEEDS:
        raise ValueError(f"steps is {shown(steps)}, and not a list")
    return steps


def _damaged(folder: Path, problem: str) -> UserError:
    return UserError(f"the agent in {folder} is damaged: {problem}")


def _template(algo: AnyAlgorithm, config: Any, spec: Spec, seeds: int) -> PyTree:
    """Return the shapes that the weights of these settings have."""

    def weights(key: jax.Array) -> PyTree:
        return algo.weights(config, algo.init(config, key, spec))

    return jax.eval_shape(vmap(weights), random.split(random.key(0), seeds))


def _arrays(folder: Path, expected: dict[str, Any], dropped: set[str], half: bool) -> dict[str, np.ndarray]:
    """Return the arrays, whose size must be that of the expected ones. Files say how large they are and may be sparse:
    what the settings imply, and what the machine has, is compared before anything is read."""
    stored = {name: _stored(name, leaf) if half else leaf.dtype for name, leaf in expected.items()}
    implied = sum(leaf.size * stored[name].itemsize for name, leaf in expected.items())
    with files.opened(folder.parent, f"{folder.name}/{WEIGHTS}") as file:
        there = os.fstat(file.fileno()).st_size
        if not implied <= there <= 2 * implied + 1024 * len(expected) + 2**16:  # with names, and what format 2 had
            raise ValueError(f"it has {there:,} bytes, and settings and seeds imply {implied:,}")
        if 3 * memory.size(expected) > memory.of_machine():  # read, taken apart and copied
            raise ValueError(f"its {there / 2**30:,.1f} GiB do not fit in this machine's memory")
        found = arrays_of(files.read_bounded(file, there, folder / WEIGHTS))
    kept = {name: array for name, array in found.items() if name.rpartition(".")[2] not in dropped}
    for name in kept.keys() & stored.keys():
        if kept[name].dtype != stored[name]:
            raise ValueError(f"{name} should be {stored[name]}, not {kept[name].dtype}")
    return {name: array.astype(expected[name].dtype) if name in expected else array for name, array in kept.items()}


def _nothing(leaf: Any) -> np.ndarray:
    """Return what stands for an array that a slim agent does not have."""
    return np.full(leaf.shape, np.nan if np.issubdtype(leaf.dtype, np.floating) else 0, leaf.dtype)


def _stored(name: str, leaf: Any) -> np.dtype[Any]:
    """Return how an array is stored in half precision: matrices are most of it, and counts and sums stay exact."""
    return np.dtype(np.float16) if name.endswith(".weight") else np.dtype(leaf.dtype)
