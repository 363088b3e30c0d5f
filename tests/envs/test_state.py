"""A state saved in the middle of an episode and restored into another environment goes on bit for bit."""

import json
import subprocess
import sys

import mujoco
import numpy as np
import pytest
import safetensors.numpy
from gymnasium.wrappers import TimeLimit

from teen.envs.gym import make_one
from teen.envs.state import UnknownState, capture, restore
from tests.envs.states import assert_go_on_alike, assert_same_state, outcome, running, through_files
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


@pytest.mark.parametrize("task", TASKS)
def test_a_restored_environment_goes_on_bit_for_bit(task):
    original, restored = running(make_one(task), 5, 32), running(make_one(task), 99, 4)
    state = through_files(capture(original))
    restore(restored, state)
    assert_same_state(capture(restored), state)
    assert_go_on_alike(original, restored)
    assert_same_state(capture(restored), capture(original))


@pytest.mark.parametrize("steps", [0, 1, 32])
@pytest.mark.parametrize(
    "task", ["Ant-v5", "MountainCarContinuous-v0", "tests.toys:Composite-v0", "dm_control/reacher-easy"]
)
def test_the_other_environment_need_only_be_reset(task, steps):
    """It need not have stepped, though the first step changes the precision of arrays and adds attributes."""
    original, restored = running(make_one(task), 5, steps), running(make_one(task), 99, 0)
    restore(restored, through_files(capture(original)))
    assert_go_on_alike(original, restored, 20)


@pytest.mark.parametrize("task", ["Humanoid-v5", "Pendulum-v1", "dm_control/finger-turn_hard"])
def test_saving_changes_nothing(task):
    original, twin = running(make_one(task), 5, 32), running(make_one(task), 5, 32)
    state = capture(original)
    before = through_files(state)
    assert_go_on_alike(original, twin)
    assert_same_state(state, before)  # later steps do not change the state either


def test_another_process_goes_on_alike(tmp_path):
    task = "dm_control/walker-walk"
    original = running(make_one(task), 5, 32)
    state = capture(original)
    safetensors.numpy.save_file(state.arrays, tmp_path / "arrays")
    (tmp_path / "facts").write_text(json.dumps(state.facts))
    program = f"""
import json, safetensors.numpy, warnings
warnings.simplefilter("ignore")
from teen.envs.gym import make_one
from teen.envs.state import restore
from teen.snapshot import Snapshot
from tests.envs.states import outcome, running
env = running(make_one({task!r}), 99, 0)
restore(env, Snapshot(safetensors.numpy.load_file("arrays"), json.load(open("facts"))))
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
    """Keeps plain values of many kinds, and draws from three generators, two of which are the same object."""

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
    restore(restored, through_files(capture(original)))
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


class SelfSaving(Keeper):
    """Keeps an object that cannot be saved, and saves itself."""

    def step(self, action):
        obs, reward, *rest = super().step(action)
        self.robot.charge *= 0.9
        return obs, reward * self.robot.charge, *rest

    def save_state(self):
        return {"x": self.x, "charge": self.robot.charge}

    def load_state(self, state):
        self.x, self.robot.charge = state["x"], state["charge"]


def test_an_environment_can_save_itself():
    original, restored = running(TimeLimit(SelfSaving(), 40), 5, 32), running(TimeLimit(SelfSaving(), 40), 99, 0)
    state = through_files(capture(original))
    assert set(state.facts) == {
        *("env", "env._max_episode_steps", "env._elapsed_steps"),
        *("env.env", "env.env.save_state()", "env.env._np_random"),
    }
    restore(restored, state)
    assert_go_on_alike(original, restored)

    del state.facts["env.env.save_state()"]["dict"]["charge"]
    with pytest.raises(ValueError, match="load_state raised KeyError"):
        restore(restored, state)


def test_numbers_that_are_not_finite_are_numbers():
    original, restored = running(make_diary(), 5, 7), running(make_diary(), 99, 0)
    original.unwrapped.x[:] = np.nan
    original.unwrapped.default = float("inf")
    restore(restored, through_files(capture(original)))
    assert np.isnan(restored.unwrapped.x).all()
    assert restored.unwrapped.default == float("inf")
