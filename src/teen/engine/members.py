"""The members of an ensemble, each by itself and without noise."""

from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import Array

from ..errors import UserError
from ..settings import flat
from ..spec import AnyAlgorithm, PyTree


def check_member(algo: AnyAlgorithm, config: Any, member: Any) -> None:
    """Raise a UserError unless the member is one of the algorithm's; None is the whole."""
    if member is None:
        return
    size = algo.size(config)
    if not size:
        raise UserError("this algorithm has no members: it is one policy")
    if isinstance(member, bool) or not isinstance(member, int | np.integer) or not 0 <= member < size:
        raise UserError(f"there is no member {member!r:.20}: this agent has members 0 to {size - 1}")


def check_is_one(config: Any, member: Any, instead: str) -> None:
    """Raise a UserError if what acts is drawn anew for each episode, as TEEN's --evaluate mixture is."""
    if member is None and flat(config).get("evaluate") == "mixture":
        raise UserError(f"--evaluate mixture draws a member for each episode: choose one with {instead}")


def member_policy(
    algo: AnyAlgorithm, config: Any, weights: PyTree, memo: PyTree, obs: Array, member: int | None
) -> Array:
    """Return the action of one member without noise, (obs,) -> (action,); for None that of the algorithm's `policy`,
    which alone needs the memo."""
    if member is None:
        return algo.policy(config, weights, memo, obs)
    return proposals(algo, config, weights, obs)[member]


def proposals(algo: AnyAlgorithm, config: Any, weights: PyTree, obs: Array) -> Array:
    """Return what each member would do in a state, without noise: (obs,) -> (member, action)."""
    assert algo.members
    return algo.members(config, weights, jnp.broadcast_to(obs[None], (algo.size(config), len(obs))))
