"""Environments: one interface, lanes as rows."""

from .adapter import Envs, Lanes
from .gym import GymnasiumEnvs

__all__ = ["Envs", "Lanes", "make"]


def make(env_id: str, count: int) -> Envs:
    """`count` copies of an environment. A UserError says why it cannot be had or cannot be used."""
    return GymnasiumEnvs(env_id, count)
