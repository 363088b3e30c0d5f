"""SAC: Haarnoja et al. 2018, "Soft Actor-Critic Algorithms and Applications".

A learner cut at its target, as TD3 is: SAC is one learner that makes its own y; TEEN, REDQ and SUNRISE make y in other
ways.
"""

from dataclasses import dataclass
from functools import partial
from typing import Literal, NamedTuple

import jax
import jax.numpy as jnp
import optax
from jax import Array, random

from .. import nets, ops
from ..settings import config, per_lane, setting
from ..spec import Batch, Clock, Metrics, PyTree, Spec
from .base import (
    LONGEST,
    MOST_LAYERS,
    MOST_MEMBERS,
    MOST_UNITS,
    Learner,
    Objective,
    adopt_networks,
    every,
    fit_critics,
    saturated_share,
    single,
    target_q,
    when,
)


@config
@dataclass(frozen=True)
class Config:
    width: int = setting(256, "units in each hidden layer", "SAC", low=1, high=MOST_UNITS)
    depth: int = setting(2, "hidden layers of every network", "SAC", low=1, high=MOST_LAYERS)
    critics: int = setting(2, "critics of a learner; its target is their minimum", "SAC", low=1, high=MOST_MEMBERS)
    lr: float = per_lane(3e-4, "Adam's step size, every network and the temperature", "SAC", above=0)
    gamma: float = per_lane(0.99, "discount", "SAC", low=0, high=1)
    tau: float = per_lane(0.005, "Polyak rate of the targets", "SAC", low=0, high=1)
    temperature: Literal["auto", "fixed"] = setting("auto", "tuned towards the target entropy, or fixed", "SAC")
    target_entropy: float = per_lane(
        -1.0, "nats per action dimension at which a tuned temperature aims", "SAC", before=-1.0
    )
    start_temperature: float = per_lane(1.0, "temperature at the start, or throughout where fixed", "SAC", above=0)
    actor_q: Literal["min", "mean"] = setting("min", "the Q an actor follows", "SAC")
    critic_norm: nets.Norm = setting("none", "normalisation inside the critics", "SAC")
    delay: int = setting(1, "gradient steps per step of actors and targets", "SAC", low=1, high=LONGEST)

    @property
    def hidden(self) -> tuple[int, ...]:
        return (self.width,) * self.depth


class State(NamedTuple):
    actor: nets.MLP
    critics: nets.MLP  # leaves (critic, ...)
    target_critics: nets.MLP
    log_temperature: Array
    actor_opt: PyTree
    critic_opt: PyTree
    temperature_opt: PyTree


class Noise(NamedTuple):
    next: Array  # (batch, action) behind the next actions
    now: Array  # (batch, action) behind the actions that the actor is judged by


class Weights(NamedTuple):
    actor: nets.MLP
    critics: nets.MLP
    temperature: Array


def target(cfg: Config, state: State, batch: Batch, noise: Noise) -> Array:
    """Return y = r + γ (1 − terminated) (min_i Q'_i(s', a') − τ log π(a' | s'))  (Eqs. 2 and 3)."""
    next_act, bonus = next_action(cfg, state, batch.next_obs, noise)
    next_q = target_q(cfg, state, batch.next_obs, next_act) + bonus
    return ops.bellman(batch.reward, batch.discount, next_q)


def update(cfg: Config, state: State, batch: Batch, clock: Clock, noise: Noise) -> tuple[State, Metrics]:
    """Take one gradient step (Algorithm 1): critics, actor, temperature, targets."""
    y = target(cfg, state, batch, noise)
    state, critic_losses = fit_critics(cfg, state, batch, y)

    def improve_actor(state: State) -> tuple[State, Metrics]:
        state, losses = improve(cfg, state, batch.obs, partial(q, cfg, state, batch.obs), noise)
        return move_targets(cfg, state), losses

    state, actor_losses = when(every(cfg.delay, clock), improve_actor, state)
    return state, {**critic_losses, "target": y.mean(), **actor_losses}


def init(cfg: Config, key: Array, spec: Spec) -> State:
    actor_key, critic_key = random.split(key)
    actor = nets.init_gaussian(actor_key, spec, cfg.hidden)
    critics = nets.init_critics(critic_key, spec, cfg.hidden, cfg.critics)
    log_temperature = jnp.log(cfg.start_temperature)
    opts = (ops.adam_init(x) for x in (actor, critics, log_temperature))
    return State(actor, critics, critics, log_temperature, *opts)


