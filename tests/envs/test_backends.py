"""The paper's ten tasks in both backends, against gymnasium and dm_control stepped by hand."""

import subprocess
import sys
import warnings

import envpool
import gymnasium
import numpy as np
import pytest
from scipy.stats import ks_2samp

from teen import envs
from teen.envs import Lanes, names, pool
from teen.errors import UserError
from tests.envs.watching import ROOT

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # dm_control looks for a display
    from dm_control import suite

MUJOCO = ["HalfCheetah", "Hopper", "Walker2d", "Ant", "Humanoid"]
SUITE = ["cheetah-run", "finger-spin", "fish-swim", "walker-walk", "walker-run"]
SIZES = {  # observation, action
    "HalfCheetah-v4": (17, 6), "Hopper-v4": (11, 3), "Walker2d-v4": (17, 6), "Ant-v4": (27, 8),
    "Humanoid-v4": (376, 17), "dm_control/cheetah-run": (17, 6), "dm_control/finger-spin": (9, 2),
    "dm_control/fish-swim": (24, 5), "dm_control/walker-walk": (24, 6), "dm_control/walker-run": (24, 6),
}  # fmt: skip
BACKENDS = ["gymnasium", "envpool"]
BOTH = [name for name in SIZES if not pool.flaw(name)]  # all but finger-spin, where EnvPool is old
STEPS = 300


def actions_for(size: int, steps: int = STEPS) -> np.ndarray:
    return np.random.default_rng(1).uniform(-1, 1, (steps, 1, size)).astype(np.float32)


@pytest.mark.filterwarnings("ignore:.*is out of date.*")
@pytest.mark.parametrize("task", MUJOCO)
@pytest.mark.parametrize("version", ["v4", "v5"])
def test_gymnasium_steps_as_by_hand(task, version):
    """300 steps from the same seed, across the ends of episodes."""
    name = f"{task}-{version}"
    with envs.gym.quiet_mujoco():
        by_hand = gymnasium.make(name)
    lanes = Lanes(envs.make(name, 1, "gymnasium"), [3])
    high = 0.4 if task == "Humanoid" else 1.0
    obs, _ = by_hand.reset(seed=3)
    for action in actions_for(lanes.envs.spec.action):
        np.testing.assert_allclose(lanes.obs[0], obs, rtol=1e-5, atol=1e-5)
        obs, reward, terminated, truncated, _ = by_hand.step(action[0] * high)
        step = lanes.step(action)
        np.testing.assert_allclose(step.next_obs[0], obs, rtol=1e-5, atol=1e-5)
        assert step.reward[0] == pytest.approx(reward, rel=1e-5, abs=1e-5)
        assert (step.terminated[0], step.truncated[0]) == (terminated, truncated)
        if terminated or truncated:
            obs, _ = by_hand.reset()


@pytest.mark.parametrize("task", SUITE)
def test_the_suite_steps_as_by_hand_in_its_own_layout(task):
    """The gymnasium backend and a suite environment get the same seed and the same actions."""
    domain, name = task.split("-")
    by_hand = suite.load(domain, name, task_kwargs={"random": 5})
    lanes = Lanes(envs.make(f"dm_control/{task}", 1, "gymnasium"), [5])
    timestep = by_hand.reset()
    for action in actions_for(lanes.envs.spec.action):
        expected = np.concatenate([np.ravel(v) for v in timestep.observation.values()])
        np.testing.assert_allclose(lanes.obs[0], expected, rtol=1e-5, atol=1e-5)
        timestep = by_hand.step(action[0])
        step = lanes.step(action)
        assert step.reward[0] == pytest.approx(timestep.reward, abs=1e-6)
        assert not step.terminated[0]
        assert not step.truncated[0]


@pytest.mark.parametrize(
    ("name", "backend"), [*((name, "gymnasium") for name in SIZES), *((name, "envpool") for name in BOTH)]
)
def test_shapes_bounds_and_time_limit(name, backend):
    copies = envs.make(name, 1, backend)
    assert copies.spec == SIZES[name]
    high = copies.scale(np.ones((1, copies.spec.action)))
    np.testing.assert_allclose(high, 0.4 if "Humanoid" in name else 1.0)
    np.testing.assert_allclose(copies.scale(-np.ones((1, copies.spec.action))), -high)
    if backend == "envpool":
        assert envpool.make_spec(names.envpool_id(name)).config.max_episode_steps == 1000
    elif not names.is_suite(name):
        assert copies.envs[0].spec.max_episode_steps == 1000
    if name.startswith(("dm_control", "HalfCheetah")):  # never terminal: 1,000 steps, then truncation
        lanes = Lanes(copies, [0])
        ends = [lanes.step(np.zeros((1, copies.spec.action))) for _ in range(1000)]
        assert [bool(e.truncated[0]) for e in ends] == [False] * 999 + [True]
        assert not any(e.terminated[0] for e in ends)
    copies.close()


