"""Bias worked out by hand: rewards 1, 2, 3, … and critics, policies and bonuses that say what they are told."""

import jax.numpy as jnp
import numpy as np
import pytest

from teen import envs
from teen.algos import td3
from teen.measure import bias
from teen.measure.plays import following, mixing
from teen.measure.rollouts import Scene, Trajectory, play
from teen.spec import Insight

GAMMA = 0.5


def stub(slope=10.0, bonus=0.0, intrinsic=0.0, gamma=GAMMA, size=1):
    """Q(s, a) is the slope times the second observation, plus the first action: the member's number over 100."""
    insight = Insight(
        explore=lambda agent, member, obs, noise: jnp.zeros(2),
        follow=lambda agent, member, obs, noise: (jnp.full(2, member / 100), jnp.array(bonus)),
        reward=lambda agent, reward, next_obs: reward + intrinsic * next_obs[:, 1],
        discount=lambda agent: agent * gamma,
        recognise=None,
    )
    value = lambda agent, obs, action: slope * obs[:, 1] + action[:, 0]  # noqa: E731
    return td3.make(td3.Config())._replace(insight=insight, value=value, size=size)


def counter(algo, lanes=1, copies=1):
    """Counter observes (its seed, t), pays t after step t, and ends a copy's first episode after 3 steps."""
    pool = envs.make("tests.toys:Counter-v0", lanes * copies)
    return Scene(algo, jnp.ones(lanes), pool, range(lanes), 7, range(lanes))


def test_returns_by_hand():
    np.testing.assert_allclose(bias.discounted(np.array([1.0, 2, 3]), np.zeros(3), 0.5), [2.75, 3.5, 3])
    # bonuses 10, 20, 30 of the three actions: that of the judged one does not count
    np.testing.assert_allclose(
        bias.discounted(np.array([1.0, 2, 3]), np.array([10.0, 20, 30]), 0.5), [2.75 + 10 + 7.5, 3.5 + 15, 3]
    )


def test_constant_rewards_have_the_closed_form():
    expected = (1 - 0.9 ** np.arange(50, 0, -1)) / (1 - 0.9)
    np.testing.assert_allclose(bias.discounted(np.ones(50), np.zeros(50), 0.9), expected)


@pytest.mark.parametrize(
    ("gamma", "steps"), [(0.99, 459), (0.9, 44), (0.5, 7), (0.0, 1), (0.005, 1), (1.0, float("inf"))]
)
def test_horizons(gamma, steps):
    assert bias.horizon(gamma) == steps
    assert gamma**steps <= 0.01 or steps == float("inf")


def test_states_that_count():
    assert bias.countable(1000, True, 0.99) == 1000
    assert bias.countable(1000, False, 0.99) == 542  # the last of them has 459 steps to go
    assert bias.countable(200, False, 0.99) == 0
    assert bias.countable(200, False, 1.0) == 0
    assert bias.countable(200, True, 1.0) == 200


def test_a_terminated_episode_by_hand():
    """Q is 0, 10, 20 along the way; returns are 2.75, 3.5, 3."""
    (found,) = bias.measure(counter(stub()), 1)
    raw = np.array([-2.75, 6.5, 17])
    assert found.states == 3
    assert found.value_mean == pytest.approx(10)
    assert found.return_mean == pytest.approx(9.25 / 3)
    assert (found.raw_mean, found.raw_std) == pytest.approx((raw.mean(), raw.std()))
    assert (found.relative_mean, found.relative_std) == pytest.approx((raw.mean() / 10, raw.std() / 10))
    assert (found.normalised_mean, found.normalised_std) == pytest.approx((raw.mean() / 9.25 * 3, raw.std() / 9.25 * 3))


def test_large_returns_are_their_own_yardstick():
    found = bias.summary(np.array([30.0, 0.0]), np.array([-20.0, 4.0]))
    assert found.relative_mean == pytest.approx((50 / 20 - 4 / 10) / 2)
    assert found.normalised_mean == pytest.approx((50 - 4) / 2 / 8)


def test_an_episode_cut_by_the_clock_keeps_states_with_a_horizon_to_go():
    """Rewards 1 … 5 at γ = 0.09: two steps to go make 0.0081, so the first four states count."""
    scene = counter(stub(gamma=0.09))
    bias.measure(scene, 1)
    (found,) = bias.measure(scene, 1)  # a copy's second episode does not terminate
    assert found.states == 4
    assert found.value_mean == pytest.approx(15)
    returns = np.polyval([5, 4, 3, 2, 1], 0.09), np.polyval([5, 4, 3, 2], 0.09), np.polyval([5, 4, 3], 0.09), 4.45
    assert found.return_mean == pytest.approx(np.mean(returns), rel=1e-5)


def test_nothing_is_said_where_no_state_counts():
    scene = counter(stub(gamma=0.99))
    bias.measure(scene, 1)
    assert bias.measure(scene, 1) == [None]


def test_bonus_intrinsic_reward_and_reward_scale_enter_the_return():
    (found,) = bias.measure(counter(stub(bonus=4.0)), 1)
    assert found.return_mean == pytest.approx((2.75 + 2 + 1 + 3.5 + 2 + 3) / 3)
    (found,) = bias.measure(counter(stub(intrinsic=2.0)), 1)  # next observations are 1, 2, 3 too
    assert found.return_mean == pytest.approx(3 * 9.25 / 3)
    (found,) = bias.measure(counter(stub(intrinsic=2.0)), 1, reward_scale=10.0)  # of the environment's alone
    assert found.return_mean == pytest.approx(12 * 9.25 / 3)


def test_members_take_their_turns_and_lanes_stay_apart():
    def value(agent, obs, action):
        return action[:, 0] * 100 + 1000 * (agent - 1)

    scene = counter(stub(size=4)._replace(value=value), lanes=2, copies=8)
    first, second = bias.measure(scene._replace(agents=jnp.array([1.0, 1.5])), 8)  # members 0 to 3 twice each
    assert first.states == second.states == 8 * 3
    assert first.value_mean == pytest.approx(1.5)
    assert second.value_mean == pytest.approx(501.5)


def test_a_mixture_draws_a_member_in_every_step():
    scene = counter(stub(size=100))
    starts, nobody = scene.starts(0, 1), np.zeros((1, 1), int)
    ((same,),) = play(scene, following(scene.algo, scene.envs.spec), nobody + 42, starts)
    assert same.action == pytest.approx(0.42)
    ((mixed,),) = play(scene, mixing(scene.algo, scene.envs.spec), nobody, starts)
    assert len(np.unique(mixed.action[:, 0])) > 1


def test_one_lanes_critics_on_given_episodes():
    """Three states in chunks of 1024: padding does not leak."""
    ones = np.ones((3, 2), np.float32)
    episode = Trajectory(ones * 2, ones * 0, np.ones(3), ones, np.zeros(3), True)
    found = bias.of(stub(slope=1.0), jnp.array(1.0), [episode, episode])
    assert found.states == 6
    assert found.value_mean == pytest.approx(2)
    assert found.return_mean == pytest.approx((1 + 1.5 + 1.75) / 3)
