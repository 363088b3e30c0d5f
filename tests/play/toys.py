"""Environments that draw pictures with known colours."""

from typing import Any

import gymnasium
import numpy as np

from tests.toys import PointMass


class Lamp(PointMass):
    """A square of one colour, which says how many steps were taken and where the point is; 20 steps, one reward each.
    It ends as soon as the point is left of −0.5."""

    metadata = {"render_modes": ["rgb_array"], "render_fps": 10}  # noqa: RUF012

    def __init__(self, render_mode: str | None = None, fault: str = ""):
        self.render_mode, self.fault, self.steps = render_mode, fault, 0

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        self.steps = 0
        return super().reset(seed=seed)

    def step(self, action: np.ndarray) -> Any:
        if self.fault == "step":
            raise RuntimeError("the bulb\nbroke")
        obs, _, _, _, info = super().step(action)
        self.steps += 1
        return obs, 1.0, bool(obs[0] < -0.5), False, info

    def render(self) -> Any:
        if self.fault == "render":
            raise RuntimeError("the bulb\nbroke")
        return "dark" if self.fault == "text" else np.full((40, 50, 3), colour(self.steps, self.x[0]), np.uint8)


def colour(steps: int, x: float) -> tuple[int, int, int]:
    """Return the colour of the picture."""
    return 10 * steps, 128, round(60 * (x + 2))


def lit(render_mode: str | None = None) -> Lamp:
    return Lamp(render_mode)


def dark(render_mode: str | None = None) -> Lamp:
    return Lamp(render_mode, "text")


def unlit() -> Lamp:
    return Lamp()


def forgetful(**options: Any) -> Lamp:
    return Lamp()


gymnasium.register("Lamp-v0", Lamp, max_episode_steps=20)
