"""Acting by NumPy is acting."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from teen import algos, settings
from teen.engine.acting import arrays
from teen.engine.on_numpy import numpy_version
from tests.support import SPEC

SYSTEMS = [("td3", None), ("sac", None), ("redq", None), ("rnd", None), ("teen", None), ("teen", "sac")]


def acting(algo, cfg, lanes):
    """Config, acting weights, memo, observations and noise of some lanes."""

    def begin(cfg, key):
        memo = algo.begin(cfg, key, SPEC)
        weights = algo.weights(cfg, algo.init(cfg, key, SPEC))
        return algo.actor(cfg, weights, memo), memo, algo.draw_act(cfg, key, SPEC)

    config = settings.stacked([cfg] * lanes)
    actors, memo, noise = jax.jit(jax.vmap(begin))(config, jax.random.split(jax.random.key(1), lanes))
    obs = np.random.default_rng(0).normal(size=(lanes, SPEC.obs)).astype(np.float32)
    return arrays((config, actors, memo, obs, noise))


def in_numpy(algo, config, *example):
    """As the engine does it: the numbers of the config are constants of the function."""
    return numpy_version(partial(jax.vmap(algo.act), config), *example)


@pytest.mark.parametrize("normalised", [False, True], ids=["plain", "normalised"])
@pytest.mark.parametrize(("name", "base"), SYSTEMS)
def test_every_algorithm_acts_alike_in_numpy(name, base, normalised):
    algo = algos.find(name, normalised)
    config, *example = acting(algo, algos.default_config(name, base), 3)
    act = in_numpy(algo, config, *example)
    assert act is not None
    action, extras, memo = act(*example)
    expected, expected_extras, expected_memo = jax.jit(jax.vmap(algo.act))(config, *example)
    assert isinstance(action, np.ndarray)
    assert action.dtype == np.float32
    np.testing.assert_allclose(action, expected, atol=1e-6)
    jax.tree.map(np.testing.assert_array_equal, memo, arrays(expected_memo))
    assert extras.keys() == expected_extras.keys()
    for key in extras:
        np.testing.assert_array_equal(extras[key], expected_extras[key])
    assert len(np.unique(action)) == action.size  # lanes act differently


def test_a_lane_acts_the_same_whatever_its_neighbours():
    algo = algos.find("teen")
    example = acting(algo, algo.Config(), 5)
    together, *_ = in_numpy(algo, *example)(*example[1:])
    one = jax.tree.map(lambda x: x[2:3], example)
    alone, *_ = in_numpy(algo, *one)(*one[1:])
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
    algo = algos.find("sunrise")
    assert in_numpy(algo, *acting(algo, algo.Config(n=2), 2)) is None


@pytest.mark.parametrize(
    "subscripts", ["noi,ni->no", "i,noi->no", "bni,noi->bno", "ij,kj->ik", "abi,cbi->bac", "i,i->"]
)
def test_any_product_on_request(subscripts):
    """Against NumPy's own sum over the same axes."""
    sizes = {"n": 3, "o": 4, "i": 5, "b": 2, "j": 6, "k": 7, "a": 2, "c": 3}
    rng = np.random.default_rng(0)
    x, w = (
        rng.normal(size=[sizes[axis] for axis in axes]).astype(np.float32)
        for axes in subscripts.split("->")[0].split(",")
    )
    function = numpy_version(lambda x, w: jnp.einsum(subscripts, x, w), x, w, any_product=True)
    np.testing.assert_allclose(function(x, w), np.einsum(subscripts, x, w), rtol=1e-4, atol=1e-5)
