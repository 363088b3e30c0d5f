import gymnasium
import numpy as np
import pytest

from teen import envs
from teen.envs import Lanes
from teen.errors import UserError


def test_actions_map_affinely_to_each_bound():
    pool = envs.make("tests.toys:Composite-v0", 1)
    assert pool.spec == (7, 4)
    scaled = pool.scale(np.array([[-1, -1, -1, -1], [1, 1, 1, 1], [0, 0, 0.5, -0.5], [9, -9, 9, -9]]))
    expected = [
        [[-1, 0], [-100, 5]],
        [[1, 1], [300, 6]],
        [[0, 0.5], [200, 5.25]],
        [[1, 0], [300, 5]],  # never outside
    ]
    np.testing.assert_allclose(scaled, expected)
    pool.reset([0], [1])
    envs.step(pool, [0], np.full((1, 4), 0.5))
    np.testing.assert_allclose(pool.envs[0].unwrapped.last_action, [[0.5, 0.75], [200, 5.75]])


def test_dict_and_grid_observations_are_flattened():
    pool = envs.make("tests.toys:Composite-v0", 2)
    np.testing.assert_allclose(pool.reset([0, 1], [0, 1])[1], [0, 0.1, 0.2, 0.3, 0.4, 0.5, 7], rtol=1e-6)


def test_every_tick_is_one_true_transition_and_the_last_observation_is_kept():
    """Counter: odd episodes terminate at step 3, even ones run into the time limit of 5."""
    lanes = Lanes(envs.make("tests.toys:Counter-v0", 2), [7, 9])
    seen = []
    for _ in range(8):
        before = lanes.obs
        step = lanes.step(np.zeros((2, 2)))
        assert (before[:, 0] == [7, 9]).all()
        np.testing.assert_array_equal(step.next_obs[:, 1], before[:, 1] + 1)
        np.testing.assert_array_equal(step.reward, step.next_obs[:, 1])
        seen.append((before[0, 1], step.next_obs[0, 1], step.terminated[0], step.truncated[0], step.obs[0, 1]))
    assert seen == [
        (0, 1, False, False, 1),
        (1, 2, False, False, 2),
        (2, 3, True, False, 0),  # termination: reset at once
        (0, 1, False, False, 1),
        (1, 2, False, False, 2),
        (2, 3, False, False, 3),
        (3, 4, False, False, 4),
        (4, 5, False, True, 0),  # time limit
    ]
    assert lanes.episodes.tolist() == [2, 2]


def test_a_lane_steps_as_gymnasium_does_by_hand_whatever_its_neighbours():
    """HalfCheetah-v5 of seed 5, alone and as the last of three, against gymnasium stepped directly."""
    rng = np.random.default_rng(0)
    actions = rng.uniform(-1, 1, (30, 1, 6)).astype(np.float32)
    alone = Lanes(envs.make("HalfCheetah-v5", 1, "gymnasium"), [5])
    among = Lanes(envs.make("HalfCheetah-v5", 3, "gymnasium"), [3, 4, 5])
    by_hand = gymnasium.make("HalfCheetah-v5")
    obs, _ = by_hand.reset(seed=5)
    for action in actions:
        np.testing.assert_array_equal(alone.obs[0], obs.astype(np.float32))
        np.testing.assert_array_equal(among.obs[2], alone.obs[0])
        obs, reward, *_ = by_hand.step(action[0])
        step = alone.step(action)
        crowd = among.step(np.concatenate([-action, action * 0, action]))
        assert step.reward[0] == crowd.reward[2] == pytest.approx(reward, abs=1e-6)
    assert not np.array_equal(among.obs[0], among.obs[2])


@pytest.mark.parametrize(
    ("env", "message"),
    [
        ("CartPole-v1", "Discrete"),
        ("tests.toys:Unbounded-v0", "unbounded actions"),
        ("tests.toys:Image-v0", "image observations"),
        ("NoSuch-v0", "cannot be made"),
        ("no.such.module:X-v0", "module no.such.module, which has not been imported"),
    ],
)
def test_unusable_environments_say_why(env, message):
    with pytest.raises(UserError, match=message) as error:
        envs.make(env, 1)
    assert env in str(error.value)
    assert "\n" not in str(error.value)
