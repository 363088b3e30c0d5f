"""Agents with random weights, for which nothing has to be trained or compiled."""

import jax
import numpy as np
from jax import random, vmap

from teen import Agent
from teen.config.job import resolve
from teen.spec import Spec


def drawn(spec: Spec, **settings) -> Agent:
    """Return an agent whose weights are uniform numbers: small, and positive where they are statistics."""
    job = resolve({"width": 8, **settings})
    (variant,), algo, rng = job.variants, job.algorithm, np.random.default_rng(0)

    def weights(key):
        return algo.weights(variant.config, algo.init(variant.config, key, spec))

    shapes = jax.eval_shape(vmap(weights), random.split(random.key(0), len(job.settings.seeds)))
    flat, tree = jax.tree_util.tree_flatten_with_path(shapes)
    lows = [0.2 if "statistics" in str(path) else -0.5 for path, _ in flat]
    values = [rng.uniform(low, 0.5, leaf.shape).astype(np.float32) for low, (_, leaf) in zip(lows, flat, strict=True)]
    return Agent(job.settings, variant.config, 0, jax.tree.unflatten(tree, values))
