"""Bias worked out by hand: rewards 1, 2, 3, … and critics, policies and bonuses that say what they are told."""

import jax.numpy as jnp
import numpy as np
import pytest

from teen import algos, envs
from teen.algos.td3 import Config
from teen.measure import bias
from teen.measure.plays import following, mixing
from teen.measure.rollouts import Scene, Trajectory, play
from teen.settings import stacked
from teen.spec import Insight

GAMMA = 0.5


def stub(slope=10.0, bonus=0.0, intrinsic=0.0, size=0):
    """Q(s, a) is the slope times the second observation, plus the first action: the member's number over 100."""
    insight = Insight(
        explore=lambda cfg, weights, member, obs, noise: jnp.zeros(2),
        follow=lambda cfg, weights, member, obs, noise: (jnp.full(2, member / 100), jnp.array(bonus)),
        reward=lambda cfg, weights, reward, next_obs: reward + intrinsic * next_obs[:, 1],
        recognise=None,
    )
    return algos.find("td3")._replace(
        insight=lambda cfg: insight,
        value=lambda cfg, weights, obs, action: slope * obs[:, 1] + action[:, 0],
        size=lambda cfg: size,
    )


def counter(algo, gammas=(GAMMA,), copies=1):
    """Counter observes (its seed, t), pays t after step t, and ends a copy's first episode after 3 steps."""
    lanes = len(gammas)
    pool = envs.make("tests.toys:Counter-v0", lanes * copies)
    configs = stacked([Config(gamma=gamma) for gamma in gammas])
    return Scene(algo, configs, jnp.ones(lanes), pool, range(lanes), 7, range(lanes))


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
    (lane,) = bias.measure(counter(stub()), 1)
    raw = np.array([-2.75, 6.5, 17])
    assert lane.states == 3
    assert lane.value_mean == pytest.approx(10)
    assert lane.return_mean == pytest.approx(9.25 / 3)
    assert (lane.raw_mean, lane.raw_std) == pytest.approx((raw.mean(), raw.std()))
    assert (lane.relative_mean, lane.relative_std) == pytest.approx((raw.mean() / 10, raw.std() / 10))
    assert (lane.normalised_mean, lane.normalised_std) == pytest.approx((raw.mean() / 9.25 * 3, raw.std() / 9.25 * 3))


def test_large_returns_are_their_own_yardstick():
    summary = bias.summary(np.array([30.0, 0.0]), np.array([-20.0, 4.0]))
    assert summary.relative_mean == pytest.approx((50 / 20 - 4 / 10) / 2)
    assert summary.normalised_mean == pytest.approx((50 - 4) / 2 / 8)


def test_an_episode_cut_by_the_clock_keeps_states_with_a_horizon_to_go():
    """Rewards 1 … 5 at γ = 0.09: two steps to go make 0.0081, so the first four states count."""
    scene = counter(stub(), gammas=[0.09])
    bias.measure(scene, 1)
    (lane,) = bias.measure(scene, 1)  # a copy's second episode does not terminate
    assert lane.states == 4
    assert lane.value_mean == pytest.approx(15)
    returns = np.polyval([5, 4, 3, 2, 1], 0.09), np.polyval([5, 4, 3, 2], 0.09), np.polyval([5, 4, 3], 0.09), 4.45
    assert lane.return_mean == pytest.approx(np.mean(returns), rel=1e-5)


def test_nothing_is_said_where_no_state_counts():
    scene = counter(stub(), gammas=[0.99])
    bias.measure(scene, 1)
    assert bias.measure(scene, 1) == [None]


def test_bonus_intrinsic_reward_and_reward_scale_enter_the_return():
    (lane,) = bias.measure(counter(stub(bonus=4.0)), 1)
    assert lane.return_mean == pytest.approx((2.75 + 2 + 1 + 3.5 + 2 + 3) / 3)
    (lane,) = bias.measure(counter(stub(intrinsic=2.0)), 1)  # next observations are 1, 2, 3 too
    assert lane.return_mean == pytest.approx(3 * 9.25 / 3)
    (lane,) = bias.measure(counter(stub(intrinsic=2.0)), 1, reward_scale=10.0)  # of the environment's reward alone
    assert lane.return_mean == pytest.approx(12 * 9.25 / 3)


def test_members_take_their_turns_and_lanes_stay_apart():
    def value(cfg, weights, obs, action):
        return action[:, 0] * 100 + 1000 * (weights - 1)

    scene = counter(stub(size=4)._replace(value=value), gammas=[0.5, 0.75], copies=8)
    first, second = bias.measure(scene._replace(weights=jnp.array([1.0, 1.5])), 8)  # members 0 to 3 twice each
    assert first.states == second.states == 8 * 3
    assert first.value_mean == pytest.approx(1.5)
    assert second.value_mean == pytest.approx(501.5)
    assert first.return_mean == pytest.approx((2.75 + 3.5 + 3) / 3)
    assert second.return_mean == pytest.approx((1 + 1.5 + 1.6875 + 2 + 2.25 + 3) / 3)


def test_a_mixture_draws_a_member_in_every_step():
    scene = counter(stub(size=100))
    starts, nobody = scene.starts(0, 1), np.zeros((1, 1), int)
    ((same,),) = play(scene, following, nobody + 42, starts)
    assert same.action == pytest.approx(0.42)
    ((mixed,),) = play(scene, mixing, nobody, starts)
    assert len(np.unique(mixed.action[:, 0])) > 1


def test_one_lanes_critics_on_given_episodes():
    """Three states in chunks of 1024: padding does not leak."""
    ones = np.ones((3, 2), np.float32)
    episode = Trajectory(ones * 2, ones * 0, np.ones(3), ones, np.zeros(3), True)
    lane = bias.of(stub(slope=1.0), Config(gamma=GAMMA), jnp.array(1.0), [episode, episode])
    assert lane.states == 6
    assert lane.value_mean == pytest.approx(2)
    assert lane.return_mean == pytest.approx((1 + 1.5 + 1.75) / 3)