def random_episodes(name: str, backend: str, episodes: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the scores and lengths of episodes with uniform random actions."""
    copies = envs.make(name, episodes, backend)
    copies.reset(range(episodes), range(100, 100 + episodes))
    rng = np.random.default_rng(7)
    scores, lengths, running = np.zeros(episodes), np.zeros(episodes), np.arange(episodes)
    for _ in range(1000):
        actions = rng.uniform(-1, 1, (episodes, copies.spec.action))
        _, reward, terminated, truncated = envs.step(copies, running.tolist(), actions[running])
        scores[running] += reward
        lengths[running] += 1
        running = running[~(terminated | truncated)]
        if not running.size:
            break
    copies.close()
    return scores, lengths


OFTEN = "HalfCheetah-v4", "Hopper-v4", "dm_control/cheetah-run"


@pytest.mark.parametrize("name", [n if n in OFTEN else pytest.param(n, marks=pytest.mark.full) for n in BOTH])
def test_both_backends_give_the_same_task_statistically(name):
    """EnvPool's state cannot be set, so 50 random episodes of each backend are compared: means within four standard
    errors, standard deviations within a factor of two."""
    (scores, lengths), (pool_scores, pool_lengths) = (random_episodes(name, b, 50) for b in BACKENDS)
    for ours, theirs in ((scores, pool_scores), (lengths, pool_lengths)):
        error = np.sqrt((ours.var() + theirs.var()) / 50)
        assert abs(ours.mean() - theirs.mean()) <= 4 * error + 1e-6
        # random actions hardly ever score on finger-spin: a few lucky episodes decide its standard deviation
        rare = 5.0 if name == "dm_control/finger-spin" else 1e-3  # of at most 1,000
        assert theirs.std() <= 2 * ours.std() + rare
        assert ours.std() <= 2 * theirs.std() + rare


@pytest.mark.parametrize("name", BOTH)
def test_envpool_observations_have_the_same_layout(name):
    """Column by column, the third observation of 60 episodes has the same distribution in both backends."""

    def third(backend: str) -> np.ndarray:
        copies = envs.make(name, 60, backend)
        copies.reset(range(60), range(60))
        actions = np.random.default_rng(3).uniform(-1, 1, (3, 60, copies.spec.action))
        obs = [envs.step(copies, range(60), action)[0] for action in actions]
        copies.close()
        return obs[-1]

    ours, theirs = third("gymnasium"), third("envpool")
    # Humanoid has hundreds of columns, some of them rounding noise around zero
    alike = np.isclose(ours, theirs, atol=1e-4).all(0)
    p_values = ks_2samp(ours, theirs, method="asymp").pvalue[~alike]
    assert (p_values > 1e-6).all()


def test_the_contact_numbers_of_ant_v3_are_zero():
    lanes = Lanes(envs.make("Ant-v3", 2), [0, 1])
    assert lanes.envs.spec == (111, 8)
    for action in np.random.default_rng(0).uniform(-1, 1, (100, 2, 8)):
        step = lanes.step(action)
        assert (step.next_obs[:, 27:] == 0).all()
        assert np.abs(step.next_obs[:, :27]).max() > 0


@pytest.mark.parametrize("backend", BACKENDS)
def test_same_step_in_both_backends(backend):
    """Hopper falls after some dozen random steps: the last observation is that of the fall, the next a new start."""
    lanes = Lanes(envs.make("Hopper-v4", 3, backend), [1, 2, 3])
    rng = np.random.default_rng(0)
    ends = 0
    for _ in range(200):
        before = lanes.obs.copy()
        step = lanes.step(rng.uniform(-1, 1, (3, 3)))
        for lane in range(3):
            done = step.terminated[lane] or step.truncated[lane]
            height, angle = step.next_obs[lane, :2]
            healthy = height > 0.7 and abs(angle) < 0.2
            assert step.terminated[lane] == (not healthy)
            assert not np.array_equal(step.next_obs[lane], before[lane])
            if done:
                ends += 1
                assert abs(step.obs[lane, 0] - 1.25) < 0.01  # upright again
            else:
                np.testing.assert_array_equal(step.obs[lane], step.next_obs[lane])
    assert ends > 3
    assert lanes.episodes.sum() == ends


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("name", ["Hopper-v4", "dm_control/walker-walk"])
def test_starts_depend_on_the_seed_alone(name, backend):
    alone = envs.make(name, 1, backend).reset([0], [8])
    among = envs.make(name, 4, backend).reset(range(4), [5, 6, 7, 8])
    np.testing.assert_array_equal(alone[0], among[3])
    assert len({row.tobytes() for row in among}) == 4


def test_the_table_of_observations_is_the_suites_own():
    table = names.suite_observations()
    assert set(table) == {f"{domain}-{task}" for domain, task in suite.ALL_TASKS}
    for task in [*SUITE, "ball_in_cup-catch", "humanoid_CMU-run"]:
        assert table[task] == list(suite.load(*task.split("-")).observation_spec())
        assert not pool.lacks(f"dm_control/{task}") or pool.flaw(f"dm_control/{task}")


@pytest.mark.parametrize("backend", BACKENDS)
def test_action_repeat_adds_rewards_up_and_stops_at_the_end(backend):
    plain, repeated = (Lanes(envs.make("Hopper-v4", 1, backend, times), [4]) for times in (1, 3))
    rng = np.random.default_rng(2)
    for _ in range(40):
        action = rng.uniform(-1, 1, (1, 3))
        step = repeated.step(action)
        total = 0.0
        for _ in range(3):
            single = plain.step(action)
            total += single.reward[0]
            if single.terminated[0] or single.truncated[0]:
                break
        np.testing.assert_allclose(step.next_obs, single.next_obs, rtol=1e-6)
        assert step.reward[0] == pytest.approx(total, rel=1e-5)
        assert step.terminated[0] == single.terminated[0]


def test_reward_scale_is_for_training_alone():
    copies = envs.make("tests.toys:PointMass-v0", 1)
    plain, scaled = Lanes(copies, [1]), Lanes(envs.make("tests.toys:PointMass-v0", 1), [1], reward_scale=100.0)
    action = np.full((1, 1), 0.3)
    assert scaled.step(action).reward[0] == pytest.approx(100 * plain.step(action).reward[0])


def hide_envpool(monkeypatch, message: str) -> None:
    """Make imports of EnvPool fail with this message."""
    pool.unavailable.cache_clear()
    for module in [m for m in sys.modules if m == "envpool" or m.startswith("envpool.")]:
        monkeypatch.delitem(sys.modules, module)

    class Refuse:
        def find_spec(self, name, path=None, target=None):
            if name == "envpool" or name.startswith("envpool."):
                raise ImportError(message)

    monkeypatch.setattr(sys, "meta_path", [Refuse(), *sys.meta_path])


@pytest.fixture
def fresh_check():
    yield
    pool.unavailable.cache_clear()


@pytest.mark.parametrize(
    ("message", "advice"),
    [
        ("No module named 'envpool'", "pip install 'teen-rl[fast]'"),
        ("libEGL.so.1: cannot open shared object file", "apt install libegl1"),
    ],
)
def test_without_envpool_the_message_says_what_to_install(message, advice, monkeypatch, fresh_check):
    hide_envpool(monkeypatch, message)
    with pytest.raises(UserError, match="--backend envpool cannot be used") as error:
        envs.make("HalfCheetah-v4", 1, "envpool")
    assert advice in str(error.value)
    backend, notice = envs.choose_backend("HalfCheetah-v4", "auto")
    assert backend == "gymnasium"
    assert advice in notice
    assert "\n" not in notice
    assert len(envs.make("HalfCheetah-v4", 1)) == 1
    assert envs.choose_backend("Pendulum-v1", "auto") == ("gymnasium", "")
    with pytest.raises(UserError, match="HalfCheetah-v4"):  # the suggestion for v3
        envs.make("HalfCheetah-v3", 1)


@pytest.mark.parametrize(("version", "chosen"), [("1.2.5", "gymnasium"), ("1.2.6", "envpool"), ("1.10.0", "envpool")])
def test_the_finger_is_not_stepped_with_an_envpool_in_which_it_makes_no_contact(version, chosen, monkeypatch):
    """`test_pretrained.py` plays an agent on it, which scores nothing without contact."""
    monkeypatch.setattr("envpool.__version__", version)
    for task in ("finger-spin", "finger-turn_easy", "finger-turn_hard"):
        backend, notice = envs.choose_backend(f"dm_control/{task}", "auto")
        assert backend == chosen
        assert bool(pool.lacks(f"dm_control/{task}")) == (chosen == "gymnasium")
    assert envs.choose_backend("dm_control/cheetah-run", "auto") == ("envpool", "")
    if chosen == "gymnasium":
        assert "in EnvPool before 1.2.6 the finger passes through what it should turn" in notice
        for make in (envs.make, lambda name, count, _: envs.CompiledEnvs(name, count)):
            with pytest.raises(UserError, match=r"finger-spin: .* or take --backend auto --collector auto"):
                make("dm_control/finger-spin", 1, "envpool")


def test_envpool_is_not_imported_for_a_task_of_ones_own():
    code = (
        "import sys, tests.toys; from teen import envs; print(envs.choose_backend('tests.toys:PointMass-v0', 'auto'), "
    )
    code += "'envpool' in sys.modules)"
    found = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert found == "('gymnasium', '') False\n"


def test_unknown_tasks_say_so():
    with pytest.raises(UserError, match="no task 'dm_control/cheetah-fly'"):
        envs.make("dm_control/cheetah-fly", 1)
    with pytest.raises(UserError, match="EnvPool does not offer 'Pendulum-v1'"):
        envs.make("Pendulum-v1", 1, "envpool")
