"""Small environments with known results. Their names are such as `tests.toys:PointMass-v0`."""

import itertools
import re
import sys
import time
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces


class PointMass(gymnasium.Env[np.ndarray, np.ndarray]):
    """A point on a line that should stay near the middle; 40 steps, never terminates.

    Standing still scores about -13 on average, going straight to the middle about -2.
    """

    observation_space = spaces.Box(-2, 2, (1,), np.float64)
    action_space = spaces.Box(-1, 1, (1,), np.float32)

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[np.ndarray, dict[str, Any]]:
        super().reset(seed=seed)
        self.x = self.np_random.uniform(-1, 1, 1)
        return self.x.copy(), {}

    def step(self, action: np.ndarray) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        self.x = np.clip(self.x + 0.25 * action, -2, 2)
        return self.x.copy(), -float(self.x[0] ** 2), False, False, {}


class Counter(gymnasium.Env[np.ndarray, np.ndarray]):
    """Observes (the seed, the step of the episode). Odd episodes terminate after 3 steps, even ones run until the time
    limit of 5. The reward is the step number."""

    observation_space = spaces.Box(-np.inf, np.inf, (2,), np.float64)
    action_space = spaces.Box(np.array([-1.0, 0.0]), np.array([3.0, 10.0]), dtype=np.float64)
    episode = 0

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[np.ndarray, dict[str, Any]]:
        super().reset(seed=seed)
        if seed is not None:
            self.name = seed
        self.episode += 1
        self.t = 0
        return np.array([self.name, 0.0]), {}

    def step(self, action: np.ndarray) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        assert self.action_space.contains(action)
        self.t += 1
        done = self.episode % 2 == 1 and self.t == 3
        return np.array([self.name, float(self.t)]), float(self.t), done, False, {}


class Composite(gymnasium.Env[dict[str, np.ndarray], np.ndarray]):
    """A dict of observations of different shapes, and a 2×2 action with different bounds per entry."""

    observation_space = spaces.Dict(
        {"grid": spaces.Box(-1, 1, (2, 3), np.float64), "speed": spaces.Box(-9, 9, (1,), np.float32)}
    )
    action_space = spaces.Box(
        np.array([[-1.0, 0.0], [-100.0, 5.0]]), np.array([[1.0, 1.0], [300.0, 6.0]]), dtype=np.float64
    )

    def _obs(self) -> dict[str, np.ndarray]:
        return {"grid": np.arange(6.0).reshape(2, 3) / 10, "speed": np.array([7.0], np.float32)}

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[dict[str, np.ndarray], Any]:
        super().reset(seed=seed)
        return self._obs(), {}

    def step(self, action: np.ndarray) -> tuple[dict[str, np.ndarray], float, bool, bool, dict[str, Any]]:
        self.last_action = action
        return self._obs(), 0.0, False, False, {}


class Image(PointMass):
    observation_space = spaces.Box(0, 255, (8, 8, 3), np.uint8)


class Unbounded(PointMass):
    action_space = spaces.Box(-np.inf, np.inf, (1,), np.float32)


class Robot:
    """An object that cannot be saved."""


class Opaque(PointMass):
    def __init__(self):
        self.robot = Robot()


gymnasium.register("PointMass-v0", PointMass, max_episode_steps=40)
gymnasium.register("Counter-v0", Counter, max_episode_steps=5)
gymnasium.register("Composite-v0", Composite, max_episode_steps=5)
gymnasium.register("Opaque-v0", Opaque, max_episode_steps=40)
gymnasium.register("Image-v0", Image, max_episode_steps=5)
gymnasium.register("Unbounded-v0", Unbounded, max_episode_steps=5)


class Faulty(PointMass):
    """Fails as its name says, in copies with an odd seed, from the given step on."""

    def __init__(self, how: str, step: int = 25):
        self.how, self.at, self.taken = how, step, 0

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[np.ndarray, dict[str, Any]]:
        if seed is not None:
            self.odd = seed % 2 == 1
        obs, info = super().reset(seed=seed)
        if self.odd and self.taken >= self.at:
            if self.how == "nan-start":
                obs = obs * np.nan
            if self.how == "exits-at-reset":
                sys.exit(0)
        return obs, info

    def step(self, action: np.ndarray) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        obs, reward, *rest = super().step(action)
        self.taken += 1
        if self.odd and self.taken >= self.at:
            if self.how == "raises":
                raise RuntimeError("the robot\nfell over")
            if self.how == "exits":
                sys.exit(0)
            if self.how == "hangs":
                time.sleep(3600)
            if self.how == "spins":
                while True:
                    pass
            if self.how == "matches":
                re.match(r"(a+)+$", "a" * 40 + "b")  # for years, with Python's lock, but it heeds signals
            if self.how == "locks":
                all(itertools.repeat(True))  # for ever, with Python's lock
            if self.how == "nan-reward":
                reward = float("nan")
            if self.how == "huge-reward":
                reward = -1e39  # infinite in float32
            if self.how == "nan-obs":
                obs = obs * np.nan
            if self.how == "huge-obs":
                obs = np.full(1, 1e39)
            if self.how == "wrong-shape":
                obs = np.zeros(3)
        return obs, reward, *rest


FAULTS = (
    *("raises", "exits", "exits-at-reset", "hangs", "spins", "matches"),
    *("nan-reward", "huge-reward", "nan-obs", "huge-obs", "nan-start", "wrong-shape"),
)
for fault in (*FAULTS, "locks"):
    gymnasium.register(f"Faulty-{fault}-v0", Faulty, max_episode_steps=10, kwargs={"how": fault})
    gymnasium.register(f"Faulty-{fault}-v1", Faulty, max_episode_steps=10, kwargs={"how": fault, "step": 0})


class Odd(PointMass):
    """Cannot be made or used, or not be closed, as its name says."""

    def __init__(self, how: str):
        self.how = how
        if how == "raises":
            raise RuntimeError("no\nlicence")
        if how == "exits":
            sys.exit(0)
        if how == "panics":
            raise BaseException("from another language")
        if how == "no-observations":
            self.observation_space = None
        if how == "no-actions":
            self.action_space = None
        if how == "empty-observations":
            self.observation_space = spaces.Box(-1, 1, (0,), np.float64)
        if how == "empty-actions":
            self.action_space = spaces.Box(-1, 1, (0,), np.float32)
        if how == "endless-actions":
            self.action_space = spaces.Box(-1.7e308, 1.7e308, (1,), np.float64)

    def __getattribute__(self, name: str) -> Any:
        if name == "observation_space" and self.how == "raises-late":
            raise OSError("the robot is not connected")
        return super().__getattribute__(name)

    def close(self) -> None:
        if self.how == "closes-badly":
            raise RuntimeError("closed already")
        if self.how == "closes-with-exit":
            sys.exit(0)


UNUSABLE = {
    "raises": "RuntimeError: no licence",
    "exits": "SystemExit: 0",
    "panics": "BaseException: from another language",
    "no-observations": "no observation space",
    "no-actions": "no action space",
    "empty-observations": "empty observation space",
    "empty-actions": "empty action space",
    "endless-actions": "unbounded actions",
    "raises-late": "OSError: the robot is not connected",
}
for odd in (*UNUSABLE, "closes-badly", "closes-with-exit"):
    options = {"max_episode_steps": 40, "kwargs": {"how": odd}}
    gymnasium.register(f"Odd-{odd}-v0", Odd, disable_env_checker=True, **options)  # type: ignore[arg-type]
    gymnasium.register(f"Odd-{odd}-v1", Odd, **options)  # type: ignore[arg-type]
