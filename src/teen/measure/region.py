"""The region that agents explore: the paper's picture, and numbers that need no picture.

t-SNE keeps neighbours together and says nothing of areas and distances, so coverage is counted beside it.
"""

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple

import jax
import numpy as np
from jax import random, vmap
from threadpoolctl import threadpool_limits

from .. import envs
from ..disk.agent import Agent
from ..errors import UserError
from ..spec import Algorithm
from .entropy import Normaliser, entropy
from .plays import acting
from .rollouts import Scene, play

ROWS = 1000  # states of each agent
AXES, BINS = 2, 30  # of the grid in the first principal components
PURPOSE = 4


class Region(NamedTuple):
    """Of agents by name, each with the same number of states."""

    names: list[str]
    states: np.ndarray  # (name, row, obs)
    points: np.ndarray  # (name, row, 2): one t-SNE of all
    cells: np.ndarray  # (name,) occupied cells of one grid for all
    entropy: np.ndarray  # (name,) in nats, of the states normalised together
    overlap: np.ndarray  # (name, name): cells of both per cell of either


def explored(scene: Scene, episodes: int = 10) -> list[list[np.ndarray]]:
    """Per lane: the states, (step, obs), of each episode that it acts as in training, noise and all."""
    starts = scene.starts(PURPOSE, episodes)
    memos = _begin(scene.algo)(starts)
    played = play(scene, acting(scene.algo, scene.envs.spec), memos, starts)
    return [[t.obs for t in own] for own in played]


@cache
def _begin(algo: Algorithm) -> Any:
    return jax.jit(vmap(vmap(lambda seed: algo.begin(random.key(seed)))))


def of_agents(
    agents: Mapping[str, Agent],
    episodes: int = 10,
    seed: int = 0,
    rows: int = ROWS,
    trained_with: Mapping[str, int] | None = None,
) -> Region:
    """Of one seed of each, as the paper has it: the one that it was `trained_with`, or else its first. `seed` chooses
    other starts. They must be agents for the same task."""
    tasks = sorted({agent.run.env for agent in agents.values()})
    if len(tasks) != 1:
        raise UserError(f"regions are compared on one task, not on {', '.join(tasks) or 'none'}")
    visited = {}
    for name, agent in agents.items():
        own = (trained_with or {}).get(name, agent.seeds[0])
        if own not in agent.seeds:
            raise UserError(f"{name} has seeds {list(agent.seeds)}, not {own}")
        lane = agent.seeds.index(own)
        pool = envs.make(agent.run.env, episodes, "auto", agent.run.action_repeat)
        try:
            alone = jax.tree.map(lambda leaf, lane=lane: leaf[lane : lane + 1], agent.agents)
            scene = Scene(agent.algo, alone, pool, [own], 2**31 + seed, [0])
            with envs.Watchdog(agent.run.env_timeout, [pool]):
                visited[name] = explored(scene, episodes)[0]
        finally:
            pool.close()
        if not visited[name]:
            raise UserError(f"{name} explores nothing: its actions are not finite")
    return region(visited, rows, seed)


def region(visited: Mapping[str, Sequence[np.ndarray]], rows: int = ROWS, seed: int = 0) -> Region:
    """From the states, (step, obs), of each agent's episodes. Where one has fewer than `rows`, all are cut to that."""
    rng = np.random.default_rng(seed)
    rows = min(rows, *(sum(map(len, episodes)) for episodes in visited.values()))
    chosen = {name: np.sort(rng.choice(sum(map(len, own)), rows, replace=False)) for name, own in visited.items()}
    states = np.stack([np.concatenate(own)[chosen[name]] for name, own in visited.items()])
    halves = [
        np.repeat(np.arange(len(own)) % 2, list(map(len, own)))[chosen[name]] for name, own in visited.items()
    ]  # of every other episode
    points = together(states)
    cells = occupied(points)
    return Region(
        list(visited),
        states,
        embedding(points, seed),
        np.array([len(own) for own in cells]),
        np.array([entropy(own, half) for own, half in zip(points, halves, strict=True)]),
        np.array([[len(a & b) / len(a | b) for b in cells] for a in cells]),
    )


def together(states: np.ndarray) -> np.ndarray:
    """(name, row, obs) -> the same, normalised by the mean and deviation of all."""
    return Normaliser.of(states.reshape(-1, states.shape[-1]))(states)


def occupied(points: np.ndarray) -> list[set[tuple[int, ...]]]:
    """The cells in which each has a state, of BINS cells along each of the first principal components of all."""
    flat = points.reshape(-1, points.shape[-1])
    _, directions = np.linalg.eigh(np.cov(flat.T).reshape(flat.shape[1], -1))  # the last has the largest variance
    along = points @ directions[:, ::-1][:, :AXES]
    low, high = along.min((0, 1)), along.max((0, 1))
    numbers = ((along - low) / np.where(high > low, high - low, 1) * BINS).astype(int).clip(0, BINS - 1)
    return [set(map(tuple, own.tolist())) for own in numbers]


def check_installed() -> None:
    try:
        import sklearn.manifold  # noqa: F401
    except ImportError as error:
        raise UserError(f"t-SNE needs scikit-learn: pip install 'teen-rl[analysis]' ({error})") from None


def embedding(points: np.ndarray, seed: int = 0) -> np.ndarray:
    """(name, row, dim) -> (name, row, 2) by one t-SNE (van der Maaten & Hinton 2008) of all."""
    check_installed()
    from sklearn.manifold import TSNE

    flat = points.reshape(-1, points.shape[-1])
    flat = np.pad(flat, ((0, 0), (0, max(2 - flat.shape[1], 0))))  # it starts from two principal components
    perplexity = min(30.0, (len(flat) - 1) / 3)
    with threadpool_limits(1):  # its threads wait for each other in a loop: on a busy machine ten times as long
        two = TSNE(2, perplexity=perplexity, init="pca", random_state=seed).fit_transform(flat.astype(np.float32))
    return np.asarray(two, float).reshape(*points.shape[:2], 2)
