"""What the rest of the project asks of environments, and the same-step tick on top of it."""

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np

from ..spec import Spec, Step


class Envs(Protocol):
    """Several copies of one environment, addressed by number.

    Observations are flat float32, actions lie in [-1, 1] and are mapped to the environment's own bounds.
    """

    spec: Spec

    def __len__(self) -> int: ...

    def flatten(self, obs: Any) -> np.ndarray:
        """An observation as the environment gives it -> (obs,)."""
        ...

    def scale(self, actions: np.ndarray) -> np.ndarray:
        """(row, action) in [-1, 1] -> actions in the environment's own bounds and shape."""
        ...

    def reset(self, ids: Sequence[int], seeds: Sequence[int] | None = None) -> np.ndarray:
        """Starts new episodes: (id, obs). Without seeds the copies' own random streams go on."""
        ...

    def step(
        self, ids: Sequence[int], actions: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """(id, action) -> next observations, rewards, terminated, truncated. Nothing resets by itself."""
        ...

    def close(self) -> None: ...


class Lanes:
    """One training environment per lane, stepped together.

    Same-step: a tick is one true transition of every lane, and a lane that finished is reset at once.
    """

    def __init__(self, envs: Envs, seeds: Sequence[int]):
        self.envs = envs
        self.ids = range(len(envs))
        self.obs = envs.reset(self.ids, seeds)
        self.episodes = np.zeros(len(envs), np.int64)  # finished so far, per lane

    def step(self, actions: np.ndarray) -> Step:
        next_obs, reward, terminated, truncated = self.envs.step(self.ids, actions)
        finished = np.flatnonzero(terminated | truncated)
        obs = next_obs
        if finished.size:
            obs = next_obs.copy()
            obs[finished] = self.envs.reset(finished.tolist())
            self.episodes[finished] += 1
        self.obs = obs
        return Step(next_obs, reward, terminated, truncated, obs)
