"""Environments that are drawn."""

import os
import subprocess
import sys

import numpy as np
import pytest

from teen.envs import name_of
from teen.errors import EnvironmentFault, UserError
from teen.play import gl
from teen.play.scene import Scene, drawable

from . import toys

LAMP = "tests.play.toys:Lamp-v0"
SIZE = 80, 60


@pytest.fixture
def scene():
    """Return what makes scenes; they are closed."""
    made = []

    def make(*how):
        made.append(Scene(*how))
        return made[-1]

    yield make
    for one in made:
        one.close()


def moved(scene, by):
    """Draw after the body was put further along."""
    inner = scene.env.unwrapped
    inner.set_state(inner.data.qpos + np.eye(len(inner.data.qpos))[0] * by, inner.data.qvel.copy())
    return scene.picture().astype(int)


def test_the_camera_follows_unless_another_is_asked_for(scene, drawing):
    runner = scene("HalfCheetah-v5", "rgb_array", SIZE)
    runner.reset(0)
    start = runner.picture()
    assert start.shape == (60, 80, 3)
    assert start.std() > 20
    # Eight metres are four squares of the floor: the same picture, but for the sky.
    assert np.abs(moved(runner, 8) - start).mean() < 2
    free = scene("HalfCheetah-v5{camera_id = -1}", "rgb_array", SIZE)
    free.reset(0)
    assert np.abs(moved(free, 8) - free.picture()).mean() == 0
    assert np.abs(moved(free, -8) - moved(free, 8)).mean() > 1


def test_each_draws_its_own_picture(scene, drawing):
    """Although they take turns: each has a context of its own."""
    first = scene("InvertedPendulum-v5", "rgb_array", SIZE)
    first.reset(0)
    alone = first.picture()
    second = scene("Hopper-v5", "rgb_array", (60, 80))
    second.reset(0)
    other = second.picture()
    assert other.shape == (80, 60, 3)
    np.testing.assert_array_equal(first.picture(), alone)
    np.testing.assert_array_equal(second.picture(), other)


def test_a_way_is_chosen_where_none_is_set(scene, way, monkeypatch):
    monkeypatch.setenv(gl.VARIABLE, "")
    monkeypatch.setattr(gl, "works", lambda tried: tried == way)
    scene("InvertedPendulum-v5", "rgb_array", SIZE).reset(0)
    assert os.environ[gl.VARIABLE] == way


SUITE = """
import numpy as np
from teen.play.scene import Scene
walker = Scene("dm_control/walker-run", "rgb_array", (80, 60))
walker.reset(3)
start = walker.picture()
*_, ended = walker.step(np.zeros(6))
print(walker.fps, start.shape, start.std() > 20, ended)
"""


def test_the_suite_is_drawn_as_it_moves(way):
    """In a process of its own: dm_control reads MUJOCO_GL when it is imported, which another test may have done."""
    drawn = subprocess.run(
        [sys.executable, "-c", SUITE], env={**os.environ, gl.VARIABLE: way}, capture_output=True, text=True, timeout=300
    )
    assert drawn.stdout.split("\n")[0] == "40.0 (60, 80, 3) True False", drawn.stderr  # a step of 0.025 s


def test_what_an_environment_says_of_itself(scene):
    lamp = scene(LAMP, "rgb_array", SIZE)
    assert (lamp.fps, lamp.limit) == (10, 20)
    lamp.reset(0)
    assert lamp.picture().shape == (40, 50, 3)  # in its own size
    assert scene(name_of(toys.lit), "rgb_array").limit is None


def test_fps_without_metadata(scene, monkeypatch):
    monkeypatch.setattr(toys.Lamp, "metadata", {"render_modes": ["rgb_array"]})
    lamp = scene(LAMP, "rgb_array")
    assert lamp.fps == 30
    monkeypatch.setattr(toys.Lamp, "dt", 0.02, raising=False)
    assert lamp.fps == pytest.approx(50)
    monkeypatch.setattr(toys.Lamp, "dt", float("nan"))
    assert lamp.fps == 30


@pytest.mark.parametrize(
    ("name", "drawn"),
    [
        ("HalfCheetah-v3", "HalfCheetah-v4"),
        ("Swimmer-v3{max_episode_steps = 9}", "Swimmer-v4{max_episode_steps = 9}"),
        ("HalfCheetah-v5", "HalfCheetah-v5"),
        ("Pendulum-v1", "Pendulum-v1"),
        ("dm_control/walker-run", "dm_control/walker-run"),
        ("package.module:Thing-v3", "package.module:Thing-v3"),
    ],
)
def test_the_name_in_gymnasium(name, drawn):
    assert drawable(name) == drawn


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("tests.toys:PointMass-v0", r"its metadata\['render_modes'\] has no 'rgb_array'"),
        (toys.unlit, "the function that makes it takes no render_mode; let it take one"),
        (toys.forgetful, "what makes it does not pass render_mode on"),
        (f"{LAMP}{{fault = 'render'}}", "RuntimeError: the bulb broke"),
        (toys.dark, "its render returned 'dark', which is no picture"),
    ],
)
def test_what_cannot_be_drawn_is_one_line(name, reason, scene):
    with pytest.raises(UserError, match=f" cannot be drawn: {reason}") as error:  # noqa: PT012
        one = scene(name_of(name), "rgb_array")
        one.reset(0)
        one.picture()
    assert "\n" not in str(error.value)


def test_what_is_missing_is_named(scene, monkeypatch):
    monkeypatch.setitem(sys.modules, "pygame", None)
    pendulum = scene("Pendulum-v1", "rgb_array")
    pendulum.reset(0)
    with pytest.raises(UserError, match=r"pygame is not installed, run pip install \"gymnasium\[classic"):
        pendulum.picture()
    monkeypatch.setenv(gl.VARIABLE, gl.NONE)
    with pytest.raises(UserError, match=r"InvertedPendulum-v5 cannot be drawn: .* neither with EGL nor with OSMesa"):
        scene("InvertedPendulum-v5", "rgb_array")


def test_a_fault_of_the_environment_is_named(scene):
    lamp = scene(f"{LAMP}{{fault = 'step'}}", "rgb_array")
    lamp.reset(0)
    with pytest.raises(EnvironmentFault, match="step raised RuntimeError: the bulb broke"):
        lamp.step(np.zeros(1))
