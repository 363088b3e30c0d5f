"""RND: Burda et al. 2019, "Exploration by Random Network Distillation", around any algorithm.

A predictor learns what a fixed random network says of a state. Where it still errs the state is new, and the error is
added to the reward of the sampled transitions.
"""

from dataclasses import dataclass, field
from functools import cache
from typing import Any, Literal, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array, random

from .. import nets, ops
from ..settings import per_lane, setting
from ..spec import Algorithm, Batch, Clock, PyTree, Spec
from . import insight, sac, td3, teen
from .base import Losses, lane_numbers, named
from .normalise import Statistics, merged, normalised


@dataclass(frozen=True)
class Config:
    beta: float = per_lane(0.1, "weight of the intrinsic reward", "ours", low=0)
    rnd_lr: float = per_lane(3e-4, "Adam's step size for the predictor", "ours", above=0)
    rnd_width: int = setting(256, "units in each hidden layer of target and predictor", "ours", low=1)
    embedding: int = setting(64, "outputs of target and predictor", "ours", low=1)
    base: Literal["td3", "sac", "teen"] = setting("td3", "the algorithm it wraps", "ours")
    member: Any = field(default_factory=td3.Config)

    def notices(self) -> list[str]:
        own: list[str] = getattr(self.member, "notices", list)()
        return own


BASES: dict[str, Any] = {"td3": td3, "sac": sac, "teen": teen}
CLIP = 5.0  # whitened observations are clipped to this many standard deviations


def on(base: str) -> Config:
    """The defaults around another algorithm."""
    return Config(base=base, member=named(base, BASES).Config())  # type: ignore[arg-type]


class Hyper(NamedTuple):
    beta: Array
    rnd_lr: Array
    member: PyTree


def hyper(cfg: Config) -> Hyper:
    return Hyper(**lane_numbers(cfg), member=BASES[cfg.base].hyper(cfg.member))


class Novelty(NamedTuple):
    """What tells new states from known ones."""

    target: nets.MLP  # never trained
    predictor: nets.MLP
    obs: Statistics
    error: Statistics  # of the predictor's error, one column


class State(NamedTuple):
    inner: PyTree
    novelty: Novelty
    predictor_opt: PyTree
    hyper: Hyper


class Agent(NamedTuple):
    inner: PyTree
    novelty: Novelty
    beta: Array


def errors(predictor: nets.MLP, target: nets.MLP, seen: Array) -> Array:
    """(batch, obs) -> (batch,): mean squared distance between the two networks' outputs."""
    return jnp.square(nets.mlp(predictor, seen) - nets.mlp(target, seen)).mean(-1)


def intrinsic_reward(novelty: Novelty, next_obs: Array) -> Array:
    """The predictor's error divided by its running standard deviation: (batch,)."""
    error = errors(novelty.predictor, novelty.target, normalised(novelty.obs, next_obs, CLIP))
    std = jnp.sqrt(novelty.error.squares[0] / jnp.maximum(novelty.error.rows, 1))
    return error / jnp.where(std > 1e-8, std, 1.0)


@cache
def make(cfg: Config) -> Algorithm:
    inner: Algorithm = BASES[cfg.base].make(cfg.member)
    hidden = (cfg.rnd_width,) * 2

    def init(key: Array, spec: Spec, hyper: Hyper) -> State:
        target_key, predictor_key = random.split(random.fold_in(key, 1))
        target = nets.init_mlp(target_key, (spec.obs, *hidden, cfg.embedding))
        predictor = nets.init_mlp(predictor_key, (spec.obs, *hidden, cfg.rnd_width, cfg.embedding))
        novelty = Novelty(target, predictor, Statistics.start(spec.obs), Statistics.start(1))
        return State(inner.init(key, spec, hyper.member), novelty, ops.adam_init(predictor), hyper)

    def fit_predictor(state: State, batch: Batch) -> tuple[State, Batch, Losses]:
        """Trains the predictor on the batch, and adds to its rewards what it did not know before."""
        novelty = state.novelty._replace(obs=merged(state.novelty.obs, batch.next_obs))
        seen = normalised(novelty.obs, batch.next_obs, CLIP)
        error = errors(novelty.predictor, novelty.target, seen)
        novelty = novelty._replace(error=merged(novelty.error, error[:, None]))
        bonus = intrinsic_reward(novelty, batch.next_obs)
        loss, grads = jax.value_and_grad(lambda p: errors(p, novelty.target, seen).mean())(novelty.predictor)
        predictor, opt = ops.adam_step(novelty.predictor, grads, state.predictor_opt, state.hyper.rnd_lr)
        state = state._replace(novelty=novelty._replace(predictor=predictor), predictor_opt=opt)
        batch = batch._replace(reward=batch.reward + state.hyper.beta * bonus)
        return state, batch, {"intrinsic_reward": bonus.mean(), "predictor_loss": loss}

    def update(state: State, batch: Batch, clock: Clock, noise: PyTree) -> tuple[State, Losses]:
        state, batch, novelty_losses = fit_predictor(state, batch)
        learnt, losses = inner.update(state.inner, batch, clock, noise)
        return state._replace(inner=learnt), {**losses, **novelty_losses}

    def probe(state: State, batch: Batch, clock: Clock, noise: PyTree) -> Losses:
        _, batch, novelty_losses = fit_predictor(state, batch)
        return {**inner.probe(state.inner, batch, clock, noise), **novelty_losses}

    def each_member(agent: Agent, obs: Array) -> Array:
        assert inner.members
        return inner.members(agent.inner, obs)

    def learnt_reward(agent: Agent, reward: Array, next_obs: Array) -> Array:
        """At the present novelty of the states."""
        own = insight.of(inner).reward(agent.inner, reward, next_obs)
        return own + agent.beta * intrinsic_reward(agent.novelty, next_obs)

    return inner._replace(
        init=init,
        update=update,
        probe=probe,
        agent=lambda state: Agent(inner.agent(state.inner), state.novelty, state.hyper.beta),
        actor=lambda agent, memo: inner.actor(agent.inner, memo),
        policy=lambda agent, memo, obs: inner.policy(agent.inner, memo, obs),
        members=each_member if inner.members else None,
        value=lambda agent, obs, action: inner.value(agent.inner, obs, action),
        insight=insight.inside(insight.of(inner), lambda agent, obs: obs)._replace(reward=learnt_reward),
    )
