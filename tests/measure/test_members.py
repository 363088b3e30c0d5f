"""An ensemble whose members always do the same thing, each its own: everything follows by hand."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from teen import algos, envs
from teen.algos import td3
from teen.measure import members
from teen.measure.rollouts import Scene
from teen.measure.visits import Visits
from teen.settings import replace

ACTIONS = np.array([-0.5, 0.0, 0.8])  # of the three members


def constant(net, outputs):
    """The network that gives these numbers whatever it is asked."""
    zero = jax.tree.map(jnp.zeros_like, net)
    return (*zero[:-1], zero[-1]._replace(bias=jnp.asarray(outputs, jnp.float32).reshape(zero[-1].bias.shape)))


def ensemble(lanes=1, copies=4):
    cfg = replace(algos.default_config("teen"), {"width": 4, "n": 3, "epsilon": 0.05})
    algo = algos.build("teen", cfg)
    pool = envs.make("tests.toys:PointMass-v0", lanes * copies)
    hyper = algos.find("teen").hyper(cfg)
    agent = algo.agent(jax.jit(lambda key: algo.init(key, pool.spec, hyper))(jax.random.key(0)))
    agent = agent._replace(
        members=agent.members._replace(actor=constant(agent.members.actor, np.arctanh(ACTIONS))),
        discriminator=constant(agent.discriminator, np.log([0.5, 0.3, 0.2])),
    )
    agents = jax.tree.map(lambda leaf: jnp.stack([leaf] * lanes), agent)
    return Scene(algo, agents, pool, range(lanes), 3, range(lanes))


def score(start, action):
    """PointMass with one action all the way: 40 steps of −x²."""
    x = np.random.Generator(np.random.PCG64(int(start))).uniform(-1, 1)
    return -sum((x := np.clip(x + 0.25 * action, -2, 2)) ** 2 for _ in range(40))


def test_returns_beside_each_other():
    scene = ensemble(lanes=2)
    for lane, found in enumerate(members.returns(scene, 5)):  # two episodes of each member
        starts = scene.starts(members.PURPOSE, 5)[lane]
        alone = [score(s, a) for s, a in zip(starts[[0, 1, 2, 3, 4, 0]], ACTIONS.repeat(2), strict=True)]
        np.testing.assert_allclose(found.members, np.reshape(alone, (3, 2)), rtol=1e-3, atol=1e-3)
        assert found.best() == pytest.approx(np.reshape(alone, (3, 2)).mean(1).max(), rel=1e-3)
        mean = [score(s, 0.1) for s in starts]
        np.testing.assert_allclose(found.mean_action, mean, rtol=1e-3, atol=1e-3)
        possible = [[score(s, a) for a in ACTIONS] for s in starts]
        for own, each in zip(found.random_member, possible, strict=True):
            assert np.abs(np.array(each) - own).min() < 1e-3 * max(1, abs(own))


def test_the_discriminator_by_hand():
    """It says 0.5, 0.3, 0.2 of every pair, so it always guesses the first."""
    scene = ensemble()
    visits = Visits(np.zeros((3, 10, 1), np.float32), np.zeros((3, 10, 1), np.float32), np.zeros((3, 10)))
    found = members.recognition(scene.algo, scene.agent(0), visits)
    np.testing.assert_array_equal(found.confusion, [[1, 0, 0]] * 3)
    assert found.accuracy() == pytest.approx(1 / 3)
    assert found.bound == pytest.approx(np.log(3) + np.log([0.5, 0.3, 0.2]).mean(), rel=1e-5)


def test_distance_of_actions_by_hand():
    scene = ensemble()
    states = np.linspace(-1, 1, 7, dtype=np.float32)[:, None]
    found = members.action_distance(scene.algo, scene.agent(0), states)
    assert found == pytest.approx((0.5 + 0.8 + 1.3) / 3, rel=1e-4)


def test_one_policy_is_no_ensemble():
    assert not members.is_ensemble(td3.make(td3.Config()))
    assert not members.is_ensemble(algos.build("teen", replace(algos.default_config("teen"), {"n": 1, "m": 1})))
    assert members.is_ensemble(algos.build("sunrise", algos.default_config("sunrise")))
