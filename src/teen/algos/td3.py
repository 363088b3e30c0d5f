"""TD3: Fujimoto, van Hoof & Meger 2018, "Addressing Function Approximation Error in Actor-Critic Methods".

The learner is cut at the target y: it offers its next action and its target Q, and takes a step towards a given y. TD3
is one learner that makes its own y from two critics; ensembles make y for many learners.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

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
    width: int = setting(256, "units in each hidden layer", "TD3", low=1, high=MOST_UNITS)
    depth: int = setting(2, "hidden layers of every network", "TD3", low=1, high=MOST_LAYERS)
    critics: int = setting(2, "critics of a learner; its target is their minimum", "TD3", low=1, high=MOST_MEMBERS)
    lr: float = per_lane(3e-4, "Adam's step size, every network", "TD3", above=0)
    gamma: float = per_lane(0.99, "discount", "TD3", low=0, high=1)
    tau: float = per_lane(0.005, "Polyak rate of the targets", "TD3", low=0, high=1)
    noise: float = per_lane(0.1, "std of the exploration noise, actions in [-1, 1]", "TD3", low=0)
    smoothing: float = per_lane(0.2, "std of the noise on target actions", "TD3", low=0)
    smoothing_clip: float = per_lane(0.5, "bound of the noise on target actions", "TD3", low=0)
    delay: int = setting(2, "gradient steps per step of actors and targets", "TD3", low=1, high=LONGEST)
    critic_norm: nets.Norm = setting("none", "normalisation inside the critics", "TD3")
    target_actors: bool = setting(True, "next actions by Polyak-averaged actors", "TD3")

    @property
    def hidden(self) -> tuple[int, ...]:
        return (self.width,) * self.depth


class State(NamedTuple):
    actor: nets.MLP
    critics: nets.MLP  # leaves (critic, ...)
    target_actor: nets.MLP
    target_critics: nets.MLP
    actor_opt: PyTree
    critic_opt: PyTree


class Weights(NamedTuple):
    actor: nets.MLP
    critics: nets.MLP


Target = Callable[[Config, State, Batch, Array], Array]


def target(cfg: Config, state: State, batch: Batch, noise: Array) -> Array:
    """Return y = r + γ (1 − terminated) min_i Q'_i(s', a'), with a smoothed next action a'  (§5)."""
    next_act, _ = next_action(cfg, state, batch.next_obs, noise)
    next_q = target_q(cfg, state, batch.next_obs, next_act)
    return ops.bellman(batch.reward, batch.discount, next_q)


def update(
    cfg: Config, state: State, batch: Batch, clock: Clock, noise: Array, target: Target = target
) -> tuple[State, Metrics]:
    """Take one gradient step (Algorithm 1): critics, and every `delay` steps the actor and all targets."""
    y = target(cfg, state, batch, noise)
    state, critic_losses = fit_critics(cfg, state, batch, y)

    def improve_actor(state: State) -> tuple[State, Metrics]:
        state, losses = improve(cfg, state, batch.obs, partial(q, cfg, state, batch.obs), noise)
        return move_targets(cfg, state), losses

    state, actor_losses = when(every(cfg.delay, clock), improve_actor, state)
    return state, {**critic_losses, "target": y.mean(), **actor_losses}


def init(cfg: Config, key: Array, spec: Spec) -> State:
    actor_key, critic_key = random.split(key)
    actor = nets.init_actor(actor_key, spec, cfg.hidden)
    critics = nets.init_critics(critic_key, spec, cfg.hidden, cfg.critics)
    return State(actor, critics, actor, critics, ops.adam_init(actor), ops.adam_init(critics))


def draw(cfg: Config, key: Array, batch: int, spec: Spec) -> Array:
    return random.normal(key, (batch, spec.action))


def next_action(cfg: Config, state: State, next_obs: Array, noise: Array) -> tuple[Array, Array]:
    actor = state.target_actor if cfg.target_actors else state.actor
    action = ops.smoothed(nets.actor(actor, next_obs), noise, cfg.smoothing, cfg.smoothing_clip)
    return action, jnp.zeros_like(action[:, 0])


def q(cfg: Config, state: State, obs: Array, action: Array) -> Array:
    first = jax.tree.map(lambda leaf: leaf[0], state.critics)  # the actor follows Q1
    return nets.critic(first, obs, action, cfg.critic_norm)


def improve(
    cfg: Config, state: State, obs: Array, objective: Objective, noise: Array, weight: Array | float = 1.0
) -> tuple[State, Metrics]:
    """Move the actor up its objective."""

    def loss(actor: nets.MLP) -> Array:
        return -(weight * objective(nets.actor(actor, obs))).mean()

    value, grads = jax.value_and_grad(loss)(state.actor)
    actor, opt = ops.adam_step(state.actor, grads, state.actor_opt, cfg.lr)
    losses = {"actor_loss": value, "actor_grad_norm": optax.tree.norm(grads)}
    return state._replace(actor=actor, actor_opt=opt), losses


def move_targets(cfg: Config, state: State) -> State:
    return state._replace(
        target_actor=ops.polyak(state.target_actor, state.actor, cfg.tau),
        target_critics=ops.polyak(state.target_critics, state.critics, cfg.tau),
    )


def weights(cfg: Config, state: State) -> Weights:
    return Weights(state.actor, state.critics)


def adopt(cfg: Config, state: State, weights: Weights) -> State:
    return adopt_networks(cfg, state, weights)._replace(target_actor=weights.actor)


def explore(cfg: Config, actor: nets.MLP, obs: Array, noise: Array) -> Array:
    return jnp.clip(policy(cfg, actor, obs) + cfg.noise * noise, -1, 1)


def policy(cfg: Config, actor: nets.MLP, obs: Array) -> Array:
    return nets.actor(actor, obs[None])[0]


def metrics(cfg: Config, state: State, batch: Batch) -> Metrics:
    return {"saturated_share": saturated_share(nets.actor(state.actor, batch.obs))}


LEARNER = Learner(Config, init, draw, next_action, q, improve, move_targets, weights, explore, policy, adopt=adopt)
ALGORITHM = single(LEARNER, update, metrics)
