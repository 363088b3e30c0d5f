"""SAC: Haarnoja et al. 2018, "Soft Actor-Critic Algorithms and Applications".

Written as a member cut at its target, as TD3 is: SAC is one member that makes its own y; TEEN, REDQ and SUNRISE
make y in other ways.
"""

from dataclasses import dataclass
from functools import cache, partial
from typing import Literal, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array, random

from .. import nets, ops
from ..settings import per_lane, setting
from ..spec import Algorithm, Batch, Clock, PyTree, Spec
from .base import Base, Losses, Objective, Parts, every, fit_q, lane_numbers, probe, saturated_share, update
from .insight import alone


@dataclass(frozen=True)
class Config:
    width: int = setting(256, "units in each hidden layer", "SAC", low=1)
    depth: int = setting(2, "hidden layers of every network", "SAC", low=1)
    critics: int = setting(2, "critics of a learner; its target is their minimum", "SAC", low=1)
    lr: float = per_lane(3e-4, "Adam's step size, every network and the temperature", "SAC", above=0)
    gamma: float = per_lane(0.99, "discount", "SAC", low=0, high=1)
    tau: float = per_lane(0.005, "Polyak rate of the targets", "SAC", low=0, high=1)
    temperature: Literal["auto", "fixed"] = setting("auto", "tuned towards the target entropy, or fixed", "SAC")
    target_entropy: float = per_lane(-1.0, "nats per action dimension at which a tuned temperature aims", "SAC")
    start_temperature: float = per_lane(1.0, "temperature at the start, or throughout where fixed", "SAC", above=0)
    actor_q: Literal["min", "mean"] = setting("min", "the Q an actor follows", "SAC")
    critic_norm: nets.Norm = setting("none", "normalisation inside the critics", "SAC")
    delay: int = setting(1, "gradient steps per step of actors and targets", "SAC", low=1)

    @property
    def hidden(self) -> tuple[int, ...]:
        return (self.width,) * self.depth


class Hyper(NamedTuple):
    lr: Array
    gamma: Array
    tau: Array
    target_entropy: Array
    start_temperature: Array


def hyper(cfg: Config) -> Hyper:
    return Hyper(**lane_numbers(cfg))


class Member(NamedTuple):
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


class Agent(NamedTuple):
    actor: nets.MLP
    critics: nets.MLP
    temperature: Array
    gamma: Array


