"""Gymnasium environments, and DeepMind Control through Shimmy, stepped one after the other in this process.

Gymnasium's vector environments are not used: they reset by rules of their own, and an error inside them does not say
which copy raised it.
"""

import re
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

import gymnasium
import mujoco
import numpy as np

from ..errors import CopyFault, UserError, notice, one_line
from ..snapshot import Snapshot
from . import arguments, given, names
from .adapter import GivenUp, Results
from .finite import check_obs, check_reward
from .flat import IDLE, FlatEnvs
from .state import UnknownState, capture, restore

T = TypeVar("T")
NOT_ITS_FAULT = (KeyboardInterrupt, GivenUp)  # whatever else an environment raises is its fault, SystemExit too


class GymnasiumEnvs(FlatEnvs):
    in_python = True

    def __init__(self, name: str, count: int):
        self.envs = [make_one(name) for _ in range(count)]
        try:
            super().__init__(name, self.envs[0].observation_space, self.envs[0].action_space)
        except (UserError, *NOT_ITS_FAULT):
            raise
        except BaseException as error:
            raise UserError(f"{name} has spaces that cannot be used: {described(error)}") from error

    def __len__(self) -> int:
        return len(self.envs)

    def reset(self, ids: Sequence[int], seeds: Sequence[int] | None = None) -> np.ndarray:
        starts = [
            self._call(i, "reset", self._reset_one, self.envs[i], None if seeds is None else seeds[row])
            for row, i in enumerate(ids)
        ]
        return self._rows(ids, starts, "reset")

    def send(self, ids: Sequence[int], actions: np.ndarray) -> None:
        self._sent = ids, actions

    def receive(self) -> Results:
        ids, actions = self._sent
        results = [
            self._call(i, "step", self._step_one, self.envs[i], action)
            for i, action in zip(ids, self.scale(actions), strict=True)
        ]
        obs, reward, terminated, truncated = zip(*results, strict=True)
        rewards = np.array(reward)
        check_reward(rewards, ids)
        return self._rows(ids, obs, "step"), rewards, np.array(terminated), np.array(truncated)

    @staticmethod
    def _reset_one(env: gymnasium.Env[Any, Any], seed: int | None) -> Any:
        obs, _ = env.reset(seed=seed)
        return obs

    @staticmethod
    def _step_one(env: gymnasium.Env[Any, Any], action: np.ndarray) -> tuple[Any, float, bool, bool]:
        obs, reward, terminated, truncated, _ = env.step(action)
        return obs, float(reward), bool(terminated), bool(truncated)

    def _call(self, copy: int, what: str, function: Callable[..., T], *arguments: Any) -> T:
        """Return what the function returns, and mark the copy as busy meanwhile."""
        mark = self._begin(copy)
        try:
            return function(*arguments)
        except NOT_ITS_FAULT:
            raise
        except CopyFault as fault:  # raised by the watchdog
            raise CopyFault(copy, fault.reason) from fault.__cause__
        except BaseException as error:
            raise CopyFault(copy, f"{what} raised {described(error)}") from error
        finally:
            mark[0] = IDLE

    def _rows(self, ids: Sequence[int], observations: Iterable[Any], what: str) -> np.ndarray:
        """Return (id, obs) of observations as the environments returned them."""
        rows: list[np.ndarray] = []
        try:
            with np.errstate(over="ignore"):  # infinity is reported as such
                for obs in observations:
                    rows.append(self.flatten(obs))
        except (Exception, SystemExit) as error:
            raise CopyFault(ids[len(rows)], f"{what} returned what is no observation: {described(error)}") from error
        for copy, row in zip(ids, rows, strict=True):
            if row.shape != (self.spec.obs,):
                raise CopyFault(copy, f"returned {row.size} observation numbers, not the {self.spec.obs} promised")
        stacked = np.stack(rows)
        check_obs(stacked, ids, what)
        return stacked

    def capture(self, copy: int) -> Snapshot:
        try:
            return capture(self.envs[copy])
        except UnknownState:
            raise
        except (Exception, SystemExit) as error:  # raised by the environment's save_state
            raise UnknownState(f"saving its state raised {described(error)}") from error

    def restore(self, copy: int, state: Snapshot) -> None:
        restore(self.envs[copy], state)

    def close(self) -> None:
        if self.busy():
            return  # a copy hangs: it is left behind as it is
        raised = [reason for reason in map(_close, self.envs) if reason]
        if raised:
            notice(f"environment {self.name}: close raised {raised[0]}")


def _close(env: gymnasium.Env[Any, Any]) -> str:
    """Close an environment, and return what it raised."""
    try:
        env.close()
    except NOT_ITS_FAULT:
        raise
    except BaseException as error:
        return described(error)
    return ""


def described(error: BaseException) -> str:
    try:
        return f"{type(error).__name__}: {one_line(error)}"
    except Exception:  # raised by its __str__
        return type(error).__name__


def make_one(name: str, **more: Any) -> gymnasium.Env[Any, Any]:
    """Return one environment, with `more` arguments than its name has. A UserError says why it cannot be made."""
    names.check(name)
    if names.is_suite(name):
        register_suite(name)
    made_by, (_, values) = given.maker(name), arguments.split(name)
    try:
        with warnings.catch_warnings(), quiet_mujoco():
            # An older version is often chosen on purpose: the paper used v3.
            warnings.filterwarnings("ignore", message=".*is out of date.*")
            if made_by:
                return _checked(made_by(**more))
            return gymnasium.make(names.registered_id(name), **{**values, **more})
    except NOT_ITS_FAULT:
        raise
    except (gymnasium.error.Error, ImportError) as error:
        raise UserError(
            f"environment {name!r} cannot be made: {one_line(error).rstrip('.')}{_advice(name, error)}"
        ) from None
    except BaseException as error:  # raised by the environment
        raise UserError(f"environment {name!r} cannot be made: {described(error)}") from error


def _checked(env: Any) -> gymnasium.Env[Any, Any]:
    if not isinstance(env, gymnasium.Env):
        raise TypeError(f"the function that makes it returned {env!r:.60}, which is no Gymnasium environment")
    return env


@contextmanager
def quiet_mujoco() -> Iterator[None]:
    """Silence MuJoCo's warnings: a model with a deprecated attribute would print one for every copy."""
    mujoco.set_mju_user_warning(lambda message: None)
    try:
        yield
    finally:
        mujoco.set_mju_user_warning(None)


def _advice(name: str, error: Exception) -> str:
    if re.search(r"-v[23]$", name) and names.paper_use(name):
        newer = re.sub(r"-v\d+$", "-v4", name)
        return f"; v3 needs EnvPool (pip install 'teen-rl[fast]'), or take {newer}, the same task on today's simulator"
    if names.is_suite(name):
        close = [task for task in names.suite_observations() if task.split("-")[0] in name]
        return f"; the suite has {', '.join(close)}" if close else "; teen envs lists the suite's tasks"
    return "; teen envs lists what there is" if isinstance(error, gymnasium.error.UnregisteredEnv) else ""


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
            f"environment {name!r} needs Shimmy and dm_control, or EnvPool, for finger tasks 1.2.6 or newer: "
            f"pip install 'teen-rl[dmc]' or 'teen-rl[fast]' ({one_line(error)})"
        ) from None
