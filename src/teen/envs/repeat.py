"""Action repeat: one decision held for several steps of the environment."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from .adapter import Envs, Results, step
from .state import EnvState


class Repeated:
    """`times` steps per decision, rewards added up; an episode that ends in between ends the decision."""

    def __init__(self, envs: Envs, times: int):
        self.envs, self.times = envs, times
        self.name, self.spec = envs.name, envs.spec

    def __len__(self) -> int:
        return len(self.envs)

    def flatten(self, obs: Any) -> np.ndarray:
        return self.envs.flatten(obs)

    def scale(self, actions: np.ndarray) -> np.ndarray:
        return self.envs.scale(actions)

    def reset(self, ids: Sequence[int], seeds: Sequence[int] | None = None) -> np.ndarray:
        return self.envs.reset(ids, seeds)

    def send(self, ids: Sequence[int], actions: np.ndarray) -> None:
        self._sent = ids, actions

    def receive(self) -> Results:
        ids, actions = self._sent
        numbers = np.asarray(ids)
        obs = np.empty((len(numbers), self.spec.obs), np.float32)
        reward = np.zeros(len(numbers))
        terminated, truncated = np.zeros(len(numbers), bool), np.zeros(len(numbers), bool)
        going = np.arange(len(numbers))
        for _ in range(self.times):
            results = step(self.envs, numbers[going].tolist(), actions[going])
            obs[going], terminated[going], truncated[going] = results[0], results[2], results[3]
            reward[going] += results[1]
            going = going[~(results[2] | results[3])]
            if not going.size:
                break
        return obs, reward, terminated, truncated

    def busy(self) -> tuple[int | None, float] | None:
        return self.envs.busy()

    def capture(self, copy: int) -> EnvState:
        return self.envs.capture(copy)

    def restore(self, copy: int, state: EnvState) -> None:
        self.envs.restore(copy, state)

    def close(self) -> None:
        self.envs.close()
