import jax
import jax.numpy as jnp
import numpy as np

from teen.algos import td3
from teen.algos.normalise import Statistics, merged, normalise, normalised
from tests.support import SPEC, clock, random_batch


def start():
    return Statistics(jnp.zeros(()), jnp.zeros(3), jnp.zeros(3))


def test_running_statistics_equal_those_of_all_rows_at_once():
    rng = np.random.default_rng(0)
    batches = [rng.normal([1, -50, 0], [2, 9, 0], (rows, 3)) for rows in (5, 1, 40)]
    s = start()
    for batch in batches:
        s = merged(s, jnp.array(batch, jnp.float32))
    everything = np.concatenate(batches)
    np.testing.assert_allclose(s.mean, everything.mean(0), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(jnp.sqrt(s.squares / s.rows), everything.std(0), rtol=1e-4, atol=1e-6)
    out = np.array(normalised(s, jnp.array(everything, jnp.float32)))
    np.testing.assert_allclose(out[:, :2].mean(0), 0, atol=1e-4)
    np.testing.assert_allclose(out[:, :2].std(0), 1, rtol=1e-4)
    assert (out[:, 2] == 0).all()  # a constant column stays finite
    assert np.abs(normalised(s, jnp.full((1, 3), 1e9))).max() == 10


def test_nothing_changes_before_anything_was_seen():
    obs = jnp.array([[0.5, -2.0, 7.0]])
    np.testing.assert_array_equal(normalised(start(), obs), obs)


def test_the_inner_algorithm_sees_normalised_observations_and_the_agent_keeps_the_statistics():
    cfg = td3.Config(width=8)
    inner, outer = td3.ALGORITHM, normalise(td3.ALGORITHM)
    state = outer.init(cfg, jax.random.key(0), SPEC)
    batch = random_batch(16, 1)
    batch = batch._replace(obs=batch.obs * 30 + 5, next_obs=batch.next_obs * 30 + 5)
    noise = outer.draw(cfg, jax.random.key(1), 16, SPEC)
    after, losses = outer.update(cfg, state, batch, clock(1), noise)
    s = merged(start(), batch.obs)
    seen = batch._replace(obs=normalised(s, batch.obs), next_obs=normalised(s, batch.next_obs))
    expected, expected_losses = inner.update(cfg, state.inner, seen, clock(1), noise)
    for a, b in zip(jax.tree.leaves(after.inner), jax.tree.leaves(expected), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(losses["critic_loss"], expected_losses["critic_loss"], rtol=1e-5)
    weights = outer.weights(cfg, after)
    np.testing.assert_allclose(
        outer.policy(cfg, weights, (), batch.obs[0]), inner.policy(cfg, weights.inner, (), seen.obs[0]), rtol=1e-5
    )
    np.testing.assert_allclose(weights.statistics.mean, s.mean)
