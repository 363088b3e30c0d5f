"""What diagnostics may ask, of a learner alone, of several together, and of an algorithm inside another."""

from collections.abc import Callable

import jax
from jax import Array

from ..errors import UserError
from ..spec import Algorithm, Insight, PyTree
from .base import Base


def of(algo: Algorithm) -> Insight:
    if algo.insight is None:
        raise UserError("this algorithm has no diagnostics: give its Algorithm an `insight` (docs/extending.md)")
    return algo.insight


def alone(learner: Base) -> Insight:
    return Insight(
        explore=lambda agent, member, obs, noise: learner.act(agent, obs, noise),
        follow=lambda agent, member, obs, noise: learner.follow(agent, obs, noise),
        reward=lambda agent, reward, next_obs: reward,
        discount=lambda agent: agent.gamma,
        recognise=None,
    )


def together(learner: Base, own_noise: Callable[[PyTree, Array], PyTree]) -> Insight:
    """Of learners that an agent holds as `members`. `own_noise` takes one member's from what `draw_act` gave."""

    def one(agent: PyTree, member: Array) -> PyTree:
        return jax.tree.map(lambda leaf: leaf[member], agent.members)

    return alone(learner)._replace(
        explore=lambda agent, member, obs, noise: learner.act(one(agent, member), obs, own_noise(noise, member)),
        follow=lambda agent, member, obs, noise: learner.follow(one(agent, member), obs, own_noise(noise, member)),
        discount=lambda agent: agent.members.gamma[0],
    )


def inside(inner: Insight, see: Callable[[PyTree, Array], Array]) -> Insight:
    """Of an algorithm that another one's agent holds as `inner`, and that sees (batch, obs) its own way."""

    def recognise(agent: PyTree, obs: Array, action: Array) -> Array:
        assert inner.recognise
        return inner.recognise(agent.inner, see(agent, obs), action)

    return Insight(
        explore=lambda agent, member, obs, noise: inner.explore(agent.inner, member, see(agent, obs[None])[0], noise),
        follow=lambda agent, member, obs, noise: inner.follow(agent.inner, member, see(agent, obs[None])[0], noise),
        reward=lambda agent, reward, next_obs: inner.reward(agent.inner, reward, see(agent, next_obs)),
        discount=lambda agent: inner.discount(agent.inner),
        recognise=recognise if inner.recognise else None,
    )
