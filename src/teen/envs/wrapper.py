"""Environments that pass calls on to others, and action repeat, which is one of them."""

from collections.abc import Sequence

import numpy as np

from .adapter import Envs, Results, step
from .finite import check_reward


class EnvsWrapper:
    """Passes every call on; a wrapper overrides what it changes of `reset`, `send` and `receive`."""

    def __init__(self, envs: Envs):
        self.envs, self.name, self.spec, self.in_python = envs, envs.name, envs.spec, envs.in_python
        self.flatten, self.rows, self.scale = envs.flatten, envs.rows, envs.scale
        self.busy, self.mark_in = envs.busy, envs.mark_in
        self.capture, self.restore, self.close = envs.capture, envs.restore, envs.close

    def __len__(self) -> int:
        return len(self.envs)

    def reset(self, ids: Sequence[int], seeds: Sequence[int] | None = None) -> np.ndarray:
        return self.envs.reset(ids, seeds)

    def send(self, ids: Sequence[int], actions: np.ndarray) -> None:
        self.envs.send(ids, actions)

    def receive(self) -> Results:
        return self.envs.receive()


class Repeated(EnvsWrapper):
    """Takes `times` steps per action and adds up their rewards; stops early where an episode ends."""

    def __init__(self, envs: Envs, times: int):
        super().__init__(envs)
        self.times = times

    def send(self, ids: Sequence[int], actions: np.ndarray) -> None:
        self._sent = ids, actions

    def receive(self) -> Results:
        ids, actions = self._sent
        copies = np.asarray(ids)
        obs = np.empty((len(copies), self.spec.obs), np.float32)
        reward = np.zeros(len(copies))
        terminated, truncated = np.zeros(len(copies), bool), np.zeros(len(copies), bool)
        running = np.arange(len(copies))  # rows whose episode has not ended
        for _ in range(self.times):
            results = step(self.envs, copies[running].tolist(), actions[running])
            obs[running], terminated[running], truncated[running] = results[0], results[2], results[3]
            reward[running] += results[1]
            running = running[~(results[2] | results[3])]
            if not running.size:
                break
        check_reward(reward, ids)
        return obs, reward, terminated, truncated
