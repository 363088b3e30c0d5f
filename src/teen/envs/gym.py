"""Gymnasium environments, and DeepMind Control through Shimmy, stepped one after the other in this process.

Gymnasium's vector environments are not used: they reset by rules of their own, and an error inside them does not say
which copy raised it.
"""

import re
import time
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import gymnasium
import mujoco
import numpy as np

from ..errors import CopyFault, UserError, one_line
from ..snapshot import Snapshot
from . import names
from .adapter import Results
from .flat import FlatEnvs
from .state import UnknownState, capture, restore


class GymnasiumEnvs(FlatEnvs):
    def __init__(self, name: str, count: int):
        self.envs = [make_one(name) for _ in range(count)]
        super().__init__(name, self.envs[0].observation_space, self.envs[0].action_space)
        self._busy: tuple[int, float] | None = None

    def __len__(self) -> int:
        return len(self.envs)

    def reset(self, ids: Sequence[int], seeds: Sequence[int] | None = None) -> np.ndarray:
        rows = []
        for row, i in enumerate(ids):
            with self._busy_with(i, "reset"):
                obs, _ = self.envs[i].reset(seed=None if seeds is None else seeds[row])
                rows.append(self._flatten_checked(obs))
        return np.stack(rows)

    def send(self, ids: Sequence[int], actions: np.ndarray) -> None:
        self._sent = ids, actions

    def receive(self) -> Results:
        ids, actions = self._sent
        results = []
        for i, action in zip(ids, self.scale(actions), strict=True):
            with self._busy_with(i, "step"):
                obs, reward, terminated, truncated, _ = self.envs[i].step(action)
                results.append((self._flatten_checked(obs), float(reward), bool(terminated), bool(truncated)))
        obs, reward, terminated, truncated = zip(*results, strict=True)
        return np.stack(obs), np.array(reward), np.array(terminated), np.array(truncated)

    @contextmanager
    def _busy_with(self, copy: int, what: str) -> Iterator[None]:
        """Turn any error raised meanwhile into a CopyFault of this copy."""
        self._busy = (copy, time.monotonic())
        try:
            yield
        except CopyFault as fault:
            raise CopyFault(copy, fault.reason) from fault.__cause__
        except Exception as error:
            raise CopyFault(copy, f"{what} raised {described(error)}") from error
        finally:
            self._busy = None

    def _flatten_checked(self, obs: Any) -> np.ndarray:
        flat = self.flatten(obs)
        if flat.shape != (self.spec.obs,):
            raise CopyFault(None, f"returned {flat.size} observation numbers, not the {self.spec.obs} promised")
        return flat

    def busy(self) -> tuple[int | None, float] | None:
        return self._busy

    def capture(self, copy: int) -> Snapshot:
        try:
            return capture(self.envs[copy])
        except UnknownState:
            raise
        except Exception as error:  # raised by the environment's save_state
            raise UnknownState(f"saving its state raised {described(error)}") from error

    def restore(self, copy: int, state: Snapshot) -> None:
        restore(self.envs[copy], state)

    def close(self) -> None:
        for env in self.envs:
            env.close()


def described(error: Exception) -> str:
    return f"{type(error).__name__}: {one_line(error)}"


def make_one(name: str) -> gymnasium.Env[Any, Any]:
    """Return one environment. A UserError says why it cannot be made."""
    registered = name
    if names.is_suite(name):
        register_suite(name)
        registered = f"{name}-v0"  # Shimmy registers the suite's tasks as version 0
    try:
        with warnings.catch_warnings(), quiet_mujoco():
            # An older version is often chosen on purpose: the paper used v3.
            warnings.filterwarnings("ignore", message=".*is out of date.*")
            return gymnasium.make(registered)
    except (gymnasium.error.Error, ImportError) as error:
        raise UserError(f"environment {name!r} cannot be made: {one_line(error)}{_advice(name)}") from None


@contextmanager
def quiet_mujoco() -> Iterator[None]:
    """Silence MuJoCo's warnings: a model with a deprecated attribute would print one for every copy."""
    mujoco.set_mju_user_warning(lambda message: None)
    try:
        yield
    finally:
        mujoco.set_mju_user_warning(None)


def _advice(name: str) -> str:
    if re.search(r"-v[23]$", name) and names.paper_use(name):
        newer = re.sub(r"-v\d+$", "-v4", name)
        return f"; v3 needs EnvPool (pip install 'teen-rl[fast]'), or take {newer}, the same task on today's simulator"
    if names.is_suite(name):
        close = [task for task in names.suite_observations() if task.split("-")[0] in name]
        return f"; the suite has {', '.join(close)}" if close else "; teen envs lists the suite's tasks"
    return ""


def register_suite(name: str) -> None:
    """Register the suite's tasks with Gymnasium. A UserError names what is not installed."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # dm_control's renderers warn without a display; nothing is rendered here
            # Optional, and slow to import. Importing Shimmy registers the tasks.
            import shimmy  # noqa: F401
            from dm_control import suite  # noqa: F401
    except ImportError as error:
        raise UserError(
            f"environment {name!r} needs Shimmy and dm_control, or EnvPool: "
            f"pip install 'teen-rl[dmc]' or 'teen-rl[fast]' ({one_line(error)})"
        ) from None
