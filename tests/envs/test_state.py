"""An environment's state, saved in the middle of an episode and restored into another one, bit for bit."""

import json
import subprocess
import sys

import mujoco
import numpy as np
import pytest
import safetensors.numpy
from gymnasium.wrappers import TimeLimit

from teen.envs.gym import make_one
from teen.envs.state import EnvState, UnknownState, capture, restore
from tests.toys import PointMass

GYMNASIUM = (
    *("HalfCheetah-v4", "HalfCheetah-v5", "Hopper-v5", "Walker2d-v5", "Ant-v4", "Ant-v5", "Humanoid-v5", "Swimmer-v5"),
    *("Reacher-v5", "Pusher-v5", "InvertedDoublePendulum-v5", "Pendulum-v1", "MountainCarContinuous-v0"),
    *("tests.toys:PointMass-v0", "tests.toys:Counter-v0", "tests.toys:Composite-v0"),
)
SUITE = (
    *("cheetah-run", "walker-walk", "hopper-stand", "reacher-easy", "finger-turn_hard", "swimmer-swimmer6"),
    *("point_mass-hard", "humanoid-walk", "fish-swim", "ball_in_cup-catch", "cartpole-swingup", "acrobot-swingup"),
    *("lqr-lqr_2_1", "manipulator-insert_peg", "quadruped-walk", "pendulum-swingup"),
)
TASKS = (*GYMNASIUM, *(f"dm_control/{task}" for task in SUITE))


def running(env, seed, steps):
    """The environment after so many random steps; episodes that end meanwhile are followed by others."""
    env.reset(seed=seed)
    env.action_space.seed(seed)
    for _ in range(steps):
        *_, terminated, truncated, _ = env.step(env.action_space.sample())
        if terminated or truncated:
            env.reset()
    return env


def filed(state):
    """A state that has been through a file's formats."""
    return EnvState(safetensors.numpy.load(safetensors.numpy.save(state.arrays)), json.loads(json.dumps(state.facts)))


def bits(obs):
    return [part.tobytes() for part in obs.values()] if isinstance(obs, dict) else np.asarray(obs).tobytes()


def outcome(env, action):
    obs, reward, terminated, truncated, _ = env.step(action)
    return bits(obs), np.float64(reward).tobytes(), bool(terminated), bool(truncated)


def assert_go_on_alike(one, other, steps=60):
    one.action_space.seed(0)
    for i in range(steps):
        action = one.action_space.sample()
        expected = outcome(one, action)
        assert outcome(other, action) == expected, f"step {i} after the restore"
        if expected[2] or expected[3] or i == steps // 2:
            assert bits(one.reset()[0]) == bits(other.reset()[0]), f"reset after step {i}"


def assert_same_state(one, other):
    assert one.facts == other.facts
    assert {path: array.tobytes() for path, array in one.arrays.items()} == {
        path: array.tobytes() for path, array in other.arrays.items()
    }


@pytest.mark.parametrize("task", TASKS)
def test_a_restored_environment_goes_on_bit_for_bit(task):
    original, restored = running(make_one(task), 5, 32), running(make_one(task), 99, 4)
    state = filed(capture(original))
    restore(restored, state)
    assert_same_state(capture(restored), state)
    assert_go_on_alike(original, restored)
    assert_same_state(capture(restored), capture(original))


@pytest.mark.parametrize("steps", [0, 1, 32])
@pytest.mark.parametrize(
    "task", ["Ant-v5", "MountainCarContinuous-v0", "tests.toys:Composite-v0", "dm_control/reacher-easy"]
)
def test_the_other_environment_need_only_be_reset(task, steps):
    """Not even arrays that change their precision, or attributes that appear, at the first step matter."""
    original, restored = running(make_one(task), 5, steps), running(make_one(task), 99, 0)
    restore(restored, filed(capture(original)))
    assert_go_on_alike(original, restored, 20)


@pytest.mark.parametrize("task", ["Humanoid-v5", "Pendulum-v1", "dm_control/finger-turn_hard"])
def test_saving_changes_nothing(task):
    original, twin = running(make_one(task), 5, 32), running(make_one(task), 5, 32)
    state = capture(original)
    before = filed(state)
    assert_go_on_alike(original, twin)
    assert_same_state(state, before)  # nor does what follows change the state


def test_another_process_goes_on_alike(tmp_path):
    task = "dm_control/walker-walk"
    original = running(make_one(task), 5, 32)
    state = capture(original)
    safetensors.numpy.save_file(state.arrays, tmp_path / "arrays")
    (tmp_path / "facts").write_text(json.dumps(state.facts))
    program = f"""
import json, safetensors.numpy, warnings
warnings.simplefilter("ignore")
from tests.envs.test_state import *
env = running(make_one({task!r}), 99, 0)
restore(env, EnvState(safetensors.numpy.load_file("arrays"), json.load(open("facts"))))
env.action_space.seed(0)
print([outcome(env, env.action_space.sample()) for _ in range(10)])
"""
    path = {"PYTHONPATH": ":".join(path for path in sys.path if path)}
    done = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, env=path, capture_output=True, text=True)
    original.action_space.seed(0)
    assert done.stdout.strip() == str([outcome(original, original.action_space.sample()) for _ in range(10)]), (
        done.stderr
    )


