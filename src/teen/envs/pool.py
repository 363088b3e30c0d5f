"""EnvPool: the MuJoCo tasks of Gymnasium and DeepMind Control, stepped in parallel by C++ threads.

Its traps, and what is done about them: it resets by itself on the step after an end, so finished copies are reset
at once by their numbers; seeds are fixed when a pool is made, so it is made at the first reset, and seeds given
later have no effect (the random streams go on); dict observations come with keys and an order of their own; rewards
are float32; it links libEGL even where nothing is drawn.
"""

import os
import time
from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np

from ..errors import CopyFault, UserError, one_line
from ..spec import Spec
from . import names
from .adapter import Results
from .bounds import Bounds
from .state import EnvState, UnknownState

INSTALL = "pip install 'teen-rl[fast]'"


@cache
def unavailable() -> str:
    """Why EnvPool cannot be used here; empty when it can."""
    try:
        import envpool.mujoco.dmc.registration
        import envpool.mujoco.gym.registration  # noqa: F401
    except ImportError as error:
        if "libEGL" in str(error) or "libOpenGL" in str(error) or "libGL" in str(error):
            return (
                f"EnvPool lacks a system library ({error}): install it, on Debian with apt install libegl1 libopengl0"
            )
        return f"EnvPool is not installed: {INSTALL}"
    return ""


def offers(name: str) -> bool:
    """Whether EnvPool has this MuJoCo task. Its other families are left out: they differ from Gymnasium's."""
    if unavailable() or ":" in name:
        return False
    import envpool
    from envpool.mujoco.gym.registration import gym_mujoco_envs

    if names.is_suite(name):
        return bool(names.observation_keys(name)) and names.envpool_id(name) in envpool.list_all_envs()
    return any(name == f"{task}-{v}" for task, versions, _ in gym_mujoco_envs for v in versions)


class EnvPoolEnvs:
    def __init__(self, name: str, count: int):
        if reason := unavailable():
            raise UserError(f"--backend envpool cannot be used: {reason}")
        if not offers(name):
            raise UserError(f"EnvPool does not offer {name!r}; try --backend gymnasium, or see teen envs")
        import envpool

        self.name, self.count = name, count
        spec = envpool.make_spec(names.envpool_id(name))
        self.bounds = Bounds.of(name, spec.gymnasium_action_space)
        self._keys = names.observation_keys(name)
        space = spec.gymnasium_observation_space
        sizes = [int(np.prod(space[key].shape)) for key in self._keys] if self._keys else [space.shape[0]]
        self.spec = Spec(sum(sizes), self.bounds.size)
        self._pool: Any = None
        self._all = np.arange(count, dtype=np.int32)
        self._since: float | None = None

    def __len__(self) -> int:
        return self.count

    def flatten(self, obs: Any) -> np.ndarray:
        """A single observation, as Gymnasium or the suite gives it."""
        rows = {k: np.asarray(v)[None] for k, v in obs.items()} if self._keys else np.asarray(obs)[None]
        return self._rows(rows).reshape(-1)

    def _rows(self, obs: Any) -> np.ndarray:
        if self._keys:
            columns = [np.asarray(obs[key]) for key in self._keys]
            obs = np.concatenate([c.reshape(len(c), -1) for c in columns], axis=1)
        return np.asarray(obs, np.float32)

    def scale(self, actions: np.ndarray) -> np.ndarray:
        return self.bounds.scale(actions)

    def reset(self, ids: Sequence[int], seeds: Sequence[int] | None = None) -> np.ndarray:
        self._since = time.monotonic()
        try:
            if self._pool is None:
                self._pool = self._make(ids, seeds)
                self._state_keys = self._pool._state_keys
            obs, info = self._pool.reset(np.asarray(ids, np.int32))
        except RuntimeError as error:
            raise CopyFault(None, f"reset raised {one_line(error)}") from error
        finally:
            self._since = None
        started: np.ndarray = self._rows(obs)[_order(info["env_id"], ids)]
        return started

    def _make(self, ids: Sequence[int], seeds: Sequence[int] | None) -> Any:
        import envpool

        # A copy that is not asked for yet goes on counting from the one before it.
        asked = dict(zip(ids, seeds or [], strict=False))
        everyone = [asked.get(0, 0)]
        for i in range(1, self.count):
            everyone.append(asked.get(i, everyone[-1] + 1))
        return envpool.make(
            names.envpool_id(self.name),
            env_type="gymnasium",
            num_envs=self.count,
            seed=[int(seed) for seed in everyone],
            num_threads=min(self.count, os.cpu_count() or 1),
        )

    # What the pool's Python wrapper sends and receives, without its bookkeeping, which costs a quarter of a step of
    # ten HalfCheetahs.
    def send(self, ids: Sequence[int], actions: np.ndarray) -> None:
        self._sent = numbers = self._all if ids == range(self.count) else np.asarray(ids, np.int32)
        scaled = np.ascontiguousarray(self.scale(actions), np.float64)
        self._since = time.monotonic()
        self._pool._send([numbers, numbers, scaled])

    def receive(self) -> Results:
        numbers = self._sent
        try:
            state = dict(zip(self._state_keys, self._pool._recv(), strict=True))
        except RuntimeError as error:
            raise CopyFault(None, f"step raised {one_line(error)}") from error
        finally:
            self._since = None
        obs = {key: state[f"obs:{key}"] for key in self._keys} if self._keys else state["obs"]
        truncated = state["trunc"]
        terminated = state["done"] & ~truncated
        results = self._rows(obs), state["reward"].astype(np.float64), terminated, truncated
        found = state["info:env_id"]
        if (found == numbers).all():
            return results
        rows = _order(found, numbers)
        return results[0][rows], results[1][rows], terminated[rows], truncated[rows]

    def busy(self) -> tuple[int | None, float] | None:
        return None if self._since is None else (None, self._since)

    def capture(self, copy: int) -> EnvState:
        raise UnknownState("EnvPool cannot save the state of its simulators")

    def restore(self, copy: int, state: EnvState) -> None:
        raise ValueError("EnvPool cannot take over a simulator's state")

    def close(self) -> None:
        if self._pool is not None:
            self._pool.close()


def _order(found: np.ndarray, wanted: Sequence[int] | np.ndarray) -> np.ndarray:
    """Where each wanted copy stands among the results."""
    place = np.empty(int(found.max()) + 1, int)
    place[found] = np.arange(len(found))
    wanted_places: np.ndarray = place[np.asarray(wanted)]
    return wanted_places
