"""SUNRISE: Lee et al. 2021, "A Simple Unified Framework for Ensemble Learning in Deep Reinforcement Learning".

N learners that see different rows of one replay (bootstrap masks), trust a target less where they disagree about it
(weighted Bellman backups), and act on the most promising of their proposals (UCB).
"""

from dataclasses import dataclass, field
from functools import partial
from typing import Any, Literal, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array, random, vmap

from .. import ops
from ..settings import config, per_lane, setting
from ..spec import Acted, Batch, Clock, Extras, Metrics, PyTree, Spec
from . import sac, td3
from .base import MOST_MEMBERS, Learner, Objective, chosen, every, normal_noise, when
from .ensemble import Stack, ensemble, one

LEARNERS: dict[str, Learner[Any, Any, Any, Any]] = {"sac": sac.LEARNER, "td3": td3.LEARNER}


@config
@dataclass(frozen=True)
class Config:
    n: int = setting(5, "learners in the ensemble", "SUNRISE", low=1, high=MOST_MEMBERS)
    bootstrap: float = setting(0.5, "chance that a learner may use a transition", "SUNRISE", low=0, high=1)
    confidence: float = per_lane(20.0, "how sharply disagreement lowers a target's weight", "SUNRISE", low=0)
    ucb: float = per_lane(1.0, "standard deviations of optimism in acting", "SUNRISE", low=0)
    base: Literal["sac", "td3"] = setting("sac", "what a learner is", "SUNRISE")
    member: sac.Config | td3.Config = field(default_factory=sac.Config)


class State(NamedTuple):
    members: PyTree  # leaves (member, ...)


class Weights(NamedTuple):
    members: PyTree  # leaves (member, ...)


class ActNoise(NamedTuple):
    members: PyTree  # leaves (member, ...): behind each learner's proposal
    mask: Array  # (member,) uniform numbers behind the bootstrap mask


def stack(cfg: Config) -> Stack:
    return Stack(LEARNERS[cfg.base], cfg.member, cfg.n)


def update(cfg: Config, state: State, batch: Batch, clock: Clock, noise: PyTree) -> tuple[State, Metrics]:
    """Take one gradient step (Algorithm 1) of every learner, on the rows that its mask lets through."""
    mask = batch.extras["mask"].T  # (member, batch)
    y, weight = target(cfg, state, batch, noise)  # (member, batch)
    members, critic_losses = stack(cfg).fit_critics(state.members, batch, y, mask * weight)

    def improve_actors(state: State) -> tuple[State, Metrics]:
        worth = partial(objective, cfg, batch.obs)
        members, losses = stack(cfg).improve(state.members, batch.obs, worth, noise, mask)
        return State(stack(cfg).move_targets(members)), losses

    state, actor_losses = when(every(cfg.member.delay, clock), improve_actors, State(members))
    return state, {**critic_losses, "target": y.mean(), "backup_weight": weight.mean(), **actor_losses}


def target(cfg: Config, state: State, batch: Batch, noise: PyTree) -> tuple[Array, Array]:
    """Return y of each learner from its own critics and its own next action, and the weight of its backup  (Eq. 3)."""
    next_action, bonus = stack(cfg).next_action(state.members, batch.next_obs, noise)
    next_q = stack(cfg).target_q(state.members, batch.next_obs, next_action)  # (critics' member, action's, batch)
    weight = backup_weight(next_q.std(0), cfg.confidence)  # (member, batch)
    own_q = jnp.diagonal(next_q).T + bonus  # (member, batch)
    y = vmap(ops.bellman, (None, None, 0))(batch.reward, batch.discount, own_q)
    return y, weight


def objective(cfg: Config, obs: Array, member: PyTree) -> Objective:
    """Return what a learner's actor climbs: its Q alone."""
    return partial(stack(cfg).learner.q, cfg.member, member, obs)


def backup_weight(std: Array, confidence: ops.Scalar) -> Array:
    """w = σ(−T·std) + 0.5, between 0.5 and 1  (Eq. 3)."""
    return jax.nn.sigmoid(-confidence * std) + 0.5


def ucb_choice(q: Array, ucb: ops.Scalar) -> Array:
    """(critic member, proposal) -> the proposal with the highest mean + λ·std  (Eq. 5)."""
    return (q.mean(0) + ucb * q.std(0)).argmax()


def init(cfg: Config, key: Array, spec: Spec) -> State:
    return State(stack(cfg).init(key, spec))


def draw(cfg: Config, key: Array, batch: int, spec: Spec) -> PyTree:
    return stack(cfg).draw(key, batch, spec)


def weights(cfg: Config, state: State) -> Weights:
    return Weights(stack(cfg).weights(state.members))


def draw_act(cfg: Config, key: Array, spec: Spec) -> ActNoise:
    member_key, mask_key = random.split(key)
    members = vmap(lambda k: normal_noise(cfg, k, spec))(random.split(member_key, cfg.n))
    return ActNoise(members, random.uniform(mask_key, (cfg.n,)))


def act(cfg: Config, weights: Weights, memo: PyTree, obs: Array, noise: ActNoise) -> Acted:
    explore = stack(cfg).learner.explore
    proposals = vmap(lambda w, n: explore(cfg.member, w.actor, obs, n))(weights.members, noise.members)
    everywhere = jnp.broadcast_to(obs[None], (cfg.n, len(obs)))
    q = stack(cfg).values(weights.members, everywhere, proposals)  # (critic member, proposal)
    return proposals[ucb_choice(q, cfg.ucb)], {"mask": mask(cfg, noise.mask)}, memo


def mask(cfg: Config, uniform: Array) -> Array:
    return (uniform < cfg.bootstrap).astype(jnp.float32)


def unguided(cfg: Config, key: Array) -> Extras:
    return {"mask": mask(cfg, random.uniform(key, (cfg.n,)))}


def on(base: str) -> Config:
    """Return the defaults on another base learner."""
    return Config(base=base, member=chosen(base, LEARNERS).Config())  # type: ignore[arg-type]


def member_noise(noise: ActNoise, member: Array) -> PyTree:
    return one(noise.members, member)


ALGORITHM = ensemble(Config, stack, init, draw, update, weights, member_noise)._replace(
    begin=lambda cfg, key, spec: (),
    actor=lambda cfg, weights, memo: weights,  # choosing among proposals needs the critics too
    draw_act=draw_act,
    act=act,
    unguided=unguided,
    extras=lambda cfg: (("mask", cfg.n),),
    on=on,
)
