"""SUNRISE: Lee et al. 2021, "A Simple Unified Framework for Ensemble Learning in Deep Reinforcement Learning".

N learners that see different rows of one replay (bootstrap masks), trust a target less where they disagree about it
(weighted Bellman backups), and act on the most promising of their proposals (UCB).
"""

from dataclasses import dataclass, field
from functools import cache, partial
from typing import Any, Literal, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array, random, vmap

from .. import ops
from ..settings import per_lane, setting
from ..spec import Algorithm, Batch, Clock, PyTree, Spec
from . import sac, td3
from .base import Base, Losses, Parts, every, lane_numbers, named, probe, saturated_share, update
from .insight import together


@dataclass(frozen=True)
class Config:
    n: int = setting(5, "learners in the ensemble", "SUNRISE", low=1)
    bootstrap: float = setting(0.5, "chance that a learner may use a transition", "SUNRISE", low=0, high=1)
    confidence: float = per_lane(20.0, "how sharply disagreement lowers a target's weight", "SUNRISE", low=0)
    ucb: float = per_lane(1.0, "standard deviations of optimism in acting", "SUNRISE", low=0)
    base: Literal["sac", "td3"] = setting("sac", "what a learner is", "SUNRISE")
    member: sac.Config | td3.Config = field(default_factory=sac.Config)


BASES: dict[str, Any] = {"sac": sac, "td3": td3}


def on(base: str) -> Config:
    """The defaults on another base learner."""
    return Config(base=base, member=named(base, BASES).Config())  # type: ignore[arg-type]


class Hyper(NamedTuple):
    confidence: Array
    ucb: Array
    member: PyTree  # the base learner's own


def hyper(cfg: Config) -> Hyper:
    return Hyper(**lane_numbers(cfg), member=BASES[cfg.base].hyper(cfg.member))


class State(NamedTuple):
    members: PyTree  # leaves (member, ...)
    hyper: Hyper


class Agent(NamedTuple):
    members: PyTree  # leaves (member, ...)
    ucb: Array


class ActNoise(NamedTuple):
    members: PyTree  # leaves (member, ...): behind each learner's proposal
    mask: Array  # (member,) uniform numbers behind the bootstrap mask


def backup_weight(std: Array, confidence: Array) -> Array:
    """w = σ(−T·std) + 0.5, between 0.5 and 1  (Eq. 3)."""
    return jax.nn.sigmoid(-confidence * std) + 0.5


def ucb_choice(q: Array, ucb: Array) -> Array:
    """(critic member, proposal) -> the proposal with the highest mean + λ·std  (Eq. 5)."""
    return (q.mean(0) + ucb * q.std(0)).argmax()


@cache
def parts(cfg: Config) -> Parts:
    base: Base = BASES[cfg.base].member(cfg.member)

    def draw(key: Array, batch: int, spec: Spec) -> PyTree:
        return vmap(lambda k: base.draw(k, batch, spec))(random.split(key, cfg.n))

    def fit(state: State, batch: Batch, clock: Clock, noise: PyTree) -> tuple[State, Losses]:
        members, h = state
        next_action, bonus = vmap(base.next_action, (0, None, None, 0))(members, h.member, batch.next_obs, noise)
        judge_all = vmap(base.target_q, (None, None, 0))  # one member's critics, the actions of all
        next_q = vmap(judge_all, (0, None, None))(members, batch.next_obs, next_action)  # (critic, action, batch)
        weight = backup_weight(next_q.std(0), h.confidence)  # (member, batch)
        own_q = jnp.diagonal(next_q).T + bonus  # (member, batch): each learner's own judgement of its own action
        y = vmap(ops.bellman, (None, None, 0, None))(batch.reward, batch.terminated, own_q, h.member.gamma)
        mask = batch.extras["mask"].T  # (member, batch)
        fit_one = vmap(base.fit_critics, (0, None, None, 0, 0))
        members, losses = fit_one(members, h.member, batch, y, mask * weight)
        losses = {name: loss.mean() for name, loss in losses.items()}
        return State(members, h), {**losses, "target": y.mean(), "backup_weight": weight.mean()}

    def improve(state: State, batch: Batch, clock: Clock, noise: PyTree) -> tuple[State, Losses]:
        members, h = state

        def improve_one(member: PyTree, noise: PyTree, mask: Array) -> tuple[PyTree, Losses]:
            objective = partial(base.q, member, batch.obs)
            return base.improve(member, h.member, batch.obs, objective, noise, mask)

        members, losses = vmap(improve_one)(members, noise, batch.extras["mask"].T)
        members = vmap(base.move_targets, (0, None))(members, h.member)
        return State(members, h), {name: loss.mean() for name, loss in losses.items()}

    def watch(state: State, batch: Batch) -> Losses:
        agents = vmap(base.agent, (0, None))(state.members, state.hyper.member)
        actions = vmap(vmap(base.policy, (None, 0)), (0, None))(agents, batch.obs)  # (member, batch, action)
        return {"action_spread": actions.std(0).mean(), "saturated_share": saturated_share(actions)}

    return Parts(draw, fit, improve, watch, every(cfg.member.delay))


@cache
def make(cfg: Config) -> Algorithm:
    base: Base = BASES[cfg.base].member(cfg.member)
    own = parts(cfg)

    def init(key: Array, spec: Spec, hyper: Hyper) -> State:
        return State(vmap(lambda k: base.init(k, spec, hyper.member))(random.split(key, cfg.n)), hyper)

    def agent(state: State) -> Agent:
        return Agent(vmap(base.agent, (0, None))(state.members, state.hyper.member), state.hyper.ucb)

    def draw_act(key: Array, spec: Spec) -> ActNoise:
        member_key, mask_key = random.split(key)
        members = vmap(lambda k: base.draw_act(k, spec))(random.split(member_key, cfg.n))
        return ActNoise(members, random.uniform(mask_key, (cfg.n,)))

    def act(agent: Agent, memo: tuple[()], obs: Array, noise: ActNoise) -> tuple[Array, dict[str, Array]]:
        proposals = vmap(base.act, (0, None, 0))(agent.members, obs, noise.members)  # (proposal, action)
        everywhere = jnp.broadcast_to(obs[None], (cfg.n, len(obs)))
        q = vmap(base.value, (0, None, None))(agent.members, everywhere, proposals)  # (critic member, proposal)
        return proposals[ucb_choice(q, agent.ucb)], {"mask": mask(noise.mask)}

    def mask(uniform: Array) -> Array:
        return (uniform < cfg.bootstrap).astype(jnp.float32)

    def value(agent: Agent, obs: Array, action: Array) -> Array:
        return vmap(base.value, (0, None, None))(agent.members, obs, action).mean(0)

    def own_noise(noise: ActNoise, member: Array) -> PyTree:
        return jax.tree.map(lambda leaf: leaf[member], noise.members)

    return Algorithm(
        init=init,
        draw=own.draw,
        update=partial(update, own),
        probe=partial(probe, own),
        agent=agent,
        begin=lambda key: (),
        actor=lambda agent, memo: agent,  # choosing among proposals needs the critics too
        draw_act=draw_act,
        act=act,
        unguided=lambda key: {"mask": mask(random.uniform(key, (cfg.n,)))},
        policy=lambda agent, memo, obs: vmap(base.policy, (0, None))(agent.members, obs).mean(0),
        members=lambda agent, obs: vmap(base.policy)(agent.members, obs),
        value=value,
        insight=together(base, own_noise),
        extras=(("mask", cfg.n),),
        size=cfg.n,
    )
