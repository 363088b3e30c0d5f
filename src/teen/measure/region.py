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

from ..errors import UserError
from ..spec import AnyAlgorithm, Spec
from .entropy import Normaliser, entropy
from .plays import acting
from .rollouts import Scene, play

ROWS = 1000  # states of each agent
AXES, BINS = 2, 30  # of the grid in the first principal components
PURPOSE = 4


class Region(NamedTuple):
    """Where agents have been, by name, each with the same number of states."""

    names: list[str]
    states: np.ndarray  # (name, row, obs)
    points: np.ndarray  # (name, row, 2): one t-SNE of all
    cells: np.ndarray  # (name,) occupied cells of one grid for all
    entropy: np.ndarray  # (name,) in nats, of the states normalised together
    overlap: np.ndarray  # (name, name): cells of both per cell of either


def explored(scene: Scene, episodes: int = 10) -> list[list[np.ndarray]]:
    """Return the states, (step, obs), of each episode that each lane acts as in training, with noise."""
    starts = scene.starts(PURPOSE, episodes)
    memos = _begin(scene.algo, scene.envs.spec)(scene.configs, starts)
    played = play(scene, acting, memos, starts)
    return [[t.obs for t in trajectories] for trajectories in played]


@cache
def _begin(algo: AnyAlgorithm, spec: Spec) -> Any:
    return jax.jit(vmap(vmap(lambda cfg, seed: algo.begin(cfg, random.key(seed), spec), (None, 0))))


def region(visited: Mapping[str, Sequence[np.ndarray]], rows: int = ROWS, seed: int = 0) -> Region:
    """Compare the states, (step, obs), of each agent's episodes. Where one has fewer than `rows`, all are cut to that
    number."""
    rng = np.random.default_rng(seed)
    rows = min(rows, *(sum(map(len, episodes)) for episodes in visited.values()))
    lengths = {name: [len(episode) for episode in episodes] for name, episodes in visited.items()}
    chosen = {name: np.sort(rng.choice(sum(lengths[name]), rows, replace=False)) for name in visited}
    states = np.stack([np.concatenate(episodes)[chosen[name]] for name, episodes in visited.items()])
    halves = [np.repeat(np.arange(len(n)) % 2, n)[chosen[name]] for name, n in lengths.items()]  # every other episode
    points = together(states)
    cells = occupied(points)
    return Region(
        list(visited),
        states,
        embedding(points, seed),
        np.array([len(occupied_cells) for occupied_cells in cells]),
        np.array([entropy(sample, half) for sample, half in zip(points, halves, strict=True)]),
        np.array([[len(a & b) / len(a | b) for b in cells] for a in cells]),
    )


def together(states: np.ndarray) -> np.ndarray:
    """Normalise (name, row, obs) by the mean and deviation of all."""
    return Normaliser.of(states.reshape(-1, states.shape[-1]))(states)


def occupied(points: np.ndarray) -> list[set[tuple[int, ...]]]:
    """Return the cells in which each has a state, of BINS cells along each of the first principal components of all."""
    flat = points.reshape(-1, points.shape[-1])
    _, directions = np.linalg.eigh(np.cov(flat.T).reshape(flat.shape[1], -1))  # the last has the largest variance
    along = points @ directions[:, ::-1][:, :AXES]
    low, high = along.min((0, 1)), along.max((0, 1))
    numbers = ((along - low) / np.where(high > low, high - low, 1) * BINS).astype(int).clip(0, BINS - 1)
    return [set(map(tuple, cells.tolist())) for cells in numbers]


def check_installed() -> None:
    try:
        import sklearn.manifold  # noqa: F401
    except ImportError as error:
        raise UserError(f"t-SNE needs scikit-learn: pip install 'teen-rl[analysis]' ({error})") from None


def embedding(points: np.ndarray, seed: int = 0) -> np.ndarray:
    """Map (name, row, dim) to (name, row, 2) by one t-SNE (van der Maaten & Hinton 2008) of all."""
    check_installed()
    from sklearn.manifold import TSNE

    flat = points.reshape(-1, points.shape[-1])
    flat = np.pad(flat, ((0, 0), (0, max(2 - flat.shape[1], 0))))  # it starts from two principal components
    perplexity = min(30.0, (len(flat) - 1) / 3)
    with threadpool_limits(1):  # its threads wait for each other in a loop: on a busy machine ten times as long
        two = TSNE(2, perplexity=perplexity, init="pca", random_state=seed).fit_transform(flat.astype(np.float32))
    return np.asarray(two, float).reshape(*points.shape[:2], 2)
