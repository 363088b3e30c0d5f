"""REDQ: Chen et al. 2021, "Randomized Ensembled Double Q-Learning".

SAC with N critics: the target is the minimum of M of them, drawn anew, and the actor follows their mean. Use it with
`--utd 20`; the actor then moves once per environment step, as in the paper.
"""

from dataclasses import dataclass, field
from functools import cache, partial
from typing import NamedTuple

import jax
from jax import Array, random

from .. import nets, ops
from ..errors import UserError
from ..settings import setting
from ..spec import Algorithm, Batch, Clock, Spec
from . import sac
from .base import Losses, Parts, probe, update


@dataclass(frozen=True)
class Config:
    m: int = setting(2, "critics whose minimum makes the target", "REDQ", low=1)
    member: sac.Config = field(default_factory=lambda: sac.Config(critics=10, actor_q="mean"))

    def __post_init__(self) -> None:
        if self.m > self.member.critics:
            raise UserError(f"--m {self.m} is more than --critics {self.member.critics}: the target draws m of them")


Hyper = sac.Hyper


def hyper(cfg: Config) -> Hyper:
    return sac.hyper(cfg.member)


class Noise(NamedTuple):
    learner: sac.Noise
    critics: Array  # (m,) distinct critics that make the target


@cache
def parts(cfg: Config) -> Parts:
    learner, soft = sac.member(cfg.member), sac.parts(cfg.member)

    def draw(key: Array, batch: int, spec: Spec) -> Noise:
        learner_key, critic_key = random.split(key)
        chosen = random.permutation(critic_key, cfg.member.critics)[: cfg.m]
        return Noise(learner.draw(learner_key, batch, spec), chosen)

    def fit(state: sac.State, batch: Batch, clock: Clock, noise: Noise) -> tuple[sac.State, Losses]:
        m, h = state
        next_action, bonus = learner.next_action(m, h, batch.next_obs, noise.learner)
        chosen = m._replace(target_critics=jax.tree.map(lambda leaf: leaf[noise.critics], m.target_critics))
        next_q = learner.target_q(chosen, batch.next_obs, next_action) + bonus
        y = ops.bellman(batch.reward, batch.terminated, next_q, h.gamma)  # Eq. 1
        m, losses = learner.fit_critics(m, h, batch, y)
        return sac.State(learner.move_targets(m, h), h), {**losses, "target": y.mean()}

    def improve(state: sac.State, batch: Batch, clock: Clock, noise: Noise) -> tuple[sac.State, Losses]:
        m, h = state
        m, losses = learner.improve(m, h, batch.obs, lambda a: learner.q(m, batch.obs, a), noise.learner)
        return sac.State(m, h), losses

    def watch(state: sac.State, batch: Batch) -> Losses:
        q = nets.critics(state.learner.critics, batch.obs, batch.action, cfg.member.critic_norm)
        return {**soft.watch(state, batch), "critic_spread": q.std(0).mean()}

    return Parts(draw, fit, improve, watch, lambda clock: clock.closing)


@cache
def make(cfg: Config) -> Algorithm:
    own = parts(cfg)
    return sac.make(cfg.member)._replace(draw=own.draw, update=partial(update, own), probe=partial(probe, own))
