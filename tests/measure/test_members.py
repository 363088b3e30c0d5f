"""An ensemble whose members always do the same thing, each its own: everything follows by hand."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from teen import algos, envs
from teen.measure import members
from teen.measure.rollouts import Scene
from teen.measure.visits import Visits
from teen.settings import replace, stacked

ACTIONS = np.array([-0.5, 0.0, 0.8])  # of the three members


def constant(net, outputs):
    """Return the network that gives these numbers for every input."""
    zero = jax.tree.map(jnp.zeros_like, net)
    return (*zero[:-1], zero[-1]._replace(bias=jnp.asarray(outputs, jnp.float32).reshape(zero[-1].bias.shape)))


def ensemble(lanes=1, copies=4):
    cfg = replace(algos.default_config("teen"), {"width": 4, "n": 3, "epsilon": 0.05})
    algo = algos.find("teen")
    pool = envs.make("tests.toys:PointMass-v0", lanes * copies)
    weights = algo.weights(cfg, jax.jit(lambda key: algo.init(cfg, key, pool.spec))(jax.random.key(0)))
    weights = weights._replace(
        members=weights.members._replace(actor=constant(weights.members.actor, np.arctanh(ACTIONS))),
        discriminator=constant(weights.discriminator, np.log([0.5, 0.3, 0.2])),
    )
    all_weights = jax.tree.map(lambda leaf: jnp.stack([leaf] * lanes), weights)
    return Scene(algo, stacked([cfg] * lanes), all_weights, pool, range(lanes), 3, range(lanes))


def score(start, action):
    """PointMass with one action all the way: 40 steps of −x²."""
    x = np.random.Generator(np.random.PCG64(int(start))).uniform(-1, 1)
    return -sum((x := np.clip(x + 0.25 * action, -2, 2)) ** 2 for _ in range(40))


def test_returns_beside_each_other():
    scene = ensemble(lanes=2)
    for lane, returns in enumerate(members.returns(scene, 5)):  # two episodes of each member
        starts = scene.starts(members.PURPOSE, 5)[lane]
        alone = [score(s, a) for s, a in zip(starts[[0, 1, 2, 3, 4, 0]], ACTIONS.repeat(2), strict=True)]
        np.testing.assert_allclose(returns.members, np.reshape(alone, (3, 2)), rtol=1e-3, atol=1e-3)
        assert returns.best() == pytest.approx(np.reshape(alone, (3, 2)).mean(1).max(), rel=1e-3)
        mean = [score(s, 0.1) for s in starts]
        np.testing.assert_allclose(returns.mean_action, mean, rtol=1e-3, atol=1e-3)
        possible = [[score(s, a) for a in ACTIONS] for s in starts]
        for drawn, each in zip(returns.random_member, possible, strict=True):
            assert np.abs(np.array(each) - drawn).min() < 1e-3 * max(1, abs(drawn))


def test_the_discriminator_by_hand():
    """It says 0.5, 0.3, 0.2 of every pair, so it always guesses the first."""
    scene = ensemble()
    visits = Visits(np.zeros((3, 10, 1), np.float32), np.zeros((3, 10, 1), np.float32), np.zeros((3, 10)))
    recognition = members.recognition(scene.algo, *scene.lane(0), visits)
    np.testing.assert_array_equal(recognition.confusion, [[1, 0, 0]] * 3)
    assert recognition.accuracy() == pytest.approx(1 / 3)
    assert recognition.bound == pytest.approx(np.log(3) + np.log([0.5, 0.3, 0.2]).mean(), rel=1e-5)


def test_distance_of_actions_by_hand():
    scene = ensemble()
    states = np.linspace(-1, 1, 7, dtype=np.float32)[:, None]
    distance = members.action_distance(scene.algo, *scene.lane(0), states)
    assert distance == pytest.approx((0.5 + 0.8 + 1.3) / 3, rel=1e-4)


def test_one_policy_is_no_ensemble():
    def size(name, **settings):
        """Return how many policies of a lane a diagnosis plays; of one alone, it measures nothing about members."""
        configs = stacked([replace(algos.default_config(name), settings)])
        return Scene(algos.find(name), configs, (), None, [0], 0, [0]).size

    assert size("td3") == 1
    assert size("teen", n=1, m=1) == 1
    assert size("sunrise") > 1
