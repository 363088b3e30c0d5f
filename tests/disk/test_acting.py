"""An agent in a user's hands: observations of all forms, exploring, pickle, Stable-Baselines3's signature."""

import pickle

import jax
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


def test_one_member_acts_alone(agent):
    """Against its network, computed from its arrays; one observation takes another way than several."""

    def by_hand(seed, member, row):
        for layer in (layers := agent.weights.members.actor):
            weight, bias = (np.asarray(leaf, float)[agent.seeds.index(seed), member] for leaf in layer)
            row = weight @ row + bias
            row = np.tanh(row) if layer is layers[-1] else np.maximum(row, 0)
        low, high = np.array([[-1.0, 0.0], [-100.0, 5.0]]), np.array([[1.0, 1.0], [300.0, 6.0]])
        return low + (row.reshape(2, 2) + 1) / 2 * (high - low)

    for seed in (3, 7):
        for member in range(3):
            action = agent.act(ONE, seed=seed, member=member)
            np.testing.assert_allclose(action, by_hand(seed, member, FLAT), rtol=1e-5, atol=1e-6)
            both = agent.predict(BATCH, seed=seed, member=np.int64(member))[0]
            np.testing.assert_allclose(both[0], action, rtol=1e-5, atol=1e-6)
            np.testing.assert_allclose(both[1], by_hand(seed, member, FLAT / 2), rtol=1e-5, atol=1e-6)
        members = [agent.act(ONE, seed=seed, member=member) for member in range(3)]
        np.testing.assert_allclose(np.mean(members, 0), agent.act(ONE, seed=seed), rtol=1e-5, atol=1e-6)
        assert not np.allclose(members[0], members[1])


@pytest.mark.parametrize("member", [3, -1, 1.0, True, "0"])
def test_no_such_member(agent, member):
    with pytest.raises(UserError, match=r"there is no member .*: this agent has members 0 to 2"):
        agent.act(ONE, member=member)


def test_a_member_does_not_explore(agent):
    with pytest.raises(UserError, match="a member acts without noise"):
        agent.act(ONE, member=1, deterministic=False)


@pytest.mark.parametrize(("algo", "normalise_obs"), [("sunrise", False), ("rnd", True)])
def test_members_of_every_ensemble(algo, normalise_obs):
    """Around other algorithms and normalisation, against the algorithm's own `members`."""
    base = {"base": "teen"} if algo == "rnd" else {}
    made = dict(n=2, width=8, seeds=1, normalise_obs=normalise_obs, show=False, **base)
    agent = getattr(teen, algo.upper())("Pendulum-v1", **made).agent
    obs = np.array([0.5, -0.5, 3.0], np.float32)
    weights = jax.tree.map(lambda leaf: leaf[0], agent.weights)
    own = 2 * np.asarray(agent.algo.members(agent.config, weights, np.stack([obs, obs])))  # torques of -2 to 2
    assert not np.allclose(own[0], own[1])
    for member in range(2):
        np.testing.assert_allclose(agent.act(obs, member=member), own[member], rtol=1e-5)


@pytest.mark.parametrize(("algo", "normalise_obs"), [("redq", False), ("rnd", True)])
def test_algorithms_without_members(algo, normalise_obs):
    agent = getattr(teen, algo.upper())("Pendulum-v1", width=8, seeds=1, normalise_obs=normalise_obs, show=False).agent
    with pytest.raises(UserError, match="this algorithm has no members"):
        agent.act(np.zeros(3), member=0)


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
