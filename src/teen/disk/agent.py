"""A trained agent on disk, and in a user's hands.

`agent/` holds `agent.json`, which says what it is, and `weights.safetensors`, whose arrays have the lane as
their first axis. Nothing is ever unpickled.
"""

import json
import os
from functools import partial
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import safetensors.numpy
from jax import random, vmap

from .. import algos, envs
from ..config.job import parse_seeds
from ..config.modules import Trust
from ..config.run import RunSettings
from ..config.toml import versions
from ..engine import memory
from ..engine.evaluate import Episode, copies_needed, evaluate
from ..envs import Envs
from ..errors import UserError
from ..settings import flat, leaves, replace, shown, stacked
from ..snapshot import filled, on_host
from ..spec import PyTree, Spec
from . import agreement, files
from .files import write_atomically
from .parsing import arrays_of, json_of, whole_number

FORMAT = 3  # 2 had the config's per-lane numbers among the weights, where they were needed; they are dropped
CARD, WEIGHTS = "agent.json", "weights.safetensors"
LARGEST_CARD = 2**20  # bytes; a real one has two thousand
LARGEST_STEP = 10**12


def save(folder: Path, weights: PyTree, settings: RunSettings, config: Any, spec: Spec, step: int) -> None:
    """Write both files atomically, so that an agent on disk is always whole."""
    files.make_folder(folder)
    card = {
        "format": FORMAT,
        "step": step,
        "obs": spec.obs,
        "action": spec.action,
        "run": flat(settings),
        "config": flat(config),
        "versions": versions(),
    }
    arrays = {name: np.ascontiguousarray(leaf) for name, leaf in on_host(weights).items()}
    write_atomically(folder / WEIGHTS, safetensors.numpy.save(arrays))
    write_atomically(folder / CARD, (json.dumps(card, indent=2) + "\n").encode())


class Agent:
    """The policies of one run, one per seed.

    >>> agent = teen.load("runs/cheetah")
    >>> action = agent.predict(obs)              # the first seed's policy, in the environment's bounds
    """

    def __init__(self, settings: RunSettings, config: Any, step: int, weights: PyTree):
        """The leaves of `weights` are (seed, ...)."""
        self.settings, self.config, self.step, self.weights = settings, config, step, weights
        self.algo = algos.find(settings.algo, settings.normalise_obs)
        self.configs = stacked([config] * len(settings.seeds))  # leaves (seed,)
        self._policy = jax.jit(vmap(self.algo.policy, (None, None, None, 0)))
        self._env: Envs | None = None

    @property
    def seeds(self) -> tuple[int, ...]:
        return self.settings.seeds

    def predict(self, obs: Any, seed: int | None = None) -> np.ndarray:
        """Return the action without noise for an observation of the environment, or for a batch of flat ones."""
        if self._env is None:
            env = envs.make(self.settings.env, 1, "auto")
            self.check_fits(env.spec)
            self._env = env
        if seed is not None and seed not in self.seeds:
            raise UserError(f"this agent has seeds {list(self.seeds)}, not {seed}")
        lane = 0 if seed is None else self.seeds.index(seed)
        config, weights = jax.tree.map(lambda leaf: leaf[lane], (self.configs, self.weights))
        single = not (isinstance(obs, np.ndarray) and obs.ndim == 2 and obs.shape[1] == self._env.spec.obs)
        rows = self._env.flatten(obs)[None] if single else np.asarray(obs, np.float32)
        memo = self.algo.begin(config, random.key(0))
        actions = self._env.scale(np.asarray(self._policy(config, weights, memo, rows)))
        return actions[0] if single else actions

    def evaluate(self, episodes: int = 10, seed: int = 0, members: bool = False) -> list[Episode]:
        """Play fresh episodes of every seed's policy. `seed` chooses other starts."""
        lanes = len(self.seeds)
        copies = copies_needed(self.algo, self.config, lanes, episodes) if members else lanes * episodes
        # Another machine may lack the backend of the training: both give the same task.
        pool = envs.make(self.settings.env, memory.check_copies(copies), "auto", self.settings.action_repeat)
        asked = self.seeds, 2**31 + seed, episodes, members
        try:
            self.check_fits(pool.spec)
            work = partial(evaluate, self.algo, self.configs, self.weights, pool, *asked)
            rows = envs.watched(self.settings.plan.env_timeout, [pool], work)
        finally:
            pool.close()
        return [row._replace(step=self.step) for lane in rows for row in lane]

    def check_fits(self, spec: Spec) -> None:
        """Raise a UserError if the policies were made for an environment of other sizes."""
        config, weights = jax.tree.map(lambda leaf: leaf[0], (self.configs, self.weights))
        try:
            rows = np.zeros((1, spec.obs), np.float32)
            memo = self.algo.begin(config, random.key(0))
            fits = jax.eval_shape(self._policy, config, weights, memo, rows).shape == (1, spec.action)
        except (TypeError, ValueError):  # products of matrices that do not match
            fits = False
        if not fits:
            sizes = f"{spec.obs} observations and {spec.action} actions"
            raise UserError(f"this agent does not fit {self.settings.env}, which has {sizes}")


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
        if not settings.env or min(spec) < 1:
            raise ValueError("its environment has no name, or nothing to observe or to do")
    except ValueError as error:
        raise _damaged(folder, f"{CARD}: {error}") from None
    values = {**flat(settings), **flat(config)}
    named = {name: value for name, value in values.items() if name in card["run"] or name in card["config"]}
    agreement.check(folder.parent, named, folder / CARD)
    dropped = {leaf.name for leaf in leaves(config) if leaf.per_lane} if card["format"] == 2 else set()
    try:
        weights = _weights(folder, _template(settings, config, spec), dropped)
    except FileNotFoundError as error:
        raise UserError(f"{folder.parent} holds no agent yet: {error.filename} is missing") from None
    except OSError as error:
        raise _damaged(folder, f"{WEIGHTS} cannot be read: {error.strerror}") from None
    except ValueError as error:
        raise _damaged(folder, f"{WEIGHTS}: {error}") from None
    return Agent(settings, config, int(card["step"]), weights)


