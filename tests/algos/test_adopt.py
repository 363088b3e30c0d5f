"""A fresh state takes over an agent's networks: the weights are the agent's, targets are copies, Adam begins anew."""

import jax
import numpy as np
import pytest

from teen import algos
from teen.settings import replace
from teen.snapshot import on_host
from tests.support import SPEC

SMALL = {"width": 4, "n": 3, "critics": 2, "rnd_width": 4, "embedding": 4, "epsilon": 0.05}
CASES = [
    ("td3", None), ("sac", None), ("redq", None), ("teen", "td3"), ("teen", "sac"), ("sunrise", "sac"),
    ("sunrise", "td3"), ("rnd", "td3"), ("rnd", "sac"), ("rnd", "teen"),
]  # fmt: skip


def drawn(shapes, seed):
    """Return a tree of these shapes, each leaf with positive random numbers of its own. Nothing is compiled."""
    rng = np.random.default_rng(seed)
    return jax.tree.map(lambda leaf: rng.uniform(0.1, 9, leaf.shape).astype(leaf.dtype), shapes)


@pytest.mark.parametrize("normalised", [False, True], ids=["plain", "normalised"])
@pytest.mark.parametrize(("name", "base"), CASES)
def test_networks_are_taken_over_and_nothing_else(name, base, normalised):
    algo = algos.find(name, normalised)
    cfg = replace(algos.default_config(name, base), SMALL)
    shapes = jax.eval_shape(lambda key: algo.init(cfg, key, SPEC), jax.random.key(0))
    fresh = drawn(shapes, 0)
    weights = drawn(jax.eval_shape(lambda state: algo.weights(cfg, state), shapes), 1)
    adopted = algo.adopt(cfg, fresh, weights)
    taken, expected = on_host(algo.weights(cfg, adopted)), on_host(weights)
    assert taken.keys() == expected.keys()
    for path, array in expected.items():
        np.testing.assert_allclose(taken[path], array, rtol=1e-6 if "temperature" in path else 0)
    before, after = on_host(fresh), on_host(adopted)
    for path, array in after.items():
        online = path.replace("target_", "")
        if path != online and online in after:
            np.testing.assert_array_equal(array, after[online], err_msg=path)
        elif "_opt" in path or path.endswith("lottery"):
            np.testing.assert_array_equal(array, before[path], err_msg=path)
    # Every leaf that is none of these differs from the start: nothing was forgotten.
    kept = [path for path in after if np.array_equal(after[path], before[path])]
    assert all("_opt" in path or path.endswith("lottery") for path in kept), kept


def test_a_fixed_temperature_is_a_setting():
    cfg = replace(algos.default_config("sac"), {**SMALL, "temperature": "fixed", "start_temperature": 0.3})
    algo = algos.find("sac")
    shapes = jax.eval_shape(lambda key: algo.init(cfg, key, SPEC), jax.random.key(0))
    fresh, weights = drawn(shapes, 0), drawn(jax.eval_shape(lambda s: algo.weights(cfg, s), shapes), 1)
    assert algo.adopt(cfg, fresh, weights).log_temperature == fresh.log_temperature
