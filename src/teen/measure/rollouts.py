"""Episodes of all lanes, stepped together, with everything that was seen on the way."""

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, NamedTuple

import jax
import numpy as np
from jax import Array, random, vmap

from ..engine.evaluate import episode_seeds, rollout
from ..envs import Envs
from ..envs.adapter import Results
from ..envs.wrapper import EnvsWrapper
from ..spec import AnyAlgorithm, PyTree, Spec
from .plays import Play

PURPOSES = 1_000_000  # beyond the numbers of the policies whose starts evaluations draw


class Scene(NamedTuple):
    """Whose episodes, and where they are played."""

    algo: AnyAlgorithm
    configs: Any  # leaves (lane,)
    weights: PyTree  # leaves (lane, ...)
    envs: Envs  # the same number of copies for each lane
    seeds: Sequence[int]  # of the lanes
    step: int  # with the seeds, it decides all that is random
    lanes: Sequence[int]  # those that count
    wanted: Callable[[], bool] = lambda: True

    @property
    def size(self) -> int:
        """Policies of a lane that may be played: its members, or 1."""
        return max(self.algo.size(self.configs), 1)

    @property
    def block(self) -> int:
        """Episodes of a lane that are stepped side by side."""
        return len(self.envs) // len(self.seeds)

    def starts(self, purpose: int, episodes: int) -> np.ndarray:
        """Return (lane, episode) start seeds, others for each purpose."""
        return episode_seeds(self.seeds, self.step, [PURPOSES + purpose], episodes)

    def generator(self, purpose: int, lane: int) -> np.random.Generator:
        return np.random.default_rng([self.seeds[lane], self.step, PURPOSES + purpose])

    def lane(self, number: int) -> tuple[Any, PyTree]:
        """Return one lane's config and weights."""
        config, weights = jax.tree.map(lambda leaf: leaf[number], (self.configs, self.weights))
        return config, weights


class Trajectory(NamedTuple):
    """One episode."""

    obs: np.ndarray  # (step, obs)
    action: np.ndarray  # (step, action)
    reward: np.ndarray  # (step,) the environment's
    next_obs: np.ndarray  # (step, obs)
    bonus: np.ndarray  # (step,) of the action taken
    terminated: bool  # else the clock ran out


def play(scene: Scene, policy: Play, who: PyTree, starts: np.ndarray) -> list[list[Trajectory]]:
    """Return each lane's episodes, one for each entry of `starts`, (lane, episode); `who` has leaves
    (lane, episode, ...). A lane that does not count, or whose actions are not finite, has none."""
    if not scene.lanes:
        return [[] for _ in scene.seeds]
    blocks = [slice(first, first + scene.block) for first in range(0, starts.shape[1], scene.block)]
    played = [_side_by_side(scene, policy, jax.tree.map(lambda x: x[:, b], who), starts[:, b]) for b in blocks]  # noqa: B023
    return [[t for block in lane for t in block] if all(lane) else [] for lane in zip(*played, strict=True)]


def _side_by_side(scene: Scene, policy: Play, who: PyTree, starts: np.ndarray) -> list[list[Trajectory]]:
    lanes, episodes = starts.shape
    recording = RecordingEnvs(scene.envs)
    act = _program(policy, scene.algo, scene.envs.spec)
    bonuses: list[np.ndarray] = []

    def padded(rows: np.ndarray) -> np.ndarray:
        """Fill a whole block: one shape, one compiled program."""
        return np.concatenate([rows, np.repeat(rows[:, -1:], scene.block - episodes, 1)], 1)

    who, keys = jax.tree.map(padded, who), padded(starts)

    def decide(obs: np.ndarray) -> np.ndarray:
        action, bonus = act(scene.configs, scene.weights, who, padded(obs), keys, len(bonuses))
        bonuses.append(np.asarray(bonus, float))
        return np.asarray(action)[:, :episodes]

    scores, _ = rollout(recording, decide, scene.seeds, starts, scene.lanes, scene.wanted)
    bonus = np.stack(bonuses).reshape(len(bonuses), -1)  # (step, copy)
    whole = np.isfinite(scores).all(1)
    return [
        [recording.trajectory(lane * scene.block + e, bonus) for e in range(episodes)] if whole[lane] else []
        for lane in range(lanes)
    ]


@cache
def _program(policy: Play, algo: AnyAlgorithm, spec: Spec) -> Callable[..., tuple[Array, Array]]:
    def one(cfg: Any, weights: PyTree, who: PyTree, obs: Array, start: Array, step: Array) -> tuple[Array, Array]:
        return policy(algo, spec, cfg, weights, who, obs, random.fold_in(random.key(start), step))

    episodes = vmap(one, (None, None, 0, 0, 0, None))
    return jax.jit(vmap(episodes, (0, 0, 0, 0, 0, None)))


class RecordingEnvs(EnvsWrapper):
    """Environments that remember what happened in them since their copies were last reset."""

    def __init__(self, envs: Envs):
        super().__init__(envs)
        count = len(envs)
        self._obs: list[np.ndarray] = []  # (copy, obs) each, one more than there are steps
        self._actions: list[np.ndarray] = []
        self._rewards: list[np.ndarray] = []
        self._lengths = np.zeros(count, int)
        self._terminated = np.zeros(count, bool)
        self._ids: Sequence[int] = ()

    def trajectory(self, copy: int, bonus: np.ndarray) -> Trajectory:
        length = self._lengths[copy]
        obs = np.stack([row[copy] for row in self._obs[: length + 1]])
        action = np.stack([row[copy] for row in self._actions[:length]])
        reward = np.array([row[copy] for row in self._rewards[:length]])
        return Trajectory(obs[:-1], action, reward, obs[1:], bonus[:length, copy], bool(self._terminated[copy]))

    def reset(self, ids: Sequence[int], seeds: Sequence[int] | None = None) -> np.ndarray:
        started = super().reset(ids, seeds)
        obs = np.zeros((len(self), self.spec.obs), np.float32)
        obs[list(ids)] = started
        self._obs = [obs]
        return started

    def send(self, ids: Sequence[int], actions: np.ndarray) -> None:
        self._ids = ids
        taken = np.zeros((len(self), self.spec.action), np.float32)
        taken[list(ids)] = actions
        self._actions.append(taken)
        super().send(ids, actions)

    def receive(self) -> Results:
        results = super().receive()
        ids = list(self._ids)
        obs, reward = self._obs[-1].copy(), np.zeros(len(self))
        obs[ids], reward[ids], self._terminated[ids] = results[0], results[1], results[2]
        self._obs.append(obs)
        self._rewards.append(reward)
        self._lengths[ids] += 1
        return results
