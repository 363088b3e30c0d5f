"""REDQ: Chen et al. 2021, "Randomized Ensembled Double Q-Learning".

SAC with N critics: the target is the minimum of M of them, drawn anew, and the actor follows their mean. Use it with
`--utd 20`; the actor then moves once per environment step, as in the paper.
"""

from dataclasses import dataclass
from functools import partial
from typing import Literal, NamedTuple

import jax
from jax import Array, random

from .. import nets, ops
from ..errors import UserError
from ..settings import config, setting
from ..spec import AnyAlgorithm, Batch, Clock, Metrics, Spec
from . import sac
from .base import MOST_MEMBERS, fit_critics, target_q, when
from .sac import State


@config
@dataclass(frozen=True)
class Config(sac.Config):
    m: int = setting(2, "critics whose minimum makes the target", "REDQ", low=1, high=MOST_MEMBERS)
    critics: int = setting(10, "critics of the learner", "REDQ", low=1, high=MOST_MEMBERS)
    actor_q: Literal["min", "mean"] = setting("mean", "the Q an actor follows", "REDQ")

    def __post_init__(self) -> None:
        if self.m > self.critics:
            raise UserError(f"--m {self.m} is more than --critics {self.critics}: the target draws m of them")


class Noise(NamedTuple):
    learner: sac.Noise
    critics: Array  # (m,) distinct critics that make the target


def target(cfg: Config, state: State, batch: Batch, noise: Noise) -> Array:
    """Return y = r + γ (1 − terminated) (min over M drawn critics of Q'_i(s', a') − τ log π(a' | s'))  (Eq. 1)."""
    next_action, bonus = sac.next_action(cfg, state, batch.next_obs, noise.learner)
    drawn = state._replace(target_critics=jax.tree.map(lambda leaf: leaf[noise.critics], state.target_critics))
    next_q = target_q(cfg, drawn, batch.next_obs, next_action) + bonus
    return ops.bellman(batch.reward, batch.discount, next_q)


def update(cfg: Config, state: State, batch: Batch, clock: Clock, noise: Noise) -> tuple[State, Metrics]:
    """Take one of the G gradient steps of an environment step (Algorithm 1): critics and targets; after the last, the
    actor."""
    y = target(cfg, state, batch, noise)
    state, critic_losses = fit_critics(cfg, state, batch, y)
    state = sac.move_targets(cfg, state)

    def improve_actor(state: State) -> tuple[State, Metrics]:
        return sac.improve(cfg, state, batch.obs, partial(sac.q, cfg, state, batch.obs), noise.learner)

    state, actor_losses = when(clock.closing, improve_actor, state)
    return state, {**critic_losses, "target": y.mean(), **actor_losses}


def draw(cfg: Config, key: Array, batch: int, spec: Spec) -> Noise:
    learner_key, critic_key = random.split(key)
    return Noise(
        sac.draw(cfg, learner_key, batch, spec),
        random.permutation(critic_key, cfg.critics)[: cfg.m],
    )


def metrics(cfg: Config, state: State, batch: Batch) -> Metrics:
    q = nets.critics(state.critics, batch.obs, batch.action, cfg.critic_norm)
    return {**sac.metrics(cfg, state, batch), "critic_spread": q.std(0).mean()}


_sac: AnyAlgorithm = sac.ALGORITHM
ALGORITHM = _sac._replace(Config=Config, draw=draw, update=update, metrics=metrics)
