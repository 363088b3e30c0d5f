"""What diagnostics ask: whose action, at what bonus, for which reward, recognised by whom."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import random

from teen import algos
from teen.algos import rnd, sac, td3, teen
from teen.algos.normalise import merged, normalised
from teen.settings import flat, replace
from teen.spec import AnyAlgorithm, Insight
from tests.reference import translate
from tests.support import SPEC, clock, compiled, random_batch, start

OBS = jnp.array([0.3, -1.0, 2.0])


class Case(NamedTuple):
    algo: AnyAlgorithm
    cfg: Any
    weights: Any
    state: Any
    insight: Insight

    def noise(self):
        return self.algo.draw_act(self.cfg, random.key(1), SPEC)


def case(name, base=None, normalise_obs=False, **changes):
    settings = {"width": 8, "n": 3, "rnd_width": 8, "embedding": 4, "gamma": 0.9, "epsilon": 0.05, **changes}
    cfg, algo = replace(algos.default_config(name, base), settings), algos.find(name, normalise_obs)
    state = start(algo, cfg)
    return Case(algo, cfg, algo.weights(cfg, state), state, algo.insight(cfg))


@pytest.mark.parametrize(
    ("name", "base"),
    [("td3", None), ("sac", None), ("redq", None), ("teen", "sac"), ("sunrise", None), ("rnd", "teen")],
)
def test_discount_and_plain_reward(name, base):
    _, cfg, weights, _, insight = case(name, base)
    assert flat(cfg)["gamma"] == 0.9
    if name != "rnd":
        assert insight.reward(cfg, weights, jnp.array([2.5]), OBS[None]).tolist() == [2.5]
    assert (insight.recognise is None) == ("teen" not in (name, base))


def test_td3_follows_its_policy_and_explores_with_noise():
    c = case("td3")
    algo, cfg, weights, _, insight = c
    action, bonus = insight.follow(cfg, weights, jnp.array(0), OBS, c.noise())
    np.testing.assert_array_equal(action, algo.policy(cfg, weights, (), OBS))
    assert bonus == 0
    acted, *_ = algo.act(cfg, algo.actor(cfg, weights, ()), (), OBS, c.noise())
    np.testing.assert_array_equal(insight.explore(cfg, weights, jnp.array(0), OBS, c.noise()), acted)


def test_the_bonus_of_a_soft_policy_by_hand():
    """An actor of zeros: u = ξ, a = tanh ξ, log π = Σ −ξ²/2 − log √2π − log(1 − a²)."""
    _, cfg, weights, _, insight = case("sac", start_temperature=0.3)
    weights = weights._replace(actor=jax.tree.map(jnp.zeros_like, weights.actor))
    xi = np.array([0.7, -0.2])
    action, bonus = insight.follow(cfg, weights, jnp.array(0), OBS, jnp.array(xi, jnp.float32))
    np.testing.assert_allclose(action, np.tanh(xi), rtol=1e-5)
    log_prob = (-0.5 * xi**2 - 0.5 * np.log(2 * np.pi) - np.log(1 - np.tanh(xi) ** 2)).sum()
    assert float(bonus) == pytest.approx(-0.3 * log_prob, rel=1e-4)


@pytest.mark.parametrize(("name", "base"), [("teen", None), ("teen", "sac"), ("sunrise", None)])
def test_a_member_follows_and_explores_by_itself(name, base):
    c = case(name, base)
    cfg, noise = c.cfg, c.noise()
    learner = sac.LEARNER if cfg.base == "sac" else td3.LEARNER
    for k in range(3):
        member = translate.at(c.weights.members, k)
        member_noise = noise.members[k] if name == "sunrise" else noise
        np.testing.assert_allclose(
            c.insight.explore(cfg, c.weights, jnp.array(k), OBS, noise),
            learner.explore(cfg.member, member.actor, OBS, member_noise),
            rtol=1e-5,
        )
        followed = c.insight.follow(cfg, c.weights, jnp.array(k), OBS, noise)
        for actual, expected in zip(followed, learner.follow(cfg.member, member, OBS, member_noise), strict=True):
            np.testing.assert_allclose(actual, expected, rtol=1e-5)


def test_teen_explores_as_it_acts():
    c = case("teen")
    algo, cfg, weights, _, insight = c
    member = jnp.array(2)
    acted, *_ = algo.act(cfg, algo.actor(cfg, weights, member), member, OBS, c.noise())
    np.testing.assert_array_equal(insight.explore(cfg, weights, member, OBS, c.noise()), acted)


def test_recognition_is_the_discriminators():
    _, cfg, weights, _, insight = case("teen")
    batch = random_batch(4, 3)
    log_q = insight.recognise(cfg, weights, batch.obs, batch.action)
    assert log_q.shape == (4, 3)
    np.testing.assert_allclose(jnp.exp(log_q).sum(1), 1, rtol=1e-5)
    np.testing.assert_array_equal(log_q, teen.nets.discriminator(weights.discriminator, batch.obs, batch.action))


def test_rnds_trained_reward_by_hand():
    """Reward + β · error / its running std, with the run's own predictor and statistics."""
    algo, cfg, _, state, insight = case("rnd", beta=0.5)
    batch = random_batch(32, 1)
    noise = algo.draw(cfg, random.key(2), 32, SPEC)
    seen = np.array(batch.next_obs)
    whitened = np.clip((seen - seen.mean(0)) / seen.std(0), -5, 5)
    before, target = (np.array(rnd.nets.mlp(net, whitened)) for net in (state.novelty.predictor, state.novelty.target))
    spread = np.square(before - target).mean(1).std()
    weights = algo.weights(cfg, compiled(algo)(cfg, state, batch, clock(1), noise)[0])
    after = np.array(rnd.nets.mlp(weights.novelty.predictor, whitened))
    expected = np.array(batch.reward) + 0.5 * np.square(after - target).mean(1) / spread
    np.testing.assert_allclose(insight.reward(cfg, weights, batch.reward, batch.next_obs), expected, rtol=2e-3)


def test_a_normalised_algorithm_is_asked_in_its_own_terms():
    c, inner = case("teen", normalise_obs=True), case("teen").insight
    cfg, batch = c.cfg, random_batch(16, 3)
    obs = batch.obs * 30 + 5
    weights = c.weights._replace(statistics=merged(c.weights.statistics, obs))
    seen = normalised(weights.statistics, obs)
    np.testing.assert_allclose(
        c.insight.recognise(cfg, weights, obs, batch.action), inner.recognise(cfg, weights.inner, seen, batch.action)
    )
    for ask in ("explore", "follow"):
        actual = getattr(c.insight, ask)(cfg, weights, jnp.array(1), obs[0], c.noise())
        expected = getattr(inner, ask)(cfg, weights.inner, jnp.array(1), seen[0], c.noise())
        for a, b in zip(jax.tree.leaves(actual), jax.tree.leaves(expected), strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-5)


def test_rnd_under_normalisation_pays_for_what_it_sees():
    c, inner = case("rnd", normalise_obs=True), case("rnd").insight
    batch = random_batch(16, 1)
    weights = c.weights._replace(statistics=merged(c.weights.statistics, batch.obs * 30 + 5))
    seen = normalised(weights.statistics, batch.next_obs)
    actual = c.insight.reward(c.cfg, weights, batch.reward, batch.next_obs)
    np.testing.assert_allclose(actual, inner.reward(c.cfg, weights.inner, batch.reward, seen), rtol=1e-5)
    assert not np.allclose(actual, batch.reward)
