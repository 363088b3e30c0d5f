"""Gymnasium environments, stepped one after the other in this process.

Gymnasium's own vector environments are not used: they reset by their own rules, and an error inside them
does not say which copy it came from.
"""

from collections.abc import Sequence
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces

from ..errors import UserError
from ..spec import Spec


class GymnasiumEnvs:
    def __init__(self, env_id: str, count: int):
        self.envs = [_make(env_id) for _ in range(count)]
        self.observation_space = _usable_observations(env_id, self.envs[0].observation_space)
        self.action_space = _usable_actions(env_id, self.envs[0].action_space)
        self.spec = Spec(spaces.flatdim(self.observation_space), int(np.prod(self.action_space.shape)))
        self._low = self.action_space.low.astype(np.float64).ravel()
        self._high = self.action_space.high.astype(np.float64).ravel()

    def __len__(self) -> int:
        return len(self.envs)

    def flatten(self, obs: Any) -> np.ndarray:
        return np.asarray(spaces.flatten(self.observation_space, obs), np.float32)

    def scale(self, actions: np.ndarray) -> np.ndarray:
        """[-1, 1] -> the environment's bounds, affinely and per dimension: (id, *action shape)."""
        share = (np.clip(actions, -1, 1).astype(np.float64) + 1) / 2
        scaled = self._low + share * (self._high - self._low)
        shaped: np.ndarray = scaled.reshape(len(actions), *self.action_space.shape)
        return shaped.astype(self.action_space.dtype)

    def reset(self, ids: Sequence[int], seeds: Sequence[int] | None = None) -> np.ndarray:
        seeds_or_none = [None] * len(ids) if seeds is None else seeds
        starts = [self.envs[i].reset(seed=s) for i, s in zip(ids, seeds_or_none, strict=True)]
        return np.stack([self.flatten(obs) for obs, _ in starts])

    def step(
        self, ids: Sequence[int], actions: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        results = [self.envs[i].step(a) for i, a in zip(ids, self.scale(actions), strict=True)]
        obs, reward, terminated, truncated, _ = zip(*results, strict=True)
        return (
            np.stack([self.flatten(o) for o in obs]),
            np.array(reward, np.float64),
            np.array(terminated, bool),
            np.array(truncated, bool),
        )

    def close(self) -> None:
        for env in self.envs:
            env.close()


def _make(env_id: str) -> gymnasium.Env[Any, Any]:
    try:
        return gymnasium.make(env_id)
    except gymnasium.error.Error as error:
        raise UserError(f"environment {env_id!r} cannot be made: {_one_line(error)}") from None
    except ImportError as error:
        raise UserError(f"environment {env_id!r} cannot be imported: {_one_line(error)}") from None


def _one_line(error: Exception) -> str:
    return " ".join(str(error).replace("`", "").split())


def _usable_actions(env_id: str, space: spaces.Space[Any]) -> spaces.Box:
    if not isinstance(space, spaces.Box):
        raise UserError(f"{env_id} has actions of kind {type(space).__name__}; TEEN needs a Box")
    if not (np.isfinite(space.low).all() and np.isfinite(space.high).all()):
        raise UserError(f"{env_id} has unbounded actions {space}; bound them with a wrapper")
    return space


def _usable_observations(env_id: str, space: spaces.Space[Any]) -> spaces.Space[Any]:
    boxes = space.spaces.values() if isinstance(space, spaces.Dict) else [space]
    for box in boxes:
        if isinstance(box, spaces.Box) and box.dtype == np.uint8 and len(box.shape) >= 2:
            raise UserError(f"{env_id} has image observations {box.shape}; TEEN needs numbers, not pixels")
    if not space.is_np_flattenable:
        raise UserError(
            f"{env_id} has observations of kind {type(space).__name__}, which cannot be flattened"
        )
    return space
