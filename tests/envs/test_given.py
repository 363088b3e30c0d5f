"""Environments given as Python objects: which get a name that files can hold, and which do not."""

import os
import sys
from types import ModuleType

import gymnasium
import numpy as np
import pytest

from teen import envs
from teen.config import modules
from teen.envs import GymnasiumEnvs, given, names
from teen.errors import UserError
from tests import toys


def make_point(limit: int = 40) -> gymnasium.Env:
    return gymnasium.wrappers.TimeLimit(toys.PointMass(), limit)


class Unrecorded(gymnasium.Wrapper):
    """A wrapper whose arguments Gymnasium does not know."""


def test_a_function_of_a_module_is_named_after_it_and_called():
    name = given.name_of(make_point)
    assert name == "tests.envs.test_given:make_point"
    pool = GymnasiumEnvs(name + "{limit = 3}", 2)
    assert isinstance(pool.envs[0].unwrapped, toys.PointMass)
    assert pool.envs[0]._max_episode_steps == 3
    assert pool.envs[0] is not pool.envs[1]


def test_any_other_function_has_a_name_in_this_process_only():
    point, other = (lambda: make_point(3)), (lambda: make_point(4))
    name = given.name_of(point)
    assert name.startswith("given/<lambda>")
    assert given.name_of(point) == name
    assert given.name_of(other) != name
    assert GymnasiumEnvs(name, 1).envs[0]._max_episode_steps == 3
    assert GymnasiumEnvs(given.name_of(other), 1).envs[0]._max_episode_steps == 4
    assert envs.is_known(name)
    assert envs.choose_backend(name, "auto") == ("gymnasium", "")


def test_one_that_is_not_here_is_named_and_can_be_given_again():
    assert not envs.is_known("given/robot")
    with pytest.raises(UserError, match=r"given as a Python object.*teen\.load\(path, env=\.\.\.\)"):
        GymnasiumEnvs("given/robot", 1)
    envs.give("given/robot", make_point)
    assert isinstance(GymnasiumEnvs("given/robot", 1).envs[0].unwrapped, toys.PointMass)
    envs.give("given/robot{limit = 4}", make_point)
    assert GymnasiumEnvs("given/robot{limit = 4}", 1).envs[0]._max_episode_steps == 4
    envs.give("given/robot", gymnasium.make("Pendulum-v1", g=2.0))
    assert GymnasiumEnvs("given/robot", 1).envs[0].unwrapped.g == 2
    with pytest.raises(UserError, match="give that again, not the name 'Pendulum-v1'"):
        envs.give("given/robot", "Pendulum-v1")
    with pytest.raises(UserError, match="can be made by its name"):
        envs.give("Pendulum-v1", make_point)


def test_what_gymnasium_made_is_named_by_its_id_and_arguments():
    assert given.name_of(gymnasium.make("Pendulum-v1")) == "Pendulum-v1"
    assert given.name_of(gymnasium.spec("Pendulum-v1")) == "Pendulum-v1"
    changed = gymnasium.make("Pendulum-v1", g=2.0, max_episode_steps=9, render_mode="rgb_array")
    assert given.name_of(changed) == "Pendulum-v1{g = 2.0, max_episode_steps = 9}"


def test_wrappers_are_kept_where_gymnasium_can_make_them_again():
    wrapped = gymnasium.wrappers.RescaleAction(gymnasium.make("Pendulum-v1"), np.float32(-0.5), np.float32(0.5))
    name = given.name_of(wrapped)
    assert name.startswith("given/Pendulum-v1")
    assert given.name_of(wrapped) == name
    copy = GymnasiumEnvs(name, 1).envs[0]
    assert copy.action_space == wrapped.action_space
    assert copy is not wrapped
    with pytest.raises(UserError, match=r"cannot be made again.*Unrecorded.*lambda: MyWrapper\(gymnasium\.make"):
        given.name_of(Unrecorded(gymnasium.make("Pendulum-v1")))
    with pytest.raises(UserError, match=r"was not made by gymnasium\.make"):
        given.name_of(toys.PointMass())


def test_no_name_in_a_file_calls_a_function_that_the_user_does_not_trust(tmp_path, monkeypatch):
    """The module is imported already, as Python's own are; the name could be os:remove{path = …}."""
    called = []
    module = ModuleType("a_module_of_python")

    def function(**values):
        called.append(values)
        return make_point()

    function.__module__, function.__qualname__ = module.__name__, "function"
    module.function = function
    monkeypatch.setitem(sys.modules, module.__name__, module)
    name = "a_module_of_python:function{x = 1}"
    modules.admit({"env": name}, tmp_path / "config.toml")
    names.check(name)
    with pytest.raises(UserError, match=r"is a function, which would be called.*--trust a_module_of_python"):
        GymnasiumEnvs(name, 1)
    assert not called
    modules.admit({"env": name}, tmp_path / "config.toml", "a_module_of_python")
    GymnasiumEnvs(name, 1)
    assert called == [{"x": 1}]
    module.system = os.system  # what a module has imported is not its own, even if it is trusted
    with pytest.raises(UserError, match="cannot be made"):
        GymnasiumEnvs(f'a_module_of_python:system{{command = "touch {tmp_path / "owned"}"}}', 1)
    assert not (tmp_path / "owned").exists()


@pytest.mark.parametrize("values", ['x = "/dev/zero"', 'x = ["a"]', "x = {y = 'a'}"])
def test_a_text_among_the_arguments_in_a_file_needs_trust(tmp_path, values):
    """It could be a path that MuJoCo opens, or a module."""
    env = f"HalfCheetah-v5{{{values}}}"
    with pytest.raises(UserError, match=r"gives the environment a text.*--trust HalfCheetah-v5"):
        modules.admit({"env": env}, tmp_path / "config.toml")
    modules.admit({"env": env}, tmp_path / "config.toml", "HalfCheetah-v5")
    modules.admit({"env": "HalfCheetah-v5{x = [1, 2.5], y = true}"}, tmp_path / "config.toml")
    modules.remember(env)  # the user named it in this process
    modules.admit({"env": env}, tmp_path / "config.toml")


def test_what_is_no_environment_is_one_line():
    for thing in (3, None, toys):
        with pytest.raises(UserError, match="an environment is a name, or a function that makes one, and not"):
            given.name_of(thing)
    with pytest.raises(UserError, match="the function that makes it returned 3, which is no Gymnasium environment"):
        GymnasiumEnvs(given.name_of(lambda: 3), 1)
