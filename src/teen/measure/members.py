"""The members of an ensemble beside each other: what they score, how well they are told apart, how far they differ."""

from collections.abc import Callable
from functools import cache
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import Array, vmap

from ..algos import insight
from ..spec import Algorithm, PyTree
from .plays import Play, mean_action, member_alone, proposals
from .rollouts import Scene, play
from .rows import in_chunks
from .visits import Visits

PURPOSE = 3


class Returns(NamedTuple):
    """Of one lane, without noise."""

    members: np.ndarray  # (member, episode)
    random_member: np.ndarray  # (episode,) a member drawn for each
    mean_action: np.ndarray  # (episode,)

    def best(self) -> float:
        return float(self.members.mean(1).max())


class Recognition(NamedTuple):
    """The discriminator on freshly visited pairs."""

    confusion: np.ndarray  # (member, guess) share of a member's pairs; rows add up to 1
    bound: float  # log N + E log q(z | s, a) ≤ I(z; s, a)

    def accuracy(self) -> float:
        return float(np.diagonal(self.confusion).mean())


def is_ensemble(algo: Algorithm) -> bool:
    return algo.members is not None and algo.size > 1


def returns(scene: Scene, episodes: int) -> list[Returns | None]:
    """Per lane: `episodes` of each way to play, as many of each member as it takes to have that many in all. All play
    from the same starts, one after the other."""
    algo, lanes = scene.algo, len(scene.seeds)
    each = -(-episodes // algo.size)
    fixed = np.tile(np.repeat(np.arange(algo.size), each), (lanes, 1))
    drawn = np.stack([scene.generator(PURPOSE, lane).integers(0, algo.size, episodes) for lane in range(lanes)])
    starts = scene.starts(PURPOSE, episodes)

    def scores(policy: Play, who: np.ndarray) -> list[np.ndarray]:
        again = np.arange(who.shape[1]) % episodes
        return [np.array([t.reward.sum() for t in own]) for own in play(scene, policy, who, starts[:, again])]

    alone = scores(member_alone(algo), fixed)
    random = scores(member_alone(algo), drawn)
    mean = scores(mean_action(algo), np.zeros_like(drawn))
    return [
        Returns(own.reshape(algo.size, each), one, together) if own.size and one.size and together.size else None
        for own, one, together in zip(alone, random, mean, strict=True)
    ]


def recognition(algo: Algorithm, agent: PyTree, visits: Visits) -> Recognition:
    recognise = insight.of(algo).recognise
    assert recognise
    size, count, _ = visits.obs.shape
    obs, action = visits.obs.reshape(size * count, -1), visits.action.reshape(size * count, -1)
    log_q = in_chunks(recognise, agent, obs, action).reshape(size, count, size)
    guesses = log_q.argmax(2)
    confusion = np.stack([np.bincount(own, minlength=size) / count for own in guesses])
    own_log_q = np.stack([log_q[z, :, z] for z in range(size)])
    return Recognition(confusion, float(np.log(size) + own_log_q.mean()))


def action_distance(algo: Algorithm, agent: PyTree, obs: np.ndarray) -> float:
    """Mean Euclidean distance between two members' actions in the same state, over all pairs and states (state, obs);
    two corners of the action box are 2 √|A| apart."""
    return float(in_chunks(_distances(algo), agent, obs).mean())


@cache
def _distances(algo: Algorithm) -> Callable[[PyTree, Array], Array]:
    first, second = np.triu_indices(algo.size, 1)

    def one(agent: PyTree, obs: Array) -> Array:
        actions = proposals(algo, agent, obs)
        return jnp.sqrt(jnp.square(actions[first] - actions[second]).sum(-1)).mean()

    return vmap(one, (None, 0))
