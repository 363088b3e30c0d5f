"""Observation normalisation around any algorithm.

The statistics are part of the state and of the weights, so that they are saved with them. They run over the sampled
batches: what the networks see is what is measured.
"""

from functools import cache
from typing import Any, NamedTuple

import jax.numpy as jnp
from jax import Array

from ..spec import AnyAlgorithm, Batch, Clock, Insight, Metrics, PyTree, Spec
from .insight import insight_of, wrapped

LIMIT = 10.0  # normalised entries are clipped to this many standard deviations


class Statistics(NamedTuple):
    rows: Array  # seen so far
    mean: Array  # (obs,)
    squares: Array  # (obs,) sum of squared distances from the mean

    @classmethod
    def start(cls, size: int) -> "Statistics":
        return cls(jnp.zeros(()), jnp.zeros(size), jnp.zeros(size))


def merged(s: Statistics, obs: Array) -> Statistics:
    """Add a batch to running statistics: Chan, Golub & LeVeque 1979."""
    new = len(obs)
    rows = s.rows + new
    mean = obs.mean(0)
    gap = mean - s.mean
    squares = jnp.square(obs - mean[None]).sum(0) + jnp.square(gap) * s.rows * new / rows
    return Statistics(rows, s.mean + gap * new / rows, s.squares + squares)


def normalised(s: Statistics, obs: Array, limit: float = LIMIT) -> Array:
    """(batch, obs) -> (batch, obs); before anything was seen, the observations as they are."""
    std = jnp.sqrt(s.squares / jnp.maximum(s.rows, 1))
    std = jnp.where((s.rows > 0) & (std > 1e-6), std, 1.0)
    return jnp.clip((obs - s.mean[None]) / std[None], -limit, limit)


class State(NamedTuple):
    inner: PyTree
    statistics: Statistics


class Weights(NamedTuple):
    inner: PyTree
    statistics: Statistics


@cache
def normalise(algo: AnyAlgorithm) -> AnyAlgorithm:
    """Return the same algorithm on normalised observations."""

    def init(cfg: Any, key: Array, spec: Spec) -> State:
        return State(algo.init(cfg, key, spec), Statistics.start(spec.obs))

    def update(cfg: Any, state: State, batch: Batch, clock: Clock, noise: PyTree) -> tuple[State, Metrics]:
        statistics = merged(state.statistics, batch.obs)
        inner, losses = algo.update(cfg, state.inner, seen(statistics, batch), clock, noise)
        return State(inner, statistics), losses

    def metrics(cfg: Any, state: State, batch: Batch) -> Metrics:
        return algo.metrics(cfg, state.inner, seen(state.statistics, batch))

    def adopt(cfg: Any, state: State, weights: Weights) -> State:
        assert algo.adopt
        return State(algo.adopt(cfg, state.inner, weights.inner), weights.statistics)

    def members(cfg: Any, weights: Weights, obs: Array) -> Array:
        assert algo.members
        return algo.members(cfg, weights.inner, normalised(weights.statistics, obs))

    def insight(cfg: Any) -> Insight:
        return wrapped(insight_of(algo, cfg), lambda weights, obs: normalised(weights.statistics, obs))

    return algo._replace(
        init=init,
        update=update,
        metrics=metrics,
        weights=lambda cfg, state: Weights(algo.weights(cfg, state.inner), state.statistics),
        actor=lambda cfg, weights, memo: Weights(algo.actor(cfg, weights.inner, memo), weights.statistics),
        act=lambda cfg, actor, memo, obs, noise: algo.act(cfg, actor.inner, memo, one(actor.statistics, obs), noise),
        policy=lambda cfg, weights, memo, obs: algo.policy(cfg, weights.inner, memo, one(weights.statistics, obs)),
        value=lambda cfg, weights, obs, action: algo.value(
            cfg, weights.inner, normalised(weights.statistics, obs), action
        ),
        members=members,
        insight=insight if algo.insight else None,
        adopt=adopt if algo.adopt else None,
    )


def seen(s: Statistics, batch: Batch) -> Batch:
    return batch._replace(obs=normalised(s, batch.obs), next_obs=normalised(s, batch.next_obs))


def one(s: Statistics, obs: Array) -> Array:
    return normalised(s, obs[None])[0]
