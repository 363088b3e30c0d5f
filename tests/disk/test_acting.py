"""An agent in a user's hands: observations of all forms, exploring, pickle, Stable-Baselines3's signature."""

import pickle

import numpy as np
import pytest
from gymnasium import spaces

import teen
from teen.envs import rows
from teen.errors import UserError

SMALL = {"steps": 60, "warmup": 20, "eval_every": 60, "eval_episodes": 1, "width": 8, "batch": 16, "show": False}


@pytest.fixture(scope="module")
def agent(tmp_path_factory):
    """Return a TEEN with three members, whose observations are a dict and whose actions are 2×2."""
    out = tmp_path_factory.mktemp("runs") / "run"
    return teen.train("teen", "tests.toys:Composite-v0", seeds="3,7", n=3, epsilon=0.05, out=out, **SMALL).agents[0]


ONE = {"grid": np.arange(6.0).reshape(2, 3) / 10, "speed": np.array([7.0], np.float32)}
FLAT = np.array([0, 0.1, 0.2, 0.3, 0.4, 0.5, 7], np.float32)
BATCH = {key: np.stack([part, part / 2]) for key, part in ONE.items()}


def test_one_observation_and_batches_of_them(agent):
    action = agent.act(ONE)
    assert action.shape == (2, 2)
    np.testing.assert_allclose(agent.act(FLAT), action, rtol=1e-6)
    both = agent.act(BATCH)
    assert both.shape == (2, 2, 2)
    np.testing.assert_allclose(both[0], action, rtol=1e-5)
    np.testing.assert_allclose(agent.act(np.stack([FLAT, FLAT / 2])), both, rtol=1e-5)
    assert agent.act({key: part[:1] for key, part in BATCH.items()}).shape == (1, 2, 2)
    assert not np.allclose(agent.act(ONE, seed=7), action)


@pytest.mark.parametrize("obs", [np.zeros(3), np.zeros((2, 2, 2)), {"grid": ONE["grid"]}, "text", [[1, 2], [3]], None])
def test_another_shape_is_one_line(agent, obs):
    with pytest.raises(
        UserError, match=r"an observation of tests\.toys:Composite-v0 has 7 numbers, and a batch"
    ) as error:
        agent.act(obs)
    assert "\n" not in str(error.value)


def test_the_signature_of_stable_baselines(agent):
    """As its `evaluate_policy` calls it, with a vector of environments."""
    action, state = agent.predict(BATCH, state=None, episode_start=np.ones(2, bool), deterministic=True)
    np.testing.assert_array_equal(action, agent.act(BATCH))
    assert state is None
    np.testing.assert_array_equal(agent.predict(ONE)[0], agent.act(ONE))


def test_exploring_adds_noise_and_keeps_the_member_for_an_episode(agent):
    low, high = np.array([[-1.0, 0.0], [-100.0, 5.0]]), np.array([[1.0, 1.0], [300.0, 6.0]])
    many = np.tile(FLAT, (400, 1))
    first = agent.act(many, deterministic=False, episode_start=np.ones(400, bool))
    second = agent.act(many, deterministic=False, episode_start=np.zeros(400, bool))
    third = agent.act(many, deterministic=False, episode_start=np.ones(400, bool))
    scaled = [(actions - low) / (high - low) * 2 - 1 for actions in (first, second, third)]
    noise = [(a - b)[np.abs(a - b) < 1].std() for a, b in ((scaled[0], scaled[1]),)]
    assert 0.1 < noise[0] < 0.2  # √2 times the default of 0.1, a little less where it is clipped
    with pytest.raises(UserError, match=r"episode_start has the shape \(2,\), and there are 400 observations"):
        agent.act(many, deterministic=False, episode_start=[True, False])
    # Three members act: within an episode the distance to the first action is noise; over a start it is more.
    within, over = (np.abs(other - scaled[0]).mean() for other in scaled[1:])
    assert within < over


def test_pickled_and_shown(agent):
    again = pickle.loads(pickle.dumps(agent))
    np.testing.assert_array_equal(again.act(ONE, seed=7), agent.act(ONE, seed=7))
    assert again.seeds == (3, 7)
    assert repr(agent) == "<Agent: teen on tests.toys:Composite-v0, 2 seeds, 60 steps>"


def test_rows_of_spaces():
    """The rule alone, for spaces that no toy has."""

    def found(space, obs):
        return rows.rows(space, None, spaces.flatdim(space), lambda x: spaces.flatten(space, x).astype(np.float32), obs)

    box = spaces.Box(-1, 1, (1, 3))
    assert found(box, np.zeros((1, 3)))[1] is False
    assert found(box, np.zeros((4, 1, 3)))[0].shape == (4, 3)
    assert found(box, np.zeros((2, 3)))[1] is True
    assert found(box, np.zeros((3, 1))) is None
    three = spaces.Discrete(3)
    np.testing.assert_array_equal(found(three, 1)[0], [[0, 1, 0]])
    np.testing.assert_array_equal(found(three, np.array([2]))[0], [[0, 0, 1]])
    assert [found(three, obs)[1] for obs in (1, np.array([2]), np.eye(3)[:2])] == [False, True, True]
    two = spaces.MultiDiscrete([2, 3])
    np.testing.assert_array_equal(found(two, np.array([1, 2]))[0], [[0, 1, 0, 0, 1]])
    np.testing.assert_array_equal(found(two, np.array([[1, 2], [0, 0]]))[0], [[0, 1, 0, 0, 1], [1, 0, 1, 0, 0]])
    pair = spaces.Tuple([spaces.Box(-1, 1, (2,)), spaces.Discrete(2)])
    np.testing.assert_array_equal(found(pair, (np.array([0.5, 1]), 1))[0], [[0.5, 1, 0, 1]])
