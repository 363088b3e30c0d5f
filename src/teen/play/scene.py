"""One environment that is drawn: through Gymnasium, since EnvPool does not draw."""

import inspect
import os
import re
from typing import Any, Literal

import gymnasium
import mujoco
import numpy as np
from gymnasium.envs.mujoco.mujoco_rendering import MujocoRenderer

from ..envs import given, names
from ..envs.gym import NOT_ITS_FAULT, described, make_one, register_suite
from ..errors import EnvironmentFault, UserError, one_line
from . import gl
from .picture import Size

Mode = Literal["rgb_array", "human"]
NO_SHADOWS = 0  # on a CPU they take more than half of the time, and Mesa 22 draws black squares with them
USUAL_FPS = 30.0  # of an environment that does not say how fast it runs


def drawable(name: str) -> str:
    """Return the name under which Gymnasium makes the task. EnvPool alone has v2 and v3 of the MuJoCo tasks, such as
    the paper's: v4 is the same on today's simulator."""
    plain, brace, values = name.partition("{")
    newer = re.sub(r"-v[23]$", "-v4", plain)
    known = gymnasium.registry.get(newer)
    own = known is not None and str(known.entry_point).startswith("gymnasium.envs.mujoco")
    return newer + brace + values if own else name


class Scene:
    def __init__(self, name: str, mode: Mode, size: Size | None = None):
        """`size` is asked of MuJoCo and dm_control; others draw in a size of their own."""
        self.name = name
        _check(name, mode)
        self.env = make_one(name, render_mode=mode)
        if self.env.render_mode != mode:
            self.close()
            raise UserError(f"{name} cannot be drawn: what makes it does not pass render_mode on")
        if _aim(self.env, size) and mode == "rgb_array":
            if not os.environ.get(gl.VARIABLE):
                gl.choose()  # which Gymnasium reads when it draws for the first time
            if gl.missing():
                self.close()
                raise UserError(f"{name} cannot be drawn: {gl.missing()}")

    @property
    def fps(self) -> float:
        """The steps in a second of its time."""
        step = _positive(getattr(self.env.unwrapped, "dt", None))
        # Shimmy says something else: a thousand times the step, not its inverse.
        said = 0.0 if names.is_suite(self.name) else _positive(self.env.metadata.get("render_fps"))
        return said or (1 / step if step else USUAL_FPS)

    @property
    def limit(self) -> int | None:
        """The most steps of an episode, where it is known."""
        return self.env.spec.max_episode_steps if self.env.spec else None

    def reset(self, seed: int) -> Any:
        return self._call("reset", lambda: self.env.reset(seed=seed)[0])

    def step(self, action: np.ndarray) -> tuple[Any, float, bool]:
        """Return the observation, the reward, and whether the episode has ended."""
        obs, reward, terminated, truncated, _ = self._call("step", lambda: self.env.step(action))
        return obs, float(reward), bool(terminated) or bool(truncated)

    def picture(self) -> np.ndarray | None:
        """Return (height, width, 3) bytes; None where a window shows it."""
        if self.env.render_mode == "human":
            return None
        try:
            renderer = _renderer(self.env)
            if renderer and renderer.viewer:  # of several environments, Gymnasium draws in the context made last
                renderer.viewer.make_context_current()
            picture: Any = self.env.render()
        except NOT_ITS_FAULT:
            raise
        except BaseException as error:
            reason = gl.missing() or (one_line(error) if isinstance(error, gymnasium.error.Error) else described(error))
            raise UserError(f"{self.name} cannot be drawn: {reason}") from error
        if not isinstance(picture, np.ndarray) or picture.dtype != np.uint8 or picture.shape[2:] != (3,):
            raise UserError(f"{self.name} cannot be drawn: its render returned {picture!r:.60}, which is no picture")
        return picture

    def close(self) -> None:
        self._call("close", self.env.close)

    def _call(self, what: str, function: Any) -> Any:
        try:
            return function()
        except NOT_ITS_FAULT:
            raise
        except gymnasium.error.DependencyNotInstalled as error:  # a window is drawn in reset and step
            raise UserError(f"{self.name} cannot be drawn: {one_line(error)}") from error
        except BaseException as error:
            raise EnvironmentFault(f"environment {self.name}: {what} raised {described(error)}") from error


def _positive(number: Any) -> float:
    """Return a number of a sensible size; 0 for anything else."""
    return float(number) if isinstance(number, int | float) and 1e-4 < number < 1e4 else 0.0


def _check(name: str, mode: Mode) -> None:
    """Raise a UserError for what cannot be drawn in this mode."""
    if names.is_suite(name):
        register_suite(name)
    made_by = given.maker(name)
    if made_by:
        parameters = inspect.signature(made_by).parameters.values()
        if not any(p.name == "render_mode" or p.kind is p.VAR_KEYWORD for p in parameters):
            raise UserError(
                f"{name} cannot be drawn: the function that makes it takes no render_mode; let it take one and pass it "
                "on to gymnasium.make"
            )
    plain = make_one(name)
    modes = plain.metadata.get("render_modes") or []
    plain.close()
    if mode not in modes and "rgb_array" not in modes:  # of the latter, Gymnasium makes windows too
        raise UserError(f"{name} cannot be drawn: its metadata['render_modes'] has no {mode!r}")


def _aim(env: gymnasium.Env[Any, Any], size: Size | None) -> bool:
    """Set the picture's size, leave shadows out, and take the camera that follows, unless the environment's arguments
    choose one. Returns whether it is MuJoCo that draws, as far as can be seen."""
    inner: Any = env.unwrapped
    if type(inner).__module__.startswith("shimmy."):
        inner.physics.model.vis.quality.shadowsize = NO_SHADOWS
        # The suite's first camera follows the body; the free one, which is the default, does not.
        camera = {"camera_id": 0} if inner.physics.model.ncam else {}
        sized = {"width": size[0], "height": size[1]} if size else {}
        inner.render_kwargs = {**camera, **inner.render_kwargs, **sized}
        return True
    renderer = _renderer(env)
    if renderer is None:
        return False
    renderer.model.vis.quality.shadowsize = NO_SHADOWS
    if size:
        renderer.width, renderer.height = size
        buffer = renderer.model.vis.global_
        buffer.offwidth, buffer.offheight = max(buffer.offwidth, size[0]), max(buffer.offheight, size[1])
    track = mujoco.mj_name2id(renderer.model, mujoco.mjtObj.mjOBJ_CAMERA, "track")
    chosen = env.spec.kwargs.keys() if env.spec else ()
    if track >= 0 and not {"camera_id", "camera_name", "default_camera_config"} & set(chosen):
        # Gymnasium 1.4 lets the runners run out of the picture. A window has its camera from the config.
        renderer.camera_id = track
        fixed = {"type": mujoco.mjtCamera.mjCAMERA_FIXED, "fixedcamid": track}
        renderer.default_cam_config = {**(renderer.default_cam_config or {}), **fixed}
    return True


def _renderer(env: gymnasium.Env[Any, Any]) -> Any:
    """Return what draws Gymnasium's MuJoCo tasks; None for others."""
    renderer = getattr(env.unwrapped, "mujoco_renderer", None)
    return renderer if isinstance(renderer, MujocoRenderer) else None