@cache
def member(cfg: Config) -> Base:
    """The functions of one SAC learner."""

    critics = partial(nets.critics, norm=cfg.critic_norm)  # (critic, batch)

    def init(key: Array, spec: Spec, h: Hyper) -> Member:
        actor_key, critic_key = random.split(key)
        actor = nets.init_gaussian(actor_key, spec, cfg.hidden)
        q = nets.init_critics(critic_key, spec, cfg.hidden, cfg.critics)
        log_temperature = jnp.log(h.start_temperature)
        opts = (ops.adam_init(x) for x in (actor, q, log_temperature))
        return Member(actor, q, q, log_temperature, *opts)

    def draw(key: Array, batch: int, spec: Spec) -> Noise:
        return Noise(*random.normal(key, (2, batch, spec.action)))

    def sample(actor: nets.MLP, obs: Array, noise: Array) -> tuple[Array, Array]:
        return ops.tanh_gaussian(*nets.gaussian(actor, obs), noise)

    def next_action(m: Member, h: Hyper, next_obs: Array, noise: Noise) -> tuple[Array, Array]:
        action, log_prob = sample(m.actor, next_obs, noise.next)
        return action, -jnp.exp(m.log_temperature) * log_prob  # the bonus of being random

    def target_q(m: Member, obs: Array, action: Array) -> Array:
        return critics(m.target_critics, obs, action).min(0)

    def q(m: Member, obs: Array, action: Array) -> Array:
        values = critics(m.critics, obs, action)
        return values.mean(0) if cfg.actor_q == "mean" else values.min(0)

    def fit_critics(m: Member, h: Hyper, batch: Batch, y: Array, weight: Array | float = 1.0) -> tuple[Member, Losses]:
        new, opt, losses = fit_q(critics, m.critics, m.critic_opt, h.lr, batch, y, weight)
        return m._replace(critics=new, critic_opt=opt), losses

    def improve(
        m: Member, h: Hyper, obs: Array, objective: Objective, noise: Noise, weight: Array | float = 1.0
    ) -> tuple[Member, Losses]:
        temperature = jnp.exp(m.log_temperature)

        def loss(actor: nets.MLP) -> tuple[Array, Array]:
            action, log_prob = sample(actor, obs, noise.now)
            return (weight * (temperature * log_prob - objective(action))).mean(), log_prob  # Eq. 7

        (value, log_prob), grads = jax.value_and_grad(loss, has_aux=True)(m.actor)
        actor, opt = ops.adam_step(m.actor, grads, m.actor_opt, h.lr)
        losses = {
            "actor_loss": value,
            "actor_grad_norm": ops.norm(grads),
            "entropy": -log_prob.mean(),
            "temperature": temperature,
        }
        m = m._replace(actor=actor, actor_opt=opt)
        return (tune(m, h, log_prob, noise, weight) if cfg.temperature == "auto" else m), losses

    def tune(m: Member, h: Hyper, log_prob: Array, noise: Noise, weight: Array | float) -> Member:
        """Moves the temperature so that the entropy approaches its target, −|A| unless set otherwise  (Eq. 18)."""
        target = h.target_entropy * noise.now.shape[-1]
        surplus = -(weight * (log_prob + target)).mean()
        grad = jnp.exp(m.log_temperature) * surplus  # of −exp(log τ)·(log π + target)
        log_temperature, opt = ops.adam_step(m.log_temperature, grad, m.temperature_opt, h.lr)
        return m._replace(log_temperature=log_temperature, temperature_opt=opt)

    def move_targets(m: Member, h: Hyper) -> Member:
        return m._replace(target_critics=ops.polyak(m.target_critics, m.critics, h.tau))

    def agent(m: Member, h: Hyper) -> Agent:
        return Agent(m.actor, m.critics, jnp.exp(m.log_temperature), h.gamma)

    def weights(a: Agent) -> Agent:
        return a._replace(critics=(), temperature=(), gamma=())  # type: ignore[arg-type]

    def draw_act(key: Array, spec: Spec) -> Array:
        return random.normal(key, (spec.action,))

    def act(a: Agent, obs: Array, noise: Array) -> Array:
        return sample(a.actor, obs[None], noise[None])[0][0]

    def policy(a: Agent, obs: Array) -> Array:
        return jnp.tanh(nets.gaussian(a.actor, obs[None])[0][0])

    def follow(a: Agent, obs: Array, noise: Array) -> tuple[Array, Array]:
        action, log_prob = sample(a.actor, obs[None], noise[None])
        return action[0], -a.temperature * log_prob[0]

    def value(a: Agent, obs: Array, action: Array) -> Array:
        return critics(a.critics, obs, action).mean(0)

    return Base(
        init=init,
        draw=draw,
        next_action=next_action,
        target_q=target_q,
        q=q,
        fit_critics=fit_critics,
        improve=improve,
        move_targets=move_targets,
        agent=agent,
        weights=weights,
        draw_act=draw_act,
        act=act,
        policy=policy,
        follow=follow,
        value=value,
    )


class State(NamedTuple):
    learner: Member
    hyper: Hyper


@cache
def parts(cfg: Config) -> Parts:
    sac = member(cfg)

    def fit(state: State, batch: Batch, clock: Clock, noise: Noise) -> tuple[State, Losses]:
        m, h = state
        next_action, bonus = sac.next_action(m, h, batch.next_obs, noise)
        next_q = sac.target_q(m, batch.next_obs, next_action) + bonus
        y = ops.bellman(batch.reward, batch.terminated, next_q, h.gamma)  # Eq. 2 and 3
        m, losses = sac.fit_critics(m, h, batch, y)
        return State(m, h), {**losses, "target": y.mean()}

    def improve(state: State, batch: Batch, clock: Clock, noise: Noise) -> tuple[State, Losses]:
        m, h = state
        m, losses = sac.improve(m, h, batch.obs, lambda a: sac.q(m, batch.obs, a), noise)
        return State(sac.move_targets(m, h), h), losses

    def watch(state: State, batch: Batch) -> Losses:
        mean, _ = nets.gaussian(state.learner.actor, batch.obs)
        return {"saturated_share": saturated_share(jnp.tanh(mean))}

    return Parts(sac.draw, fit, improve, watch, every(cfg.delay))


@cache
def make(cfg: Config) -> Algorithm:
    sac, own = member(cfg), parts(cfg)

    def act(weights: Agent, memo: tuple[()], obs: Array, noise: Array) -> tuple[Array, dict[str, Array]]:
        return sac.act(weights, obs, noise), {}

    return Algorithm(
        init=lambda key, spec, hyper: State(sac.init(key, spec, hyper), hyper),
        draw=own.draw,
        update=partial(update, own),
        probe=partial(probe, own),
        agent=lambda state: sac.agent(state.learner, state.hyper),
        begin=lambda key: (),
        actor=lambda agent, memo: sac.weights(agent),
        draw_act=sac.draw_act,
        act=act,
        unguided=lambda key: {},
        policy=lambda agent, memo, obs: sac.policy(agent, obs),
        members=None,
        value=sac.value,
        insight=alone(sac),
        extras=(),
        size=1,
    )