def _card(folder: Path) -> dict[str, Any]:
    """Return the content of agent.json. That its parts are there and of their kind has been checked."""
    try:
        card = json_of(files.read(folder.parent, f"{folder.name}/{CARD}", LARGEST_CARD))
        if not isinstance(card, dict):
            raise ValueError("it is no table")
        if card.get("format") not in (2, FORMAT):
            number = f"has format {shown(card.get('format'))}; this version reads 2 and {FORMAT}"
            raise UserError(f"the agent in {folder} {number}")
        for part in ("run", "config"):
            if not isinstance(card.get(part), dict):
                raise ValueError(f"{part} is {shown(card.get(part))}, and not a table")
        whole_number(card.get("step"), LARGEST_STEP)
    except (FileNotFoundError, UserError):
        raise
    except OSError as error:
        raise _damaged(folder, f"{CARD} cannot be read: {error.strerror}") from None
    except ValueError as error:
        raise _damaged(folder, f"{CARD}: {error}") from None
    return card


def _damaged(folder: Path, problem: str) -> UserError:
    return UserError(f"the agent in {folder} is damaged: {problem}")


def _template(settings: RunSettings, config: Any, spec: Spec) -> PyTree:
    """Return the shapes that the weights of these settings have."""
    algo = algos.find(settings.algo, settings.normalise_obs)

    def weights(key: jax.Array) -> PyTree:
        return algo.weights(config, algo.init(config, key, spec))

    return jax.eval_shape(vmap(weights), random.split(random.key(0), len(settings.seeds)))


def _weights(folder: Path, template: PyTree, dropped: set[str]) -> PyTree:
    """Return the weights, whose size must be that of the template. Files say how large they are and may be sparse: what
    the settings imply, and what the machine has, is compared before anything is read."""
    implied, arrays = memory.size(template), len(jax.tree.leaves(template))
    with files.opened(folder.parent, f"{folder.name}/{WEIGHTS}") as file:
        there = os.fstat(file.fileno()).st_size
        if not implied <= there <= 2 * implied + 1024 * arrays + 2**16:  # with names, and what format 2 had
            raise ValueError(f"it has {there:,} bytes, and settings and seeds imply {implied:,}")
        if 3 * implied > memory.of_machine():  # read, taken apart and copied
            raise ValueError(f"its {there / 2**30:,.1f} GiB do not fit in this machine's memory")
        named = arrays_of(files.read_bounded(file, there, folder / WEIGHTS))
    kept = {name: array for name, array in named.items() if name.rpartition(".")[2] not in dropped}
    return jax.tree.map(jnp.asarray, filled(template, kept))
