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
from ..config import job as config
from ..engine.evaluate import Episode, copies_needed, evaluate
from ..envs import Envs
from ..errors import UserError
from ..settings import flat, replace
from ..snapshot import filled, on_host
from ..spec import PyTree, Spec
from .files import write_atomically

FORMAT = 2  # 2: discounts, temperatures and RND's weight, for diagnostics
LARGEST_CARD = 2**24  # bytes; a real one has two thousand


def save(folder: Path, agents: PyTree, run: config.Run, algo_config: Any, spec: Spec, step: int) -> None:
    """Writes both files beside their final names first, so that an agent on disk is always whole."""
    folder.mkdir(exist_ok=True)
    card = {
        "format": FORMAT,
        "step": step,
        "obs": spec.obs,
        "action": spec.action,
        "run": flat(run),
        "config": flat(algo_config),
        "versions": config.versions(),
    }
    arrays = {name: np.ascontiguousarray(leaf) for name, leaf in on_host(agents).items()}
    write_atomically(folder / "weights.safetensors", safetensors.numpy.save(arrays))
    write_atomically(folder / "agent.json", (json.dumps(card, indent=2) + "\n").encode())


class Agent:
    """The policies of one run, one per seed.

    >>> agent = teen.load("runs/cheetah")
    >>> action = agent.predict(obs)              # the first seed's policy, in the environment's bounds
    """

    def __init__(self, run: config.Run, algo_config: Any, step: int, agents: PyTree):
        self.run, self.config, self.step, self.agents = run, algo_config, step, agents
        self.algo = algos.build(run.algo, algo_config, run.normalise_obs)
        self._one = jax.jit(lambda agent, memo, obs: vmap(self.algo.policy, (None, None, 0))(agent, memo, obs))
        self._env: Envs | None = None

    @property
    def seeds(self) -> tuple[int, ...]:
        return self.run.seeds

    def predict(self, obs: Any, seed: int | None = None) -> np.ndarray:
        """The action without noise for an observation of the environment, or for a batch of flat ones."""
        self._env = self._env or envs.make(self.run.env, 1, "auto")
        if seed is not None and seed not in self.seeds:
            raise UserError(f"this agent has seeds {list(self.seeds)}, not {seed}")
        lane = 0 if seed is None else self.seeds.index(seed)
        agent = jax.tree.map(lambda leaf: leaf[lane], self.agents)
        single = not (isinstance(obs, np.ndarray) and obs.ndim == 2 and obs.shape[1] == self._env.spec.obs)
        rows = self._env.flatten(obs)[None] if single else np.asarray(obs, np.float32)
        memo = self.algo.begin(random.key(0))
        actions = self._env.scale(np.asarray(self._one(agent, memo, rows)))
        return actions[0] if single else actions

    def evaluate(self, episodes: int = 10, seed: int = 0, members: bool = False) -> list[Episode]:
        """Fresh episodes of every seed's policy. `seed` chooses other starts."""
        copies = copies_needed(self.algo, len(self.seeds), episodes) if members else len(self.seeds) * episodes
        # Another machine may lack the backend of the training: both give the same task.
        pool = envs.make(self.run.env, copies, "auto", self.run.action_repeat)
        try:
            with envs.Watchdog(self.run.env_timeout, [pool]):
                rows = evaluate(self.algo, self.agents, pool, self.seeds, 2**31 + seed, episodes, members)
        finally:
            pool.close()
        return [row._replace(step=self.step) for lane in rows for row in lane]


def saved_step(folder: Path) -> int | None:
    """Of the agent there; None where there is none. A damaged one is no reason to take another."""
    try:
        return int(_card(folder)["step"])
    except FileNotFoundError:
        return None
    except (OSError, ValueError, RecursionError, KeyError, TypeError, OverflowError) as error:
        raise UserError(f"the agent in {folder} is damaged: {error}") from None


def _card(folder: Path) -> Any:
    if (folder / "agent.json").stat().st_size > LARGEST_CARD:
        raise ValueError("agent.json is absurdly large")
    return json.loads((folder / "agent.json").read_text())


def read(folder: Path) -> Agent:
    """What `save` wrote, checked against what it says of itself."""
    try:
        card = _card(folder)
        arrays = safetensors.numpy.load_file(folder / "weights.safetensors")
    except FileNotFoundError as error:
        raise UserError(f"{folder.parent} holds no agent yet: {error.filename} is missing") from None
    except (OSError, ValueError, RecursionError, SafetensorError) as error:
        raise UserError(f"the agent in {folder} is damaged: {error}") from None
    try:
        if card["format"] != FORMAT:
            raise UserError(f"the agent in {folder} has format {card['format']}; this version reads {FORMAT}")
        seeds = config.parse_seeds(card["run"]["seeds"])
        run = replace(config.Run(), {**card["run"], "seeds": seeds})
        module = algos.find(run.algo)
        algo_config = replace(algos.default_config(run.algo, card["config"].get("base")), card["config"])
        spec, step = Spec(int(card["obs"]), int(card["action"])), int(card["step"])
        if min(spec) < 1:
            raise ValueError(f"sizes {tuple(spec)}")
    except UserError:
        raise
    except (KeyError, TypeError, AttributeError, ValueError, OverflowError) as error:
        raise UserError(f"the agent in {folder} is damaged: agent.json lacks or garbles {error}") from None

    algo = algos.build(run.algo, algo_config, run.normalise_obs)

    def template(key: jax.Array) -> PyTree:
        return algo.agent(algo.init(key, spec, module.hyper(algo_config)))

    lanes = len(run.seeds)
    expected = jax.eval_shape(vmap(template), random.split(random.key(0), lanes))
    try:
        agents = jax.tree.map(jnp.asarray, filled(expected, arrays))
    except ValueError as error:
        raise UserError(f"the agent in {folder} is damaged: {error}") from None
    return Agent(run, algo_config, step, agents)
