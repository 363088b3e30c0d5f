"""TD3: Fujimoto, van Hoof & Meger 2018, "Addressing Function Approximation Error in Actor-Critic Methods".

The learner is written as a *member*, cut at the target y: it offers its next action and its target Q, and
takes a step towards a given y. TD3 is one member with two critics that makes its own y; ensembles make
a common one for many members.
"""

from dataclasses import dataclass
from functools import cache, partial
from typing import NamedTuple

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
    width: int = setting(256, "units in each hidden layer", "TD3", low=1)
    depth: int = setting(2, "hidden layers of every network", "TD3", low=1)
    critics: int = setting(2, "critics of a learner; its target is their minimum", "TD3", low=1)
    lr: float = per_lane(3e-4, "Adam's step size, every network", "TD3", above=0)
    gamma: float = per_lane(0.99, "discount", "TD3", low=0, high=1)
    tau: float = per_lane(0.005, "Polyak rate of the targets", "TD3", low=0, high=1)
    noise: float = per_lane(0.1, "std of the exploration noise, actions in [-1, 1]", "TD3", low=0)
    smoothing: float = per_lane(0.2, "std of the noise on target actions", "TD3", low=0)
    smoothing_clip: float = per_lane(0.5, "bound of the noise on target actions", "TD3", low=0)
    delay: int = setting(2, "gradient steps per step of actors and targets", "TD3", low=1)
    critic_norm: nets.Norm = setting("none", "normalisation inside the critics", "TD3")
    target_actors: bool = setting(True, "next actions by Polyak-averaged actors", "TD3")

    @property
    def hidden(self) -> tuple[int, ...]:
        return (self.width,) * self.depth


class Hyper(NamedTuple):
    lr: Array
    gamma: Array
    tau: Array
    noise: Array
    smoothing: Array
    smoothing_clip: Array


def hyper(cfg: Config) -> Hyper:
    return Hyper(**lane_numbers(cfg))


class Member(NamedTuple):
    actor: nets.MLP
    critics: nets.MLP  # leaves (critic, ...)
    target_actor: nets.MLP
    target_critics: nets.MLP
    actor_opt: PyTree
    critic_opt: PyTree


class Agent(NamedTuple):
    """What acting and judging need of a member."""

    actor: nets.MLP
    critics: nets.MLP
    noise: Array
    gamma: Array


@cache
def member(cfg: Config) -> Base:
    """The functions of one TD3 learner. `h` is a Hyper throughout."""

    critics = partial(nets.critics, norm=cfg.critic_norm)  # (critic, batch)

    def init(key: Array, spec: Spec, h: Hyper) -> Member:
        actor_key, critic_key = random.split(key)
        actor = nets.init_actor(actor_key, spec, cfg.hidden)
        q = nets.init_critics(critic_key, spec, cfg.hidden, cfg.critics)
        return Member(actor, q, actor, q, ops.adam_init(actor), ops.adam_init(q))

    def draw(key: Array, batch: int, spec: Spec) -> Array:
        return random.normal(key, (batch, spec.action))

    def next_action(m: Member, h: Hyper, next_obs: Array, noise: Array) -> tuple[Array, Array]:
        actor = m.target_actor if cfg.target_actors else m.actor
        action = ops.smoothed(nets.actor(actor, next_obs), noise, h.smoothing, h.smoothing_clip)
        return action, jnp.zeros_like(action[:, 0])

    def target_q(m: Member, obs: Array, action: Array) -> Array:
        return critics(m.target_critics, obs, action).min(0)

    def q(m: Member, obs: Array, action: Array) -> Array:
        first = jax.tree.map(lambda leaf: leaf[0], m.critics)  # the actor follows Q1
        return nets.critic(first, obs, action, cfg.critic_norm)

    def fit_critics(m: Member, h: Hyper, batch: Batch, y: Array, weight: Array | float = 1.0) -> tuple[Member, Losses]:
        new, opt, losses = fit_q(critics, m.critics, m.critic_opt, h.lr, batch, y, weight)
        return m._replace(critics=new, critic_opt=opt), losses

    def improve(
        m: Member, h: Hyper, obs: Array, objective: Objective, noise: Array, weight: Array | float = 1.0
    ) -> tuple[Member, Losses]:
        def loss(actor: nets.MLP) -> Array:
            return -(weight * objective(nets.actor(actor, obs))).mean()

        value, grads = jax.value_and_grad(loss)(m.actor)
        actor, opt = ops.adam_step(m.actor, grads, m.actor_opt, h.lr)
        losses = {"actor_loss": value, "actor_grad_norm": ops.norm(grads)}
        return m._replace(actor=actor, actor_opt=opt), losses

    def move_targets(m: Member, h: Hyper) -> Member:
        return m._replace(
            target_actor=ops.polyak(m.target_actor, m.actor, h.tau),
            target_critics=ops.polyak(m.target_critics, m.critics, h.tau),
        )

    def agent(m: Member, h: Hyper) -> Agent:
        return Agent(m.actor, m.critics, h.noise, h.gamma)

    def draw_act(key: Array, spec: Spec) -> Array:
        return random.normal(key, (spec.action,))

    def act(a: Agent, obs: Array, noise: Array) -> Array:
        return jnp.clip(policy(a, obs) + a.noise * noise, -1, 1)

    def policy(a: Agent, obs: Array) -> Array:
        return nets.actor(a.actor, obs[None])[0]

    def follow(a: Agent, obs: Array, noise: Array) -> tuple[Array, Array]:
        return policy(a, obs), jnp.zeros(())

    def weights(a: Agent) -> Agent:
        return a._replace(critics=(), gamma=())  # type: ignore[arg-type]

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
    td3 = member(cfg)

    def fit(state: State, batch: Batch, clock: Clock, noise: Array) -> tuple[State, Losses]:
        m, h = state
        next_action, _ = td3.next_action(m, h, batch.next_obs, noise)
        next_q = td3.target_q(m, batch.next_obs, next_action)
        y = ops.bellman(batch.reward, batch.terminated, next_q, h.gamma)
        m, losses = td3.fit_critics(m, h, batch, y)
        return State(m, h), {**losses, "target": y.mean()}

    def improve(state: State, batch: Batch, clock: Clock, noise: Array) -> tuple[State, Losses]:
        m, h = state
        m, losses = td3.improve(m, h, batch.obs, lambda a: td3.q(m, batch.obs, a), noise)
        return State(td3.move_targets(m, h), h), losses

    def watch(state: State, batch: Batch) -> Losses:
        actions = nets.actor(state.learner.actor, batch.obs)
        return {"saturated_share": saturated_share(actions)}

    return Parts(td3.draw, fit, improve, watch, every(cfg.delay))


@cache
def make(cfg: Config) -> Algorithm:
    td3 = member(cfg)
    own = parts(cfg)

    def init(key: Array, spec: Spec, hyper: Hyper) -> State:
        return State(td3.init(key, spec, hyper), hyper)

    def act(weights: Agent, memo: tuple[()], obs: Array, noise: Array) -> tuple[Array, dict[str, Array]]:
        return td3.act(weights, obs, noise), {}

    return Algorithm(
        init=init,
        draw=own.draw,
        update=partial(update, own),
        probe=partial(probe, own),
        agent=lambda state: td3.agent(state.learner, state.hyper),
        begin=lambda key: (),
        actor=lambda agent, memo: td3.weights(agent),
        draw_act=td3.draw_act,
        act=act,
        unguided=lambda key: {},
        policy=lambda agent, memo, obs: td3.policy(agent, obs),
        members=None,
        value=td3.value,
        insight=alone(td3),
        extras=(),
        size=1,
    )
