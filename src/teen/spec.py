"""Types that all rooms share: what an environment, a batch and an algorithm are.

Shapes in this project name their axes in one order: (lane, member, batch, feature). The functions of an
:class:`Algorithm` are written for one lane; the engine adds the lane axis with ``vmap``.
"""

from collections.abc import Callable
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np
from jax import Array

PyTree = Any
Metrics = dict[str, Array]  # scalars by name
Extras = dict[str, Array]  # what an algorithm stores beside a transition
Acted = tuple[Array, Extras, PyTree]  # an exploring action, what is stored beside it, and the memo of the next step
Tables = dict[str, list[tuple[Any, ...]]]  # rows of one lane's diagnosis, by the log that they go to

C = TypeVar("C")  # an algorithm's config
S = TypeVar("S")  # its state
N = TypeVar("N")  # the noise of an update
W = TypeVar("W")  # its weights


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
    own_reward: np.ndarray  # (lane,): the environment's, before it was scaled


class Batch(NamedTuple):
    """Transitions sampled from one lane's replay. Each spans m steps: `--n-step`, or fewer where its episode or what is
    stored ends before. γ is the config's `gamma`, or 1 where it has none. Extras and age are those of the first."""

    obs: Array  # (batch, obs)
    action: Array  # (batch, action)
    reward: Array  # (batch,) Σ_{k<m} γ^k r_{t+k}
    discount: Array  # (batch,) γ^m (1 − terminated), of the value that follows; a time limit does not terminate
    next_obs: Array  # (batch, obs): m steps later
    extras: Extras  # (batch, width) each
    age: Array  # (batch,) environment steps since the transition was stored


class Clock(NamedTuple):
    """Where training stands. All but the episodes are shared by the lanes, so that a branch on them stays a
    branch under ``vmap``; a per-lane clock would turn it into a select that pays for both sides."""

    gradient_step: Array | int  # counts from 1; 0 where metrics are computed: everything delayed takes its turn then
    env_step: Array
    episodes: Array  # finished episodes of this lane
    closing: Array | bool  # whether this is the last gradient step of an environment step


class Insight(NamedTuple):
    """What diagnostics ask of an algorithm. Its `value` estimates the discounted sum of `reward` that `follow` earns,
    bonuses included; the bonus of the action that is judged itself does not count. The discount is the config's
    `gamma`.

    A member is a number below `size`, which single policies ignore. The noise is that of `draw_act`.
    """

    # cfg, weights, member, obs, noise -> the exploring action; and the action that Q is about, with its bonus
    explore: Callable[[Any, Any, Array, Array, PyTree], Array]
    follow: Callable[[Any, Any, Array, Array, PyTree], tuple[Array, Array]]
    reward: Callable[[Any, Any, Array, Array], Array]  # cfg, weights, reward, next obs -> the reward learnt from
    recognise: Callable[[Any, Any, Array, Array], Array] | None = None  # cfg, weights, obs, action -> log q(z | s, a)


class Algorithm(NamedTuple, Generic[C, S, N, W]):
    """An algorithm is a tuple of pure functions, each written for one lane and with the config first.

    The config's per-lane numbers arrive as arrays, its other settings as plain values. `weights` is the part of the
    state that acting and judging need; it is what a run saves.
    """

    Config: type[C]
    init: Callable[[C, Array, Spec], S]  # cfg, key, spec -> state
    draw: Callable[[C, Array, int, Spec], N]  # cfg, key, batch, spec -> noise: all randomness of an update
    update: Callable[[C, S, Batch, Clock, N], tuple[S, Metrics]]  # one gradient step
    weights: Callable[[C, S], W]
    draw_act: Callable[[C, Array, Spec], PyTree]  # cfg, key, spec -> noise: all randomness of an exploring action
    act: Callable[[C, PyTree, PyTree, Array, PyTree], Acted]  # cfg, actor, memo, obs, noise -> action, extras, memo
    policy: Callable[[C, W, PyTree, Array], Array]  # cfg, weights, memo, obs -> action without noise
    value: Callable[[C, W, Array, Array], Array]  # cfg, weights, obs, action -> Q, (batch,)

    metrics: Callable[[C, S, Batch], Metrics] = lambda cfg, state, batch: {}  # for train.csv, beside the losses
    # The memo with which an episode begins, such as the acting member; and the part of the weights that acting needs,
    # chosen by that memo. What `act` changes in the memo is for `act` alone.
    begin: Callable[[C, Array, Spec], PyTree] = lambda cfg, key, spec: ()  # cfg, key, spec
    actor: Callable[[C, W, PyTree], PyTree] = lambda cfg, weights, memo: weights
    unguided: Callable[[C, Array], Extras] = lambda cfg, key: {}  # the extras of a random warm-up action
    extras: Callable[[C], tuple[tuple[str, int], ...]] = lambda cfg: ()  # (name, width) of each
    size: Callable[[C], int] = lambda cfg: 0  # number of members; 0 for a single policy
    members: Callable[[C, W, Array], Array] | None = None  # cfg, weights, (member, obs) -> (member, action)
    insight: Callable[[C], Insight] | None = None  # without it, there are no diagnostics
    on: Callable[[str], C] | None = None  # the default config on another base learner, for --base
    # cfg, fresh state, weights -> the state that begins with these weights, for --from; without it, there is no --from
    adopt: Callable[[C, S, W], S] | None = None


AnyAlgorithm = Algorithm[Any, Any, Any, Any]
