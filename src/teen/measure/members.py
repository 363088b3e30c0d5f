"""The members of an ensemble beside each other: what they score, how well they are told apart, how far they differ."""

from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import Array, vmap

from ..engine.members import proposals
from ..spec import AnyAlgorithm, PyTree
from .plays import Play, mean_action, member_alone
from .rollouts import Scene, play
from .rows import in_chunks, insight_function
from .visits import Visits

PURPOSE = 3


class Returns(NamedTuple):
    """One lane's returns, without noise."""

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


def returns(scene: Scene, episodes: int) -> list[Returns | None]:
    """Return each lane's returns: `episodes` of each way to play, as many of each member as it takes to have that many
    in all. All play from the same starts, one after the other."""
    lanes = len(scene.seeds)
    each = -(-episodes // scene.size)
    fixed = np.tile(np.repeat(np.arange(scene.size), each), (lanes, 1))
    drawn = np.stack([scene.generator(PURPOSE, lane).integers(0, scene.size, episodes) for lane in range(lanes)])
    starts = scene.starts(PURPOSE, episodes)

    def scores(policy: Play, who: np.ndarray) -> list[np.ndarray]:
        again = np.arange(who.shape[1]) % episodes
        played = play(scene, policy, who, starts[:, again])
        return [np.array([t.reward.sum() for t in trajectories]) for trajectories in played]

    alone = scores(member_alone, fixed)
    random = scores(member_alone, drawn)
    mean = scores(mean_action, np.zeros_like(drawn))
    return [
        Returns(a.reshape(scene.size, each), r, m) if a.size and r.size and m.size else None
        for a, r, m in zip(alone, random, mean, strict=True)
    ]


def recognition(algo: AnyAlgorithm, cfg: Any, weights: PyTree, visits: Visits) -> Recognition:
    size, count, _ = visits.obs.shape
    obs, action = visits.obs.reshape(size * count, -1), visits.action.reshape(size * count, -1)
    log_q = in_chunks(insight_function(algo, "recognise"), cfg, weights, obs, action).reshape(size, count, size)
    confusion = np.stack([np.bincount(guesses, minlength=size) / count for guesses in log_q.argmax(2)])
    own_log_q = np.stack([log_q[z, :, z] for z in range(size)])
    return Recognition(confusion, float(np.log(size) + own_log_q.mean()))


def action_distance(algo: AnyAlgorithm, cfg: Any, weights: PyTree, obs: np.ndarray) -> float:
    """Return the mean Euclidean distance between two members' actions in the same state, over all pairs and states
    (state, obs); two corners of the action box are 2 √|A| apart."""
    return float(in_chunks(_distances(algo), cfg, weights, obs).mean())


@cache
def _distances(algo: AnyAlgorithm) -> Callable[[Any, PyTree, Array], Array]:
    def one(cfg: Any, weights: PyTree, obs: Array) -> Array:
        first, second = np.triu_indices(algo.size(cfg), 1)
        actions = proposals(algo, cfg, weights, obs)
        return jnp.sqrt(jnp.square(actions[first] - actions[second]).sum(-1)).mean()

    return vmap(one, (None, None, 0))
