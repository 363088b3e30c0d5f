"""Untrained agents of every algorithm, with tiny networks, on a point mass."""

import jax

from teen import algos, envs
from teen.settings import replace, stacked

TASK = "tests.toys:PointMass-v0"
SETTINGS = {"width": 8, "n": 3, "critics": 2, "rnd_width": 8, "epsilon": 0.05, "gamma": 0.8}


def agents_of(name, base, lanes, **changes):
    """Return the algorithm, the config of one lane, the configs of all lanes, and their weights."""
    algo = algos.find(name)
    cfg = replace(algos.default_config(name, base), {**SETTINGS, **changes})
    configs, spec = stacked([cfg] * lanes), envs.make(TASK, 1).spec
    start = jax.jit(jax.vmap(lambda cfg, key: algo.weights(cfg, algo.init(cfg, key, spec))))
    return algo, cfg, configs, start(configs, jax.random.split(jax.random.key(0), lanes))