class Diary(PointMass):
    """Keeps plain things of many kinds, and draws from three generators, two of which are one."""

    default = 1.5

    def reset(self, *, seed=None, options=None):
        result = super().reset(seed=seed)
        self.same = self.np_random
        if seed is not None:
            self.old = np.random.RandomState(seed)
        self.words = {"seen": [], "best": None}
        self.matrix = np.asfortranarray(self.np_random.normal(size=(3, 4)))
        self.last = None
        return result

    def step(self, action):
        obs, *rest = super().step(action + 0.1 * self.same.normal() + 0.1 * self.old.randn())
        self.words["seen"].append((float(obs[0]), np.float32(obs[0]), obs.copy()))
        self.words["best"] = max(self.words["seen"])[1]
        self.default += 1
        self.last = self.matrix @ np.ones(4)
        self.huge = 2**200 + len(self.words["seen"])
        return obs, *rest


def make_diary():
    return TimeLimit(Diary(), 40)


def test_plain_values_of_all_kinds_are_saved():
    original, restored = running(make_diary(), 5, 7), running(make_diary(), 99, 0)
    restore(restored, filed(capture(original)))
    new, old = restored.unwrapped, original.unwrapped
    assert new.words["seen"][3][:2] == old.words["seen"][3][:2]
    assert [type(item) for item in new.words["seen"][3]] == [float, np.float32, np.ndarray]
    assert (new.huge, new.default, Diary.default) == (old.huge, 8.5, 1.5)
    assert new.matrix.flags.f_contiguous
    assert new.same is new.np_random
    assert_go_on_alike(original, restored)


class Robot:
    def __init__(self):
        self.charge = 1.0


class Keeper(PointMass):
    def reset(self, *, seed=None, options=None):
        self.robot = Robot()
        return super().reset(seed=seed)


class Entwined(PointMass):
    def __init__(self, what):
        self.one = what
        self.other = what


class Slotted(PointMass):
    __slots__ = ("hidden",)


class Sleeper(PointMass):
    def __init__(self):
        option, body = "<flag sleep='enable'/>", "<body><freejoint/><geom size='1'/></body>"
        model = f"<mujoco><option>{option}</option><worldbody>{body}</worldbody></mujoco>"
        self.data = mujoco.MjData(mujoco.MjModel.from_xml_string(model))


@pytest.mark.parametrize(
    ("make", "what"),
    [
        (Keeper, r"Keeper cannot be saved: env\.env\.robot is of class .*Robot"),
        (lambda: Entwined({1: 2}), r"Entwined cannot be saved: env\.env\.one is of class .*dict"),
        (lambda: Entwined({1, 2}), r"env\.env\.one is of class .*set"),
        (lambda: Entwined(np.array(["a"])), r"env\.env\.one is of class .*ndarray"),
        (lambda: Entwined([1]), r"env\.env\.other holds a list that is also held elsewhere"),
        (lambda: Entwined(np.zeros(3)), r"env\.env\.o.* and env\.env\.o.* cannot be saved: they share memory"),
        (Slotted, r"Slotted cannot be saved: env\.env has __slots__"),
        (Sleeper, r"Sleeper cannot be saved: env\.env\.data simulates with mjENBL_SLEEP"),
    ],
)
def test_what_cannot_be_saved_is_named(make, what):
    env = TimeLimit(make(), 40)
    env.reset(seed=1)
    with pytest.raises(UnknownState, match=what) as raised:
        capture(env)
    assert "\n" not in str(raised.value)


class Frugal(Keeper):
    """Keeps an object of its own, and says what there is to save of it."""

    def step(self, action):
        obs, reward, *rest = super().step(action)
        self.robot.charge *= 0.9
        return obs, reward * self.robot.charge, *rest

    def save_state(self):
        return {"x": self.x, "charge": self.robot.charge}

    def load_state(self, state):
        self.x, self.robot.charge = state["x"], state["charge"]


def test_an_environment_can_save_itself():
    original, restored = running(TimeLimit(Frugal(), 40), 5, 32), running(TimeLimit(Frugal(), 40), 99, 0)
    state = filed(capture(original))
    assert set(state.facts) == {
        *("env", "env._max_episode_steps", "env._elapsed_steps"),
        *("env.env", "env.env.save_state()", "env.env._np_random"),
    }
    restore(restored, state)
    assert_go_on_alike(original, restored)

    del state.facts["env.env.save_state()"]["dict"]["charge"]
    with pytest.raises(ValueError, match="load_state raised KeyError"):
        restore(restored, state)


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
    state, before = filed(capture(env)), capture(other)
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


def test_numbers_that_are_not_finite_are_numbers():
    original, restored = running(make_diary(), 5, 7), running(make_diary(), 99, 0)
    original.unwrapped.x[:] = np.nan
    original.unwrapped.default = float("inf")
    restore(restored, filed(capture(original)))
    assert np.isnan(restored.unwrapped.x).all()
    assert restored.unwrapped.default == float("inf")
