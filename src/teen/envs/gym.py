"""Gymnasium environments, DeepMind Control through Shimmy among them, stepped one after the other in this process.

Gymnasium's own vector environments are not used: they reset by their own rules, and an error inside them
does not say which copy it came from.
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
from gymnasium import spaces

from ..errors import CopyFault, UserError, one_line
from ..spec import Spec
from . import names
from .adapter import Results
from .bounds import Bounds
from .state import EnvState, UnknownState, capture, restore


class GymnasiumEnvs:
    def __init__(self, name: str, count: int):
        self.name = name
        self.envs = [make_one(name) for _ in range(count)]
        self.observation_space = usable_observations(name, self.envs[0].observation_space)
        self.bounds = Bounds.of(name, self.envs[0].action_space)
        self.spec = Spec(spaces.flatdim(self.observation_space), self.bounds.size)
        self._keys = names.observation_keys(name)
        self._busy: tuple[int, float] | None = None

    def __len__(self) -> int:
        return len(self.envs)

    def flatten(self, obs: Any) -> np.ndarray:
        if self._keys:  # Gymnasium sorts a dict's keys by name; the suite has an order of its own
            return np.concatenate([np.ravel(obs[key]) for key in self._keys], dtype=np.float32)
        return np.asarray(spaces.flatten(self.observation_space, obs), np.float32)

    def scale(self, actions: np.ndarray) -> np.ndarray:
        return self.bounds.scale(actions)

    def reset(self, ids: Sequence[int], seeds: Sequence[int] | None = None) -> np.ndarray:
        rows = []
        for row, i in enumerate(ids):
            with self._busy_with(i, "reset"):
                obs, _ = self.envs[i].reset(seed=None if seeds is None else seeds[row])
                rows.append(self._checked(obs))
        return np.stack(rows)

    def send(self, ids: Sequence[int], actions: np.ndarray) -> None:
        self._sent = ids, actions

    def receive(self) -> Results:
        ids, actions = self._sent
        results = []
        for i, action in zip(ids, self.scale(actions), strict=True):
            with self._busy_with(i, "step"):
                obs, reward, terminated, truncated, _ = self.envs[i].step(action)
                results.append((self._checked(obs), float(reward), bool(terminated), bool(truncated)))
        obs, reward, terminated, truncated = zip(*results, strict=True)
        return np.stack(obs), np.array(reward), np.array(terminated), np.array(truncated)

    @contextmanager
    def _busy_with(self, copy: int, what: str) -> Iterator[None]:
        """Whatever goes wrong meanwhile is that copy's fault."""
        self._busy = (copy, time.monotonic())
        try:
            yield
        except CopyFault as fault:
            raise CopyFault(copy, fault.reason) from fault.__cause__
        except Exception as error:
            raise CopyFault(copy, f"{what} raised {described(error)}") from error
        finally:
            self._busy = None

    def _checked(self, obs: Any) -> np.ndarray:
        flat = self.flatten(obs)
        if flat.shape != (self.spec.obs,):
            raise CopyFault(None, f"returned {flat.size} observation numbers, not the {self.spec.obs} promised")
        return flat

    def busy(self) -> tuple[int | None, float] | None:
        return self._busy

    def capture(self, copy: int) -> EnvState:
        try:
            return capture(self.envs[copy])
        except UnknownState:
            raise
        except Exception as error:  # an environment's own save_state
            raise UnknownState(f"saving its state raised {described(error)}") from error

    def restore(self, copy: int, state: EnvState) -> None:
        restore(self.envs[copy], state)

    def close(self) -> None:
        for env in self.envs:
            env.close()


def described(error: Exception) -> str:
    return f"{type(error).__name__}: {one_line(error)}"


def make_one(name: str) -> gymnasium.Env[Any, Any]:
    if names.is_suite(name):
        register_suite(name)
    try:
        with warnings.catch_warnings(), quiet_mujoco():
            # An older version is often chosen on purpose: the paper's numbers are v3's.
            warnings.filterwarnings("ignore", message=".*is out of date.*")
            return gymnasium.make(names.gymnasium_id(name))
    except (gymnasium.error.Error, ImportError) as error:
        raise UserError(f"environment {name!r} cannot be made: {one_line(error)}{_advice(name)}") from None


@contextmanager
def quiet_mujoco() -> Iterator[None]:
    """Models that still use a deprecated attribute would otherwise say so on standard error, once for every copy."""
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
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # without a display, dm_control's renderers warn; nothing is drawn here
            import shimmy  # noqa: F401  # registers the suite's tasks with Gymnasium
            from dm_control import suite  # noqa: F401
    except ImportError as error:
        raise UserError(
            f"environment {name!r} needs Shimmy and dm_control, or EnvPool: "
            f"pip install 'teen-rl[dmc]' or 'teen-rl[fast]' ({one_line(error)})"
        ) from None


def usable_observations(name: str, space: spaces.Space[Any]) -> spaces.Space[Any]:
    boxes = space.spaces.values() if isinstance(space, spaces.Dict) else [space]
    for box in boxes:
        if isinstance(box, spaces.Box) and box.dtype == np.uint8 and len(box.shape) >= 2:
            raise UserError(f"{name} has image observations {box.shape}; TEEN needs numbers, not pixels")
    if not space.is_np_flattenable:
        raise UserError(f"{name} has observations of kind {type(space).__name__}, which cannot be flattened")
    return space
