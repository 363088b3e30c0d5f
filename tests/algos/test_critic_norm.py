import jax
import jax.numpy as jnp
import numpy as np
import pytest

from teen import algos, nets
from teen.settings import replace
from tests.support import SPEC, clock, random_batch


def test_layer_norm_by_hand():
    layer = nets.Linear(jnp.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]), jnp.array([0.5, 0.0, -0.5]))
    # x = (1, 3): products (1, 3, 4), mean 8/3, population std √(14/9)
    products = np.array([1.0, 3.0, 4.0])
    expected = (products - products.mean()) / np.sqrt(products.var() + 1e-5) + [0.5, 0.0, -0.5]
    np.testing.assert_allclose(nets.normed_linear(layer, jnp.array([[1.0, 3.0]]))[0], expected, rtol=1e-5)


def with_larger_critics(weights):
    """The first layer of every critic ten times as large, wherever an algorithm keeps its critics."""
    for wrapper in ("inner", "members"):
        if hasattr(weights, wrapper):
            return weights._replace(**{wrapper: with_larger_critics(getattr(weights, wrapper))})
    first, *rest = weights.critics
    return weights._replace(critics=(first._replace(weight=first.weight * 10), *rest))


@pytest.mark.parametrize("name", algos.NAMES)
def test_every_algorithm_takes_normed_critics(name):
    """Scaling the first layer's weights by ten does not change a normed critic's Q."""
    algo = algos.find(name)
    cfg = replace(algo.Config(), {"width": 8, "critic_norm": "layer"})
    state = algo.init(cfg, jax.random.key(0), SPEC)
    weights, batch = algo.weights(cfg, state), random_batch(4, 2)
    batch = batch._replace(extras={**batch.extras, "mask": jnp.ones((4, 5))})
    a, b = (algo.value(cfg, x, batch.obs, batch.action) for x in (weights, with_larger_critics(weights)))
    np.testing.assert_allclose(a, b, rtol=1e-3, atol=1e-3)
    plain = replace(cfg, {"critic_norm": "none"})
    assert not np.allclose(algo.value(plain, weights, batch.obs, batch.action), a)
    noise = algo.draw(cfg, jax.random.key(1), 4, SPEC)
    after, losses = jax.jit(algo.update)(cfg, state, batch, clock(2), noise)
    assert np.isfinite(float(losses["critic_loss"]))
    assert jax.tree.structure(after) == jax.tree.structure(state)
