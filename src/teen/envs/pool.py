"""EnvPool: the MuJoCo tasks of Gymnasium and DeepMind Control, stepped in parallel by C++ threads.

Its peculiarities, and what is done about them:

- It resets a copy on the step after an episode's end, so finished copies are reset at once, by number.
- Seeds are fixed when a pool is made, so it is made at the first reset. Seeds given later have no effect: every copy
  goes on drawing from its random state.
- Dict observations have other keys in another order than the suite's.
- Rewards are float32.
- It links libEGL even where nothing is rendered.
- It contains a MuJoCo. That of 1.2.0 to 1.2.5 is 3.6.0, which like 3.5.0 misses contacts of the suite's finger: an
  agent that scores 984 elsewhere scores 9 there.

EnvPool is optional and slow to import, so functions import it.
"""

import os
import re
from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np

from ..errors import CopyFault, UserError, one_line
from ..snapshot import Snapshot
from . import names
from .adapter import Results
from .finite import check_obs, check_reward
from .flat import IDLE, FlatEnvs
from .state import UnknownState

SOUND = (1, 2, 6)  # the first version of EnvPool in which the suite's finger makes contact


@cache
def unavailable() -> str:
    """Return why EnvPool cannot be used on this machine; empty when it can."""
    try:
        import envpool.mujoco.dmc.registration
        import envpool.mujoco.gym.registration  # noqa: F401
    except ImportError as error:
        if "libEGL" in str(error) or "libOpenGL" in str(error) or "libGL" in str(error):
            return (
                f"EnvPool lacks a system library ({error}): install it, on Debian with apt install libegl1 libopengl0"
            )
        return "EnvPool is not installed: pip install 'teen-rl[fast]'"
    return ""


def tasks() -> list[str]:
    """Return EnvPool's MuJoCo tasks of Gymnasium. Other families are left out: theirs differ from Gymnasium's."""
    if unavailable():
        return []
    from envpool.mujoco.gym.registration import gym_mujoco_envs

    return [f"{task}-{version}" for task, versions, _ in gym_mujoco_envs for version in versions]


def flaw(name: str) -> str:
    """Return why a task that EnvPool has is not stepped with it; empty for most, and where EnvPool is missing."""
    if not name.startswith(f"{names.SUITE}finger-") or unavailable() or _version() >= SOUND:
        return ""
    return (
        f"in EnvPool before {'.'.join(map(str, SOUND))} the finger passes through what it should turn: "
        "install a newer one, which needs Python 3.12"
    )


def _version() -> tuple[int, ...]:
    import envpool

    return tuple(int(number) for number in re.findall(r"\d+", envpool.__version__)[:3])


def lacks(name: str) -> str:
    """Return why EnvPool cannot step this task, of Gymnasium's MuJoCo or of the suite; empty where it can."""
    own = ":" in name  # for somebody's own task EnvPool need not be imported
    if not own and (reason := unavailable()):
        return f"--backend envpool cannot be used: {reason}"
    if own or not _has(name):
        return f"EnvPool does not offer {name!r}; try --backend gymnasium, or see teen envs"
    if reason := flaw(name):
        return f"--backend envpool cannot be used for {name}: {reason}, or take --backend auto --collector auto"
    return ""


def _has(name: str) -> bool:
    if not names.is_suite(name):
        return name in tasks()
    import envpool

    return bool(names.observation_keys(name)) and names.envpool_id(name) in envpool.list_all_envs()


class EnvPoolEnvs(FlatEnvs):
    in_python = False

    def __init__(self, name: str, count: int):
        if reason := lacks(name):
            raise UserError(reason)
        import envpool

        spec = envpool.make_spec(names.envpool_id(name))
        super().__init__(name, spec.gymnasium_observation_space, spec.gymnasium_action_space)
        self.count = count
        self._pool: Any = None
        self._all = np.arange(count, dtype=np.int32)

    def __len__(self) -> int:
        return self.count

    def _rows(self, obs: Any) -> np.ndarray:
        if self._keys:
            columns = [np.asarray(obs[key]) for key in self._keys]
            obs = np.concatenate([c.reshape(len(c), -1) for c in columns], axis=1)
        with np.errstate(over="ignore"):  # infinity is reported as such
            return np.asarray(obs, np.float32)

    def reset(self, ids: Sequence[int], seeds: Sequence[int] | None = None) -> np.ndarray:
        mark = self._begin()
        try:
            if self._pool is None:
                self._pool = self._make(ids, seeds)
                self._state_keys = self._pool._state_keys
            obs, info = self._pool.reset(np.asarray(ids, np.int32))
        except RuntimeError as error:
            raise CopyFault(None, f"reset raised {one_line(error)}") from error
        finally:
            mark[0] = IDLE
        rows = np.take(self._rows(obs), _order(info["env_id"], ids), axis=0)
        check_obs(rows, ids, "reset")
        return rows

    def _make(self, ids: Sequence[int], seeds: Sequence[int] | None) -> Any:
        import envpool

        # A copy without a seed gets the one after its predecessor's.
        given = dict(zip(ids, seeds or [], strict=False))
        pool_seeds = [given.get(0, 0)]
        for i in range(1, self.count):
            pool_seeds.append(given.get(i, pool_seeds[-1] + 1))
        return envpool.make(
            names.envpool_id(self.name),
            env_type="gymnasium",
            num_envs=self.count,
            seed=[int(seed) for seed in pool_seeds],
            num_threads=min(self.count, os.cpu_count() or 1),
        )

    # `send` and `receive` bypass the pool's Python wrapper, whose bookkeeping takes a quarter of the time of a step of
    # ten HalfCheetahs.
    def send(self, ids: Sequence[int], actions: np.ndarray) -> None:
        self._sent = numbers = self._all if ids == range(self.count) else np.asarray(ids, np.int32)
        scaled = np.ascontiguousarray(self.scale(actions), np.float64)
        self._pool._send([numbers, numbers, scaled])

    def receive(self) -> Results:
        mark = self._begin()  # not in `send`: what the host does in between may take long and is not the simulator's
        try:
            state = dict(zip(self._state_keys, self._pool._recv(), strict=True))
        except RuntimeError as error:
            raise CopyFault(None, f"step raised {one_line(error)}") from error
        finally:
            mark[0] = IDLE
        obs = {key: state[f"obs:{key}"] for key in self._keys} if self._keys else state["obs"]
        reward, truncated, ids = state["reward"].astype(np.float64), state["trunc"], state["info:env_id"]
        terminated = state["done"] & ~truncated
        results = self._rows(obs), reward, terminated, truncated
        check_obs(results[0], ids, "step")
        check_reward(reward, ids)
        if (ids == self._sent).all():
            return results
        rows = _order(ids, self._sent)
        return results[0][rows], reward[rows], terminated[rows], truncated[rows]

    def capture(self, copy: int) -> Snapshot:
        raise UnknownState("EnvPool cannot save the state of its simulators")

    def restore(self, copy: int, state: Snapshot) -> None:
        raise ValueError("EnvPool cannot take over a simulator's state")

    def close(self) -> None:
        if self._pool is not None and not self.busy():  # it would wait for a simulator that hangs
            self._pool.close()


def _order(ids: np.ndarray, wanted: Sequence[int] | np.ndarray) -> np.ndarray:
    """Return the row of each wanted copy among results that belong to `ids`."""
    row_of = np.empty(int(ids.max()) + 1, int)
    row_of[ids] = np.arange(len(ids))
    return np.take(row_of, wanted)
