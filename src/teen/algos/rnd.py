"""RND: Burda et al. 2019, "Exploration by Random Network Distillation", around any algorithm.

A predictor learns what a fixed random network says of a state. Where it still errs the state is new, and the error is
added to the reward of the sampled transitions.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array, random

from .. import nets, ops
from ..settings import config, per_lane, setting
from ..spec import Algorithm, AnyAlgorithm, Batch, Clock, Insight, Metrics, PyTree, Spec
from . import sac, td3, teen
from .base import MOST_UNITS, chosen
from .insight import insight_of, wrapped
from .normalise import Statistics, merged, normalised


@config
@dataclass(frozen=True)
class Config:
    beta: float = per_lane(0.1, "weight of the intrinsic reward", "ours", low=0)
    rnd_lr: float = per_lane(3e-4, "Adam's step size for the predictor", "ours", above=0)
    rnd_width: int = setting(256, "units in each hidden layer of target and predictor", "ours", low=1, high=MOST_UNITS)
    embedding: int = setting(64, "outputs of target and predictor", "ours", low=1, high=MOST_UNITS)
    base: Literal["td3", "sac", "teen"] = setting("td3", "the algorithm it wraps", "ours")
    member: Any = field(default_factory=td3.Config)

    def notices(self) -> list[str]:
        lines: list[str] = getattr(self.member, "notices", list)()
        return lines


BASES: dict[str, AnyAlgorithm] = {"td3": td3.ALGORITHM, "sac": sac.ALGORITHM, "teen": teen.ALGORITHM}
CLIP = 5.0  # whitened observations are clipped to this many standard deviations


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


class Weights(NamedTuple):
    inner: PyTree
    novelty: Novelty


def errors(predictor: nets.MLP, target: nets.MLP, seen: Array) -> Array:
    """(batch, obs) -> (batch,): mean squared distance between the two networks' outputs."""
    return jnp.square(nets.mlp(predictor, seen) - nets.mlp(target, seen)).mean(-1)


def intrinsic_reward(novelty: Novelty, next_obs: Array) -> Array:
    """The predictor's error divided by its running standard deviation: (batch,)."""
    error = errors(novelty.predictor, novelty.target, normalised(novelty.obs, next_obs, CLIP))
    std = jnp.sqrt(novelty.error.squares[0] / jnp.maximum(novelty.error.rows, 1))
    return error / jnp.where(std > 1e-8, std, 1.0)


def init(cfg: Config, key: Array, spec: Spec) -> State:
    target_key, predictor_key = random.split(random.fold_in(key, 1))
    hidden = (cfg.rnd_width,) * 2
    target = nets.init_mlp(target_key, (spec.obs, *hidden, cfg.embedding))
    predictor = nets.init_mlp(predictor_key, (spec.obs, *hidden, cfg.rnd_width, cfg.embedding))
    novelty = Novelty(target, predictor, Statistics.start(spec.obs), Statistics.start(1))
    return State(BASES[cfg.base].init(cfg.member, key, spec), novelty, ops.adam_init(predictor))


def update(cfg: Config, state: State, batch: Batch, clock: Clock, noise: PyTree) -> tuple[State, Metrics]:
    """Take one gradient step: the predictor's, then the wrapped algorithm's on the rewards with what is new in them."""
    state, batch, novelty_losses = fit_predictor(cfg, state, batch)
    inner, losses = BASES[cfg.base].update(cfg.member, state.inner, batch, clock, noise)
    return state._replace(inner=inner), {**losses, **novelty_losses}


def fit_predictor(cfg: Config, state: State, batch: Batch) -> tuple[State, Batch, Metrics]:
    """Train the predictor on the batch, and add to its rewards what the predictor did not know before."""
    novelty = state.novelty._replace(obs=merged(state.novelty.obs, batch.next_obs))
    seen = normalised(novelty.obs, batch.next_obs, CLIP)
    error = errors(novelty.predictor, novelty.target, seen)
    novelty = novelty._replace(error=merged(novelty.error, error[:, None]))
    bonus = intrinsic_reward(novelty, batch.next_obs)
    loss, grads = jax.value_and_grad(lambda p: errors(p, novelty.target, seen).mean())(novelty.predictor)
    predictor, opt = ops.adam_step(novelty.predictor, grads, state.predictor_opt, cfg.rnd_lr)
    state = state._replace(novelty=novelty._replace(predictor=predictor), predictor_opt=opt)
    batch = batch._replace(reward=batch.reward + cfg.beta * bonus)
    return state, batch, {"intrinsic_reward": bonus.mean(), "predictor_loss": loss}


def metrics(cfg: Config, state: State, batch: Batch) -> Metrics:
    return BASES[cfg.base].metrics(cfg.member, state.inner, batch)


def weights(cfg: Config, state: State) -> Weights:
    return Weights(BASES[cfg.base].weights(cfg.member, state.inner), state.novelty)


def adopt(cfg: Config, state: State, weights: Weights) -> State:
    inner = BASES[cfg.base].adopt
    assert inner
    return state._replace(inner=inner(cfg.member, state.inner, weights.inner), novelty=weights.novelty)


def members(cfg: Config, weights: Weights, obs: Array) -> Array:
    each_member = BASES[cfg.base].members
    assert each_member
    return each_member(cfg.member, weights.inner, obs)


def insight(cfg: Config) -> Insight:
    inner = wrapped(insight_of(BASES[cfg.base], cfg.member), inner_cfg=lambda cfg: cfg.member)

    def reward(cfg: Config, weights: Weights, reward: Array, next_obs: Array) -> Array:
        """Return the reward that is learnt from, at the present novelty of the states."""
        return inner.reward(cfg, weights, reward, next_obs) + cfg.beta * intrinsic_reward(weights.novelty, next_obs)

    return inner._replace(reward=reward)


def on(base: str) -> Config:
    """Return the defaults around another algorithm."""
    return Config(base=base, member=chosen(base, BASES).Config())  # type: ignore[arg-type]


def inner(name: str) -> Callable[..., Any]:
    """Return the function of this name of whichever algorithm the config wraps."""
    return lambda cfg, *arguments: getattr(BASES[cfg.base], name)(cfg.member, *arguments)


ALGORITHM: Algorithm[Config, State, Any, Weights] = Algorithm(
    Config=Config,
    init=init,
    draw=inner("draw"),
    update=update,
    weights=weights,
    draw_act=inner("draw_act"),
    act=inner("act"),
    policy=lambda cfg, weights, memo, obs: BASES[cfg.base].policy(cfg.member, weights.inner, memo, obs),
    value=lambda cfg, weights, obs, action: BASES[cfg.base].value(cfg.member, weights.inner, obs, action),
    metrics=metrics,
    begin=inner("begin"),
    actor=lambda cfg, weights, memo: BASES[cfg.base].actor(cfg.member, weights.inner, memo),
    unguided=inner("unguided"),
    extras=inner("extras"),
    size=inner("size"),
    members=members,
    insight=insight,
    on=on,
    adopt=adopt,
)
