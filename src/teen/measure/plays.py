"""The ways in which one lane's policies may be played: cfg, weights, who, obs, key -> action, bonus.

`who` is a member's number, or the memo of an episode. The algorithm and the spec come first; they are static.
"""

from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
from jax import Array, random

from ..algos.insight import insight_of
from ..engine.members import proposals
from ..spec import AnyAlgorithm, PyTree, Spec

Played = tuple[Array, Array]  # action, bonus
Play = Callable[[AnyAlgorithm, Spec, Any, PyTree, PyTree, Array, Array], Played]


def following(
    algo: AnyAlgorithm, spec: Spec, cfg: Any, weights: PyTree, member: Array, obs: Array, key: Array
) -> Played:
    """Play a member's policy as its critic sees it: sampled where the algorithm is soft, else without noise."""
    return insight_of(algo, cfg).follow(cfg, weights, member, obs, algo.draw_act(cfg, key, spec))


def mixing(algo: AnyAlgorithm, spec: Spec, cfg: Any, weights: PyTree, member: Array, obs: Array, key: Array) -> Played:
    """Play the same, with a member drawn in every step."""
    member_key, noise_key = random.split(key)
    drawn = random.randint(member_key, (), 0, max(algo.size(cfg), 1))
    return following(algo, spec, cfg, weights, drawn, obs, noise_key)


def exploring(
    algo: AnyAlgorithm, spec: Spec, cfg: Any, weights: PyTree, member: Array, obs: Array, key: Array
) -> Played:
    """Play one member by itself, with its exploration noise."""
    noise = algo.draw_act(cfg, key, spec)
    return insight_of(algo, cfg).explore(cfg, weights, member, obs, noise), jnp.zeros(())


def acting(algo: AnyAlgorithm, spec: Spec, cfg: Any, weights: PyTree, memo: PyTree, obs: Array, key: Array) -> Played:
    """Play as in training: whatever the algorithm does with all its members."""
    noise = algo.draw_act(cfg, key, spec)
    return algo.act(cfg, algo.actor(cfg, weights, memo), memo, obs, noise)[0], jnp.zeros(())


def member_alone(
    algo: AnyAlgorithm, spec: Spec, cfg: Any, weights: PyTree, member: Array, obs: Array, key: Array
) -> Played:
    """Play one member without noise."""
    return proposals(algo, cfg, weights, obs)[member], jnp.zeros(())


def mean_action(
    algo: AnyAlgorithm, spec: Spec, cfg: Any, weights: PyTree, member: Array, obs: Array, key: Array
) -> Played:
    """Play the mean of the members' actions."""
    return proposals(algo, cfg, weights, obs).mean(0), jnp.zeros(())
