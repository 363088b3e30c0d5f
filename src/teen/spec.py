"""The nouns that every other module speaks.

Shapes in this project name their axes in one order: (lane, member, batch, feature). The functions of
an :class:`Algorithm` are written for one lane; the engine adds the lane axis with ``vmap``.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from jax import Array

PyTree = Any


class Spec(NamedTuple):
    """What an algorithm sees of an environment: flat observations, actions in [-1, 1]."""

    obs: int
    action: int


class Step(NamedTuple):
    """One true transition of every lane, as an adapter reports it."""

    next_obs: np.ndarray  # (lane, obs): where the action led, also on the last step of an episode
    reward: np.ndarray  # (lane,)
    terminated: np.ndarray  # (lane,) bool: the task ended here, nothing follows
    truncated: np.ndarray  # (lane,) bool: only the clock ran out, value follows
    obs: np.ndarray  # (lane, obs): where to act from now; a fresh start where an episode ended
    finished: bool  # whether any episode ended


class Batch(NamedTuple):
    """Transitions sampled from one lane's replay."""

    obs: Array  # (batch, obs)
    action: Array  # (batch, action)
    reward: Array  # (batch,)
    terminated: Array  # (batch,) 0 or 1; a time limit is 0
    next_obs: Array  # (batch, obs)
    extras: dict[str, Array]  # what the algorithm stored beside the transition, (batch, width) each
    age: Array  # (batch,) environment steps since the transition was stored


class Clock(NamedTuple):
    """Where training stands. All but the episodes are shared by the lanes, so that a branch on them stays a
    branch under ``vmap``; a per-lane clock would turn it into a select that pays for both sides."""

    gradient_step: Array  # counts from 1
    env_step: Array
    episodes: Array  # finished episodes of this lane
    closing: Array  # whether this is the last gradient step of an environment step; shared by all lanes


class Insight(NamedTuple):
    """What diagnostics ask of an algorithm. Its `value` estimates the discounted sum of `reward` that `follow` earns,
    bonuses included; the bonus of the action that is judged itself does not count.

    A member is a number below `size`, which single policies ignore. The noise is that of `draw_act`.
    """

    explore: Callable[[PyTree, Array, Array, PyTree], Array]  # agent, member, obs, noise -> its exploring action
    follow: Callable[[PyTree, Array, Array, PyTree], tuple[Array, Array]]  # the same -> action, bonus such as −τ log π
    reward: Callable[[PyTree, Array, Array], Array]  # agent, (batch,), (batch, obs) next -> (batch,) learnt from
    discount: Callable[[PyTree], Array]  # agent -> γ
    recognise: Callable[[PyTree, Array, Array], Array] | None  # agent, obs, action -> (batch, member) log q(z | s, a)


class Algorithm(NamedTuple):
    """An algorithm is a tuple of pure functions, each written for one lane.

    ``agent`` is the part of the state that acting and judging need; it is what a run saves.
    """

    init: Callable[[Array, Spec, PyTree], PyTree]  # key, spec, hyper -> state
    draw: Callable[[Array, int, Spec], PyTree]  # key, batch, spec -> noise: all randomness of an update
    update: Callable[..., tuple[PyTree, dict[str, Array]]]  # state, batch, clock, noise -> state, losses
    probe: Callable[..., dict[str, Array]]  # state, batch, clock, noise -> metrics; the dear ones
    agent: Callable[[PyTree], PyTree]  # state -> agent

    begin: Callable[[Array], PyTree]  # key -> memo: what an episode keeps, such as the acting member
    actor: Callable[[PyTree, PyTree], PyTree]  # agent, memo -> weights: all that acting needs
    draw_act: Callable[[Array, Spec], PyTree]  # key, spec -> noise: all randomness of an exploring action
    act: Callable[..., tuple[Array, dict[str, Array]]]  # weights, memo, obs, noise -> action, extras
    unguided: Callable[[Array], dict[str, Array]]  # key -> extras of a random warm-up action

    policy: Callable[[PyTree, PyTree, Array], Array]  # agent, memo, obs -> action without noise
    members: Callable[[PyTree, Array], Array] | None  # agent, (member, obs) -> (member, action)
    value: Callable[[PyTree, Array, Array], Array]  # agent, obs, action -> q
    extras: tuple[tuple[str, int], ...]  # (name, width) of what `act` hands to the replay
    size: int  # number of members; 1 for a single policy
    insight: Insight | None = None  # without it, there are no diagnostics
