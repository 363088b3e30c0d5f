"""Acting by NumPy is acting."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from teen import algos
from teen.algos.normalise import normalise
from teen.engine.on_numpy import numpy_version
from tests.support import SPEC

SYSTEMS = [("td3", None), ("sac", None), ("redq", None), ("rnd", None), ("teen", None), ("teen", "sac")]


def acting(algo, hyper, lanes):
    """Weights, memo, observations and noise of some lanes."""
    keys = jax.random.split(jax.random.key(1), lanes)
    states = jax.vmap(lambda key: algo.init(key, SPEC, hyper))(keys)
    memo = jax.vmap(algo.begin)(keys)
    weights = jax.vmap(lambda state, m: algo.actor(algo.agent(state), m))(states, memo)
    noise = jax.vmap(lambda key: algo.draw_act(key, SPEC))(keys)
    obs = np.random.default_rng(0).normal(size=(lanes, SPEC.obs)).astype(np.float32)
    return (*jax.tree.map(np.asarray, (weights, memo)), obs, jax.tree.map(np.asarray, noise))


@pytest.mark.parametrize("normalised", [False, True], ids=["plain", "normalised"])
@pytest.mark.parametrize(("name", "base"), SYSTEMS)
def test_every_algorithm_acts_alike_in_numpy(name, base, normalised):
    module, cfg = algos.find(name), algos.default_config(name, base)
    algo = algos.build(name, cfg, False)
    algo = normalise(algo) if normalised else algo
    example = acting(algo, module.hyper(cfg), 3)
    in_numpy = numpy_version(jax.vmap(algo.act), *example)
    assert in_numpy is not None
    action, extras = in_numpy(*example)
    expected, expected_extras = jax.jit(jax.vmap(algo.act))(*example)
    assert isinstance(action, np.ndarray)
    assert action.dtype == np.float32
    np.testing.assert_allclose(action, expected, atol=1e-6)
    assert extras.keys() == expected_extras.keys()
    for key in extras:
        np.testing.assert_array_equal(extras[key], expected_extras[key])
    assert len(np.unique(action)) == action.size  # lanes act differently


def test_a_lane_acts_the_same_whatever_its_neighbours():
    module = algos.find("teen")
    algo = module.make(module.Config())
    example = acting(algo, module.hyper(module.Config()), 5)
    together, _ = numpy_version(jax.vmap(algo.act), *example)(*example)
    one = jax.tree.map(lambda x: x[2:3], example)
    alone, _ = numpy_version(jax.vmap(algo.act), *one)(*one)
    np.testing.assert_array_equal(alone[0], together[2])


def test_small_functions_by_hand():
    def function(x, y):
        low, high = jnp.split(x, 2)
        total = jnp.where(low > 1, low, -high).sum()
        return {"sum": total, "clipped": jnp.clip(y, -1, 1) ** 2, "none": jnp.sqrt(x)[:0]}

    x, y = np.array([0.0, 2.0, 3.0, 4.0], np.float32), np.array([0.5, -7.0], np.float32)
    result = numpy_version(function, x, y)(x, y)
    assert result["sum"] == -3 + 2
    assert result["clipped"].tolist() == [0.25, 1]
    assert result["none"].shape == (0,)


def test_what_is_not_known_is_left_to_the_compiler():
    assert numpy_version(lambda x: jnp.sort(x), np.ones(3, np.float32)) is None
    module = algos.find("sunrise")
    algo = module.make(module.Config(n=2))
    assert numpy_version(jax.vmap(algo.act), *acting(algo, module.hyper(module.Config(n=2)), 2)) is None
