"""SAC whose exploration noise is held for some steps, while its actions follow the state at every step: a trial of why
an action repeat helps on fish-swim (docs/fish-swim.md). `teen train --algo scripts.held_noise --hold 2`."""

from dataclasses import dataclass

import jax.numpy as jnp

from teen.algos import sac
from teen.settings import config, setting


@config
@dataclass(frozen=True)
class Config(sac.Config):
    hold: int = setting(2, "steps for which a draw of the exploration noise is held", "our choice", low=1)


def begin(cfg, key, spec):
    return jnp.zeros((), jnp.int32), jnp.zeros(spec.action)  # the step of the episode, the noise that is held


def act(cfg, actor, memo, obs, noise):
    step, held = memo
    held = jnp.where(step % cfg.hold == 0, noise, held)
    return sac.explore(cfg, actor, obs, held), {}, (step + 1, held)


ALGORITHM = sac.ALGORITHM._replace(Config=Config, begin=begin, act=act)
