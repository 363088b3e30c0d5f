"""State-action pairs that members visit while they explore: samples of ρ(s, a | z)."""

from functools import cache
from typing import NamedTuple

import numpy as np

from .. import envs
from .entropy import Normaliser
from .plays import exploring
from .rollouts import Scene, Trajectory, play

COUNT = 500  # of each member
PURPOSE, ROUND = 2, 16  # start seeds of the n-th round are those of purpose 2 + 16 n
RANDOM_COPIES, RANDOM_STEPS = 10, 500  # behind the frozen normaliser


class Visits(NamedTuple):
    """One lane's visits: the same number of every member, half of them from other episodes than the other half."""

    obs: np.ndarray  # (member, count, obs)
    action: np.ndarray  # (member, count, action)
    half: np.ndarray  # (member, count) 0 or 1

    def pairs(self) -> np.ndarray:
        """(member, count, obs + action)"""
        return np.concatenate([self.obs, self.action], -1)


def visit(scene: Scene, episodes: int, count: int = COUNT) -> list[Visits | None]:
    """Return each lane's visits, from at least `episodes` in all and two of each member, and more where needed."""
    size = scene.size
    each = max(2, -(-episodes // size))
    seen: dict[int, list[list[Trajectory]]] = {lane: [] for lane in scene.lanes}  # rounds of (member × episode)
    short = list(scene.lanes)
    while short:
        number = len(seen[short[0]])
        who = np.tile(np.repeat(np.arange(size), each), (len(scene.seeds), 1))
        starts = scene.starts(PURPOSE + ROUND * number, size * each)
        played = play(scene._replace(lanes=short), exploring, who, starts)
        for lane in short:
            seen[lane].append(played[lane])
        short = [lane for lane in short if played[lane] and _rows(seen[lane], size).min() < count // 2]
    return [
        _sampled(seen[lane], size, count, scene.generator(PURPOSE, lane)) if lane in seen and all(seen[lane]) else None
        for lane in range(len(scene.seeds))
    ]


def _halves(rounds: list[list[Trajectory]], size: int) -> list[list[list[Trajectory]]]:
    """Return [member][half]: every other episode."""
    members = [
        [t for played in rounds for t in played[z * len(played) // size : (z + 1) * len(played) // size]]
        for z in range(size)
    ]
    return [[episodes[0::2], episodes[1::2]] for episodes in members]


def _rows(rounds: list[list[Trajectory]], size: int) -> np.ndarray:
    """Return how many steps were seen, (member, half)."""
    return np.array([[sum(len(t.reward) for t in half) for half in halves] for halves in _halves(rounds, size)])


def _sampled(rounds: list[list[Trajectory]], size: int, count: int, rng: np.random.Generator) -> Visits:
    obs, action = [], []
    for halves in _halves(rounds, size):
        for half in halves:
            rows = rng.choice(sum(len(t.reward) for t in half), count // 2, replace=False)
            obs.append(np.concatenate([t.obs for t in half])[rows])
            action.append(np.concatenate([t.action for t in half])[rows])
    half_of = np.tile(np.repeat([0, 1], count // 2), (size, 1))
    shape = size, 2 * (count // 2), -1
    return Visits(np.concatenate(obs).reshape(shape), np.concatenate(action).reshape(shape), half_of)


@cache
def frozen_normaliser(env: str) -> Normaliser:
    """Return the normaliser of pairs that uniform random actions visit: the same for every agent on this task."""
    pool = envs.make(env, RANDOM_COPIES)
    try:
        lanes = envs.Lanes(pool, range(RANDOM_COPIES))
        rng = np.random.default_rng(0)
        pairs = []
        for _ in range(RANDOM_STEPS):
            actions = rng.uniform(-1, 1, (RANDOM_COPIES, pool.spec.action)).astype(np.float32)
            pairs.append(np.concatenate([lanes.obs, actions], 1))
            lanes.step(actions)
    finally:
        pool.close()
    return Normaliser.of(np.concatenate(pairs))
