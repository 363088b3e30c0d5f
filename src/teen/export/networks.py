"""The policy that `Agent.act` is, as plain arrays: what every format is written from.

Whatever the algorithm, a policy is the mean over members of tanh of a network, on observations that may be normalised,
in the environment's bounds; a single policy is one member. TEEN's `--evaluate vote` takes the action of the member that
the critics like best instead of the mean.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import numpy as np

from .. import __version__
from ..algos.normalise import LIMIT
from ..disk.agent import Agent
from ..engine.members import check_is_one, check_member
from ..errors import UserError
from ..settings import flat
from ..spec import Spec

ROWS = 1_000  # observations on which what was written is compared with the agent
TOLERANCE = (
    1e-4  # of half the action's range: what is computed otherwise is further off, what is rounded otherwise is not
)
TIES = 0.01  # share of rows in which a vote may be all but a tie: rounding decides it

Layers = list[tuple[np.ndarray, np.ndarray]]  # weight (member, out, in) and bias (member, out), float32


class Normaliser(NamedTuple):
    mean: np.ndarray  # (obs,)
    std: np.ndarray  # (obs,)
    limit: float


class Vote(NamedTuple):
    """What chooses among the members' actions: the greatest mean over all critics."""

    critics: Layers  # (critic, out, in), those of all members
    layer_norm: bool


class Networks(NamedTuple):
    layers: Layers
    normaliser: Normaliser | None
    vote: Vote | None  # None: the mean
    low: np.ndarray  # the action's bounds, in its shape
    high: np.ndarray
    facts: dict[str, str]  # what it is, for a file's description
    reference: Callable[[np.ndarray], np.ndarray]  # the agent itself: (row, obs) -> (row, *action)

    def check(self, act: Callable[[np.ndarray], np.ndarray]) -> float:
        """Compare what was written with the agent, and return the largest difference, as a part of half the action's
        range. A UserError says if it acts otherwise."""
        rows = np.random.default_rng(0).normal(size=(ROWS, self.layers[0][0].shape[-1])).astype(np.float32)
        if self.normaliser:
            rows = rows * self.normaliser.std + self.normaliser.mean
        half = np.where(self.high > self.low, (self.high - self.low) / 2, 1)
        apart = (np.abs(act(rows) - self.reference(rows)) / half).reshape(ROWS, -1).max(1)
        largest = float(np.sort(apart)[-1 - int(TIES * ROWS) if self.vote else -1])
        if not largest <= TOLERANCE:  # nor if it is NaN
            raise _otherwise(self.facts["algorithm"])
        return largest


def networks_of(agent: Agent, seed: int | None = None, member: int | None = None) -> Networks:
    """Return the policy of one seed, the first if none is named: the evaluated one, or one member."""
    lane = agent.lane(seed)
    check_member(agent.algo, agent.config, member)
    evaluated = flat(agent.config).get("evaluate", "mean") if member is None else "mean"
    check_is_one(agent.config, member, "--member, such as 0")
    weights = jax.tree.map(lambda leaf: np.asarray(leaf)[lane], agent.weights)
    env, player = agent._spaces(), agent._player(lane, member)
    low, high = env.scale(np.stack([np.full(env.spec.action, edge, np.float32) for edge in (-1, 1)]))
    try:
        layers, normaliser = _layers(weights, env.spec, member), _normaliser(weights)
        vote = _vote(weights, agent.config) if evaluated == "vote" else None
    except (AttributeError, TypeError, ValueError, IndexError):  # somebody's own algorithm
        raise _otherwise(agent.settings.algo) from None
    if not all(np.isfinite(leaf).all() for leaf in jax.tree.leaves((layers, normaliser, vote))):
        raise UserError(f"the weights of seed {agent.seeds[lane]} are not finite: choose another seed with --policy")
    facts = _facts(agent, lane, member, "vote of" if vote else "mean of", len(layers[0][0]))
    return Networks(layers, normaliser, vote, low, high, facts, lambda rows: env.scale(player.noiseless(rows)))


def _facts(agent: Agent, lane: int, member: int | None, how: str, members: int) -> dict[str, str]:
    base = flat(agent.config).get("base")
    several = agent.algo.size(agent.config) > 0
    return {
        "task": agent.settings.env,
        "algorithm": f"{agent.settings.algo} ({base})" if base else agent.settings.algo,
        "seed": str(agent.seeds[lane]),
        "step": str(agent.steps[lane]),
        "policy": f"member {member}" if member is not None else f"{how} {members} members" if several else "single",
        "teen": __version__,
    }


def _otherwise(algo: str) -> UserError:
    return UserError(
        f"the policy of {algo} cannot be exported: it is not tanh of the network `actor` in its weights, nor the mean "
        "of its members' (docs/export.md)"
    )


def _inner(weights: Any) -> Any:
    """Return the weights of the learner or ensemble inside wrappers such as normalisation."""
    return _inner(weights.inner) if hasattr(weights, "inner") else weights


def _layers(weights: Any, spec: Spec, member: int | None) -> Layers:
    inner = _inner(weights)
    if hasattr(inner, "members"):
        layers = _plain(inner.members.actor)
    else:
        layers = [(weight[None], bias[None]) for weight, bias in _plain(inner.actor)]
    if member is not None:
        layers = [(weight[[member]], bias[[member]]) for weight, bias in layers]
    weight, bias = layers[-1]
    if weight.shape[1] == 2 * spec.action:  # mean and log standard deviation: the mean acts
        layers[-1] = weight[:, : spec.action], bias[:, : spec.action]
    return layers


def _plain(network: Any) -> Layers:
    return [(np.asarray(layer.weight, np.float32), np.asarray(layer.bias, np.float32)) for layer in network]


def _normaliser(weights: Any) -> Normaliser | None:
    """Return what `algos.normalise.normalised` does, as two arrays."""
    if not hasattr(weights, "statistics"):
        return None
    rows, mean, squares = weights.statistics
    std = np.sqrt(squares / np.maximum(rows, 1))
    return Normaliser(mean, np.where((rows > 0) & (std > 1e-6), std, 1).astype(np.float32), LIMIT)


def _vote(weights: Any, config: Any) -> Vote:
    of_members = _plain(_inner(weights).members.critics)  # (member, critic, ...)
    critics = [(w.reshape(-1, *w.shape[2:]), b.reshape(-1, b.shape[2])) for w, b in of_members]
    return Vote(critics, flat(config)["critic_norm"] == "layer")
