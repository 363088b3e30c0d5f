"""A state that was damaged, or saved from another task, is refused and changes nothing."""

import numpy as np
import pytest

from teen.envs.gym import make_one
from teen.envs.state import capture, restore
from tests.envs.states import assert_same_state, running, through_files

X = "env.env.env.env.x"
RANDOM = "env.env.env.env._np_random"
DAMAGE = {
    "an array is missing": lambda arrays, facts: arrays.pop(X),
    "a fact is missing": lambda arrays, facts: facts.pop("env._elapsed_steps"),
    "the generator is missing": lambda arrays, facts: facts.pop(RANDOM),
    "an array is left over": lambda arrays, facts: arrays.update({"env.surplus": np.zeros(1)}),
    "a fact is left over": lambda arrays, facts: facts.update({"env.no.such.path": 1}),
    "an array of another shape": lambda arrays, facts: arrays.update({X: np.zeros(2)}),
    "an array of another kind": lambda arrays, facts: arrays.update({X: np.zeros(1, int)}),
    "an array of objects": lambda arrays, facts: arrays.update({X: np.array([print])}),
    "a string for an array": lambda arrays, facts: facts.update({X: "zero"}),
    "nothing for an array": lambda arrays, facts: facts.update({X: None}),
    "a list for a number": lambda arrays, facts: facts.update({"env._elapsed_steps": {"list": [1]}}),
    "an unknown form": lambda arrays, facts: facts.update({"env._elapsed_steps": {"eval": "1"}}),
    "another class": lambda arrays, facts: facts.update({"env.env.env.env": "tests.toys.Counter"}),
    "a class is missing": lambda arrays, facts: facts.pop("env"),
    "two forms": lambda arrays, facts: facts.update({"env._elapsed_steps": {"list": [], "tuple": []}}),
    "a bare list": lambda arrays, facts: facts.update({"env._elapsed_steps": [1]}),
    "a method": lambda arrays, facts: facts.update({"env.env.env.env.step": 1}),
    "a property": lambda arrays, facts: facts.update({"env.np_random": 1}),
    "the class": lambda arrays, facts: facts.update({"env.__class__": "Robot"}),
    "the dict": lambda arrays, facts: facts.update({"env.__dict__": {"dict": {}}}),
    "the documentation": lambda arrays, facts: facts.update({"env.__doc__": "words"}),
    "a wrapped environment": lambda arrays, facts: facts.update({"env.env": 1}),
    "a space": lambda arrays, facts: facts.update({"env.env.env.env.action_space": 1}),
    "the specification": lambda arrays, facts: facts.update({"env.env.env.env.spec": 1}),
    "no name": lambda arrays, facts: facts.update({"env.a b": 1}),
    "a generator for a number": lambda arrays, facts: facts.update({"env._elapsed_steps": facts[RANDOM]}),
    "a number for a generator": lambda arrays, facts: facts.update({RANDOM: 1}),
    "an untagged generator": lambda arrays, facts: facts.update({RANDOM: facts[RANDOM]["generator"]}),
    "another generator": lambda arrays, facts: facts[RANDOM]["generator"]["dict"].update(bit_generator="SFC64"),
    "a generator without words": lambda arrays, facts: facts[RANDOM]["generator"]["dict"].pop("state"),
    "a generator's word too large": lambda arrays, facts: facts[RANDOM]["generator"]["dict"].update(uinteger=2**70),
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_damaged_state_is_refused_and_changes_nothing(damage):
    env = running(make_one("tests.toys:PointMass-v0"), 5, 3)
    other = running(make_one("tests.toys:PointMass-v0"), 6, 2)
    state, before = through_files(capture(env)), capture(other)
    DAMAGE[damage](*state)
    with pytest.raises(ValueError, match=r"^'?env\b") as raised:
        restore(other, state)
    assert "\n" not in str(raised.value)
    assert_same_state(capture(other), before)


SUITE_RANDOM = "env.env.env._env._task._random"


@pytest.mark.parametrize(
    ("task", "path", "array"),
    [
        ("Hopper-v5", "env.env.env.env.data.qpos", None),
        ("Hopper-v5", "env.env.env.env.data.xpos", np.zeros((3, 3))),
        ("Hopper-v5", "env.env.env.env.data.integration", np.zeros(7)),
        ("Hopper-v5", "env.env.env.env.data.xipos", np.zeros((5, 3), np.float32)),
        ("Hopper-v5", "env.env.env.env.data.body_awake_ind", np.full(5, 2**30, np.int32)),
        ("Hopper-v5", "env.env.env.env.data.model.body_parentid", np.full(5, 2**30, np.int32)),
        ("dm_control/cheetah-run", "env.env.env._env._physics.data.model.geom_pos", None),
        ("dm_control/cheetah-run", f"{SUITE_RANDOM}['state']['key']", np.zeros(3, np.uint32)),
        ("dm_control/cheetah-run", f"{SUITE_RANDOM}['state']['key']", np.zeros(624, np.uint64)),
    ],
)
def test_a_damaged_simulation_is_refused(task, path, array):
    env = running(make_one(task), 5, 3)
    state = capture(env)
    assert path in state.arrays or "body_" in path
    if array is None:
        del state.arrays[path]
    else:
        state.arrays[path] = array
    with pytest.raises(ValueError, match=r"^'?env\b"):
        restore(env, state)


@pytest.mark.parametrize("position", [-1, 625, 2**31, 2**80, 1.5, "1", None])
def test_a_generator_never_reads_outside_its_words(position):
    env = running(make_one("dm_control/cartpole-swingup"), 5, 3)
    state = capture(env)
    state.facts[SUITE_RANDOM]["generator"]["dict"]["state"]["dict"]["pos"] = position
    with pytest.raises(ValueError, match="not a state of this random generator"):
        restore(env, state)


def test_a_state_of_another_task_is_refused():
    state = capture(running(make_one("Hopper-v5"), 5, 3))
    for task in ("Hopper-v4", "Walker2d-v5", "Pendulum-v1", "dm_control/hopper-hop"):
        with pytest.raises(ValueError, match=r"^'?env\b"):
            restore(running(make_one(task), 6, 3), state)
