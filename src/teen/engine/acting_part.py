"""Which arrays of an algorithm's weights acting reads. Most are of critics and discriminators, which play no part."""

from typing import Any

import jax
import jax.numpy as jnp
from jax import Array, random
from jax.extend.core import Var

from ..snapshot import named
from ..spec import AnyAlgorithm, PyTree, Spec
from .members import proposals


def acting_names(algo: AnyAlgorithm, config: Any, weights: PyTree, spec: Spec) -> frozenset[str]:
    """Return the names of the arrays that acting with and without noise reads, and each member by itself. The
    leaves of `weights`, or their shapes, are (lane, ...).

    The functions are traced, and followed back from the action. An inner call that reads one array of its arguments
    counts as reading all: too many may be named, never too few.
    """
    key, obs = random.key(0), jnp.zeros(spec.obs)
    one = jax.eval_shape(lambda lanes: jax.tree.map(lambda leaf: leaf[0], lanes), weights)

    def act(weights: PyTree) -> PyTree:
        memo = algo.begin(config, key, spec)
        noise = algo.draw_act(config, key, spec)
        exploring = algo.act(config, algo.actor(config, weights, memo), memo, obs, noise)
        alone: Array | tuple[()] = proposals(algo, config, weights, obs) if algo.size(config) else ()
        return algo.policy(config, weights, memo, obs), exploring, alone

    traced = jax.make_jaxpr(act)(one).jaxpr
    read = {var for var in traced.outvars if isinstance(var, Var)}
    for step in reversed(traced.eqns):
        if read.intersection(step.outvars):
            read.update(var for var in step.invars if isinstance(var, Var))
    return frozenset(name for name, var in zip(named(one), traced.invars, strict=True) if var in read)