def draw(cfg: Config, key: Array, batch: int, spec: Spec) -> Noise:
    return Noise(*random.normal(key, (2, batch, spec.action)))


def sample(actor: nets.MLP, obs: Array, noise: Array) -> tuple[Array, Array]:
    """Return a reparameterised action and its log-probability."""
    return ops.tanh_gaussian(*nets.gaussian(actor, obs), noise)


def next_action(cfg: Config, state: State, next_obs: Array, noise: Noise) -> tuple[Array, Array]:
    action, log_prob = sample(state.actor, next_obs, noise.next)
    return action, -jnp.exp(state.log_temperature) * log_prob  # the bonus of being random


def q(cfg: Config, state: State, obs: Array, action: Array) -> Array:
    values = nets.critics(state.critics, obs, action, cfg.critic_norm)
    return values.mean(0) if cfg.actor_q == "mean" else values.min(0)


def improve(
    cfg: Config, state: State, obs: Array, objective: Objective, noise: Noise, weight: Array | float = 1.0
) -> tuple[State, Metrics]:
    """Move the actor up its objective and its entropy  (Eq. 7), then the temperature."""
    temperature = jnp.exp(state.log_temperature)

    def loss(actor: nets.MLP) -> tuple[Array, Array]:
        action, log_prob = sample(actor, obs, noise.now)
        return (weight * (temperature * log_prob - objective(action))).mean(), log_prob  # Eq. 7

    (value, log_prob), grads = jax.value_and_grad(loss, has_aux=True)(state.actor)
    actor, opt = ops.adam_step(state.actor, grads, state.actor_opt, cfg.lr)
    losses = {
        "actor_loss": value,
        "actor_grad_norm": optax.tree.norm(grads),
        "entropy": -log_prob.mean(),
        "temperature": temperature,
    }
    state = state._replace(actor=actor, actor_opt=opt)
    return (tune(cfg, state, log_prob, noise, weight) if cfg.temperature == "auto" else state), losses


def tune(cfg: Config, state: State, log_prob: Array, noise: Noise, weight: Array | float) -> State:
    """Move the temperature so that the entropy approaches its target, −|A| unless set otherwise  (Eq. 18)."""
    aim = cfg.target_entropy * noise.now.shape[-1]
    surplus = -(weight * (log_prob + aim)).mean()
    grad = jnp.exp(state.log_temperature) * surplus  # of −exp(log τ)·(log π + aim)
    log_temperature, opt = ops.adam_step(state.log_temperature, grad, state.temperature_opt, cfg.lr)
    return state._replace(log_temperature=log_temperature, temperature_opt=opt)


def move_targets(cfg: Config, state: State) -> State:
    return state._replace(target_critics=ops.polyak(state.target_critics, state.critics, cfg.tau))


def weights(cfg: Config, state: State) -> Weights:
    return Weights(state.actor, state.critics, jnp.exp(state.log_temperature))


def adopt(cfg: Config, state: State, weights: Weights) -> State:
    """Take over a tuned temperature, too; a fixed one is a setting."""
    state = adopt_networks(cfg, state, weights)
    if cfg.temperature == "fixed":
        return state
    return state._replace(log_temperature=jnp.log(jnp.maximum(weights.temperature, 1.2e-38)))


def explore(cfg: Config, actor: nets.MLP, obs: Array, noise: Array) -> Array:
    return sample(actor, obs[None], noise[None])[0][0]


def policy(cfg: Config, actor: nets.MLP, obs: Array) -> Array:
    return jnp.tanh(nets.gaussian(actor, obs[None])[0][0])


def soft_action(cfg: Config, weights: Weights, obs: Array, noise: Array) -> tuple[Array, Array]:
    action, log_prob = sample(weights.actor, obs[None], noise[None])
    return action[0], -weights.temperature * log_prob[0]


def metrics(cfg: Config, state: State, batch: Batch) -> Metrics:
    mean, _ = nets.gaussian(state.actor, batch.obs)
    return {"saturated_share": saturated_share(jnp.tanh(mean))}


LEARNER = Learner(
    Config,
    init,
    draw,
    next_action,
    q,
    improve,
    move_targets,
    weights,
    explore,
    policy,
    soft_action=soft_action,
    adopt=adopt,
)
ALGORITHM = single(LEARNER, update, metrics)
