"""What diagnostics ask: whose action, at what bonus, for which reward, at which discount, by whom recognised."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import random

from teen import algos
from teen.algos import rnd, sac, teen
from teen.algos.normalise import merged, normalised
from teen.settings import replace
from tests.reference import translate
from tests.support import SPEC, clock, random_batch

OBS = jnp.array([0.3, -1.0, 2.0])


def agent_of(name, base=None, normalise_obs=False, **changes):
    settings = {"width": 8, "n": 3, "rnd_width": 8, "embedding": 4, "gamma": 0.9, "epsilon": 0.05, **changes}
    cfg = replace(algos.default_config(name, base), settings)
    algo = algos.build(name, cfg, normalise_obs)
    state = jax.jit(lambda key: algo.init(key, SPEC, algos.find(name).hyper(cfg)))(random.key(0))
    return algo, algo.agent(state), state


@pytest.mark.parametrize(
    ("name", "base"),
    [("td3", None), ("sac", None), ("redq", None), ("teen", "sac"), ("sunrise", None), ("rnd", "teen")],
)
def test_discount_and_plain_reward(name, base):
    algo, agent, _ = agent_of(name, base)
    assert float(algo.insight.discount(agent)) == pytest.approx(0.9)
    if name != "rnd":
        assert algo.insight.reward(agent, jnp.array([2.5]), OBS[None]).tolist() == [2.5]
    assert (algo.insight.recognise is None) == ("teen" not in (name, base))


def test_td3_follows_its_policy_and_explores_with_noise():
    algo, agent, _ = agent_of("td3")
    noise = algo.draw_act(random.key(1), SPEC)
    action, bonus = algo.insight.follow(agent, jnp.array(0), OBS, noise)
    np.testing.assert_array_equal(action, algo.policy(agent, (), OBS))
    assert bonus == 0
    np.testing.assert_array_equal(
        algo.insight.explore(agent, jnp.array(0), OBS, noise), algo.act(algo.actor(agent, ()), (), OBS, noise)[0]
    )


def test_the_bonus_of_a_soft_policy_by_hand():
    """An actor of zeros: u = ξ, a = tanh ξ, log π = Σ −ξ²/2 − log √2π − log(1 − a²)."""
    algo, agent, _ = agent_of("sac", start_temperature=0.3)
    agent = agent._replace(actor=jax.tree.map(jnp.zeros_like, agent.actor))
    xi = np.array([0.7, -0.2])
    action, bonus = algo.insight.follow(agent, jnp.array(0), OBS, jnp.array(xi, jnp.float32))
    np.testing.assert_allclose(action, np.tanh(xi), rtol=1e-5)
    log_prob = (-0.5 * xi**2 - 0.5 * np.log(2 * np.pi) - np.log(1 - np.tanh(xi) ** 2)).sum()
    assert float(bonus) == pytest.approx(-0.3 * log_prob, rel=1e-4)


@pytest.mark.parametrize(("name", "base"), [("teen", None), ("teen", "sac"), ("sunrise", None)])
def test_a_member_follows_and_explores_by_itself(name, base):
    algo, agent, _ = agent_of(name, base)
    learner = (sac if "sac" in (base, algos.default_config(name, base).base) else algos.td3).member(
        algos.default_config(name, base).member
    )
    noise = algo.draw_act(random.key(1), SPEC)
    for k in range(3):
        own = translate.at(agent.members, k)
        own_noise = noise.members[k] if name == "sunrise" else noise
        member = jnp.array(k)
        np.testing.assert_allclose(
            algo.insight.explore(agent, member, OBS, noise), learner.act(own, OBS, own_noise), rtol=1e-5
        )
        for found, expected in zip(
            algo.insight.follow(agent, member, OBS, noise), learner.follow(own, OBS, own_noise), strict=True
        ):
            np.testing.assert_allclose(found, expected, rtol=1e-5)


def test_teen_explores_as_it_acts():
    algo, agent, _ = agent_of("teen")
    member, noise = jnp.array(2), algo.draw_act(random.key(1), SPEC)
    acted, _ = algo.act(algo.actor(agent, member), member, OBS, noise)
    np.testing.assert_array_equal(algo.insight.explore(agent, member, OBS, noise), acted)


def test_recognition_is_the_discriminators():
    algo, agent, _ = agent_of("teen")
    batch = random_batch(4, 3)
    log_q = algo.insight.recognise(agent, batch.obs, batch.action)
    assert log_q.shape == (4, 3)
    np.testing.assert_allclose(jnp.exp(log_q).sum(1), 1, rtol=1e-5)
    np.testing.assert_array_equal(log_q, teen.nets.discriminator(agent.discriminator, batch.obs, batch.action))


def test_rnds_trained_reward_by_hand():
    """Reward + β · error / its running std, with the agent's own predictor and statistics."""
    algo, _, state = agent_of("rnd", beta=0.5)
    batch = random_batch(32, 1)
    noise = algo.draw(random.key(2), 32, SPEC)
    seen = np.array(batch.next_obs)
    whitened = np.clip((seen - seen.mean(0)) / seen.std(0), -5, 5)
    before, target = (np.array(rnd.nets.mlp(net, whitened)) for net in (state.novelty.predictor, state.novelty.target))
    spread = np.square(before - target).mean(1).std()
    agent = algo.agent(jax.jit(algo.update)(state, batch, clock(1), noise)[0])
    after = np.array(rnd.nets.mlp(agent.novelty.predictor, whitened))
    expected = np.array(batch.reward) + 0.5 * np.square(after - target).mean(1) / spread
    np.testing.assert_allclose(algo.insight.reward(agent, batch.reward, batch.next_obs), expected, rtol=2e-3)


def test_a_normalised_algorithm_is_asked_in_its_own_terms():
    algo, agent, _ = agent_of("teen", normalise_obs=True)
    inner, _, _ = agent_of("teen")
    batch = random_batch(16, 3)
    agent = agent._replace(statistics=merged(agent.statistics, batch.obs * 30 + 5))
    obs = batch.obs * 30 + 5
    seen = normalised(agent.statistics, obs)
    np.testing.assert_allclose(
        algo.insight.recognise(agent, obs, batch.action), inner.insight.recognise(agent.inner, seen, batch.action)
    )
    noise, member = algo.draw_act(random.key(3), SPEC), jnp.array(1)
    for ask in ("explore", "follow"):
        found = getattr(algo.insight, ask)(agent, member, obs[0], noise)
        expected = getattr(inner.insight, ask)(agent.inner, member, seen[0], noise)
        for a, b in zip(jax.tree.leaves(found), jax.tree.leaves(expected), strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-5)
    assert float(algo.insight.discount(agent)) == pytest.approx(0.9)


def test_rnd_under_normalisation_pays_for_what_it_sees():
    algo, agent, _ = agent_of("rnd", normalise_obs=True)
    inner, _, _ = agent_of("rnd")
    batch = random_batch(16, 1)
    agent = agent._replace(statistics=merged(agent.statistics, batch.obs * 30 + 5))
    found = algo.insight.reward(agent, batch.reward, batch.next_obs)
    expected = inner.insight.reward(agent.inner, batch.reward, normalised(agent.statistics, batch.next_obs))
    np.testing.assert_allclose(found, expected, rtol=1e-5)
    assert not np.allclose(found, batch.reward)
