"""The ways in which one lane's agent may be made to play."""

from collections.abc import Callable
from functools import cache

import jax.numpy as jnp
from jax import Array, random

from ..algos import insight
from ..spec import Algorithm, PyTree, Spec

# agent, who, obs, key -> action, bonus. `who` is a member's number, or the memo of an episode.
Play = Callable[[PyTree, PyTree, Array, Array], tuple[Array, Array]]


@cache
def following(algo: Algorithm, spec: Spec) -> Play:
    """A member's policy as its critic sees it: sampled where the algorithm is soft, else without noise."""

    def play(agent: PyTree, member: Array, obs: Array, key: Array) -> tuple[Array, Array]:
        return insight.of(algo).follow(agent, member, obs, algo.draw_act(key, spec))

    return play


@cache
def mixing(algo: Algorithm, spec: Spec) -> Play:
    """The same, with a member drawn anew in every step."""

    def play(agent: PyTree, member: Array, obs: Array, key: Array) -> tuple[Array, Array]:
        member_key, noise_key = random.split(key)
        drawn = random.randint(member_key, (), 0, algo.size)
        return insight.of(algo).follow(agent, drawn, obs, algo.draw_act(noise_key, spec))

    return play


@cache
def exploring(algo: Algorithm, spec: Spec) -> Play:
    """One member by itself, with its exploration noise."""

    def play(agent: PyTree, member: Array, obs: Array, key: Array) -> tuple[Array, Array]:
        return insight.of(algo).explore(agent, member, obs, algo.draw_act(key, spec)), jnp.zeros(())

    return play


@cache
def acting(algo: Algorithm, spec: Spec) -> Play:
    """As in training: whatever the algorithm does with all its members."""

    def play(agent: PyTree, memo: PyTree, obs: Array, key: Array) -> tuple[Array, Array]:
        return algo.act(algo.actor(agent, memo), memo, obs, algo.draw_act(key, spec))[0], jnp.zeros(())

    return play


@cache
def member_alone(algo: Algorithm) -> Play:
    """One member without noise."""

    def play(agent: PyTree, member: Array, obs: Array, key: Array) -> tuple[Array, Array]:
        return proposals(algo, agent, obs)[member], jnp.zeros(())

    return play


@cache
def mean_action(algo: Algorithm) -> Play:
    """The mean of the members' actions."""

    def play(agent: PyTree, member: Array, obs: Array, key: Array) -> tuple[Array, Array]:
        return proposals(algo, agent, obs).mean(0), jnp.zeros(())

    return play


def proposals(algo: Algorithm, agent: PyTree, obs: Array) -> Array:
    """(obs,) -> (member, action): what each member would do there, without noise."""
    assert algo.members
    return algo.members(agent, jnp.broadcast_to(obs[None], (algo.size, len(obs))))
