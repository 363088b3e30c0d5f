"""A trained agent on disk, and in a user's hands.

`agent/` holds `agent.json`, which says what it is, and `weights.safetensors`, whose arrays have the lane as
their first axis. Nothing is ever unpickled.
"""

import json
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import safetensors.numpy
from jax import random, vmap
from safetensors import SafetensorError

from .. import algos, envs
from ..config.job import parse_seeds
from ..config.run import RunSettings
from ..config.toml import versions
from ..engine.evaluate import Episode, copies_needed, evaluate
from ..envs import Envs
from ..errors import UserError
from ..settings import flat, leaves, replace, stacked
from ..snapshot import filled, on_host
from ..spec import PyTree, Spec
from .files import write_atomically

FORMAT = 3  # 2 had the config's per-lane numbers among the weights, where they were needed; they are dropped
LARGEST_CARD = 2**24  # bytes; a real one has two thousand


def save(folder: Path, weights: PyTree, settings: RunSettings, config: Any, spec: Spec, step: int) -> None:
    """Write both files atomically, so that an agent on disk is always whole."""
    folder.mkdir(exist_ok=True)
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
    write_atomically(folder / "weights.safetensors", safetensors.numpy.save(arrays))
    write_atomically(folder / "agent.json", (json.dumps(card, indent=2) + "\n").encode())


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
        self._env = self._env or envs.make(self.settings.env, 1, "auto")
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
        pool = envs.make(self.settings.env, copies, "auto", self.settings.action_repeat)
        asked = self.seeds, 2**31 + seed, episodes, members
        try:
            with envs.Watchdog(self.settings.plan.env_timeout, [pool]):
                rows = evaluate(self.algo, self.configs, self.weights, pool, *asked)
        finally:
            pool.close()
        return [row._replace(step=self.step) for lane in rows for row in lane]


def saved_step(folder: Path) -> int | None:
    """Return the step of the agent there; None where there is none. A damaged one is no reason to take another."""
    try:
        return int(_card(folder)["step"])
    except FileNotFoundError:
        return None
    except (OSError, ValueError, RecursionError, KeyError, TypeError, OverflowError) as error:
        raise UserError(f"the agent in {folder} is damaged: {error}") from None


def _card(folder: Path) -> Any:
    if (folder / "agent.json").stat().st_size > LARGEST_CARD:
        raise ValueError("agent.json is too large")
    return json.loads((folder / "agent.json").read_text())


def read(folder: Path) -> Agent:
    """Return what `save` wrote, checked against what it says of itself."""
    try:
        card = _card(folder)
        arrays = safetensors.numpy.load_file(folder / "weights.safetensors")
    except FileNotFoundError as error:
        raise UserError(f"{folder.parent} holds no agent yet: {error.filename} is missing") from None
    except (OSError, ValueError, RecursionError, SafetensorError) as error:
        raise UserError(f"the agent in {folder} is damaged: {error}") from None
    try:
        if card["format"] not in (2, FORMAT):
            raise UserError(f"the agent in {folder} has format {card['format']}; this version reads 2 and {FORMAT}")
        settings = replace(RunSettings(), {**card["run"], "seeds": parse_seeds(card["run"]["seeds"])})
        config = replace(algos.default_config(settings.algo, card["config"].get("base")), card["config"])
        spec, step = Spec(int(card["obs"]), int(card["action"])), int(card["step"])
        if min(spec) < 1:
            raise ValueError(f"sizes {tuple(spec)}")
    except UserError:
        raise
    except (KeyError, TypeError, AttributeError, ValueError, OverflowError) as error:
        raise UserError(f"the agent in {folder} is damaged: agent.json lacks or garbles {error}") from None
    if card["format"] == 2:
        numbers = {leaf.name for leaf in leaves(config) if leaf.per_lane}
        arrays = {name: array for name, array in arrays.items() if name.rpartition(".")[2] not in numbers}
    try:
        weights = jax.tree.map(jnp.asarray, filled(_template(settings, config, spec), arrays))
    except ValueError as error:
        raise UserError(f"the agent in {folder} is damaged: {error}") from None
    return Agent(settings, config, step, weights)


def _template(settings: RunSettings, config: Any, spec: Spec) -> PyTree:
    """Return the shapes that the weights of these settings have."""
    algo = algos.find(settings.algo, settings.normalise_obs)

    def weights(key: jax.Array) -> PyTree:
        return algo.weights(config, algo.init(config, key, spec))

    return jax.eval_shape(vmap(weights), random.split(random.key(0), len(settings.seeds)))
