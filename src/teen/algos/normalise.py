"""Observation normalisation around any algorithm.

The statistics are part of the state and of the agent, so that they are saved with it. They run over the sampled
batches: what the networks see is what is measured.
"""

from functools import cache
from typing import NamedTuple

import jax.numpy as jnp
from jax import Array

from ..spec import Algorithm, Batch, Clock, PyTree, Spec
from .base import Losses
from .insight import inside

LIMIT = 10.0  # normalised entries are clipped to this many standard deviations


class Statistics(NamedTuple):
    rows: Array  # seen so far
    mean: Array  # (obs,)
    squares: Array  # (obs,) sum of squared distances from the mean

    @classmethod
    def start(cls, size: int) -> "Statistics":
        return cls(jnp.zeros(()), jnp.zeros(size), jnp.zeros(size))


def merged(s: Statistics, obs: Array) -> Statistics:
    """Adds a batch to running statistics: Chan, Golub & LeVeque 1979."""
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


class Agent(NamedTuple):
    inner: PyTree
    statistics: Statistics


@cache
def normalise(algo: Algorithm) -> Algorithm:
    """The same algorithm on normalised observations."""

    def init(key: Array, spec: Spec, hyper: PyTree) -> State:
        return State(algo.init(key, spec, hyper), Statistics.start(spec.obs))

    def seen(s: Statistics, batch: Batch) -> Batch:
        return batch._replace(obs=normalised(s, batch.obs), next_obs=normalised(s, batch.next_obs))

    def update(state: State, batch: Batch, clock: Clock, noise: PyTree) -> tuple[State, Losses]:
        statistics = merged(state.statistics, batch.obs)
        inner, losses = algo.update(state.inner, seen(statistics, batch), clock, noise)
        return State(inner, statistics), losses

    def probe(state: State, batch: Batch, clock: Clock, noise: PyTree) -> Losses:
        return algo.probe(state.inner, seen(state.statistics, batch), clock, noise)

    def one(s: Statistics, obs: Array) -> Array:
        return normalised(s, obs[None])[0]

    def each_member(agent: Agent, obs: Array) -> Array:
        assert algo.members
        return algo.members(agent.inner, normalised(agent.statistics, obs))

    return algo._replace(
        init=init,
        update=update,
        probe=probe,
        agent=lambda state: Agent(algo.agent(state.inner), state.statistics),
        actor=lambda agent, memo: Agent(algo.actor(agent.inner, memo), agent.statistics),
        act=lambda w, memo, obs, noise: algo.act(w.inner, memo, one(w.statistics, obs), noise),
        policy=lambda agent, memo, obs: algo.policy(agent.inner, memo, one(agent.statistics, obs)),
        members=each_member if algo.members else None,
        value=lambda agent, obs, action: algo.value(agent.inner, normalised(agent.statistics, obs), action),
        insight=inside(algo.insight, lambda agent, obs: normalised(agent.statistics, obs)) if algo.insight else None,
    )
