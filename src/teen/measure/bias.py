"""Estimation bias: what the critics say of visited states, less the return that followed.

As Chen et al. 2021 (REDQ, §2.1) measure it, on states of the policy that the critics are about.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from ..settings import flat
from ..spec import AnyAlgorithm, PyTree
from .plays import following, mixing
from .rollouts import Scene, Trajectory, play
from .rows import in_chunks, insight_function

NEGLIGIBLE = 0.01  # share of a return that may lie beyond the end of an episode
SMALLEST = 10.0  # a return nearer to zero is no yardstick
PURPOSE = 0


class Bias(NamedTuple):
    """Mean and spread over the states of all episodes."""

    states: int
    value_mean: float
    return_mean: float
    raw_mean: float  # Q − G
    raw_std: float
    relative_mean: float  # (Q − G) / max(|G|, 10), state by state
    relative_std: float
    normalised_mean: float  # (Q − G) / |mean G|
    normalised_std: float


def measure(scene: Scene, episodes: int, reward_scale: float = 1.0, mixture: bool = False) -> list[Bias | None]:
    """Return the bias of each lane; None where no state has enough of an episode after it. An ensemble's episodes are
    one member's each, in turn; with `mixture` a member is drawn in every step."""
    who = np.zeros((len(scene.seeds), episodes), int)
    for lane in range(len(scene.seeds)):
        order = scene.generator(PURPOSE, lane).permutation(scene.size)
        who[lane] = np.resize(order, episodes)  # in turn
    played = play(scene, mixing if mixture else following, who, scene.starts(PURPOSE, episodes))
    return [of(scene.algo, *scene.lane(lane), lane_played, reward_scale) for lane, lane_played in enumerate(played)]


def of(
    algo: AnyAlgorithm, cfg: Any, weights: PyTree, episodes: list[Trajectory], reward_scale: float = 1.0
) -> Bias | None:
    """Return the bias of one lane's critics on these episodes."""
    gamma = float(flat(cfg)["gamma"])
    values, returns = [], []
    for t in episodes:
        kept = countable(len(t.reward), t.terminated, gamma)
        if kept:
            scaled = np.asarray(t.reward * reward_scale, np.float32)
            reward = in_chunks(insight_function(algo, "reward"), cfg, weights, scaled, t.next_obs)
            returns.append(discounted(reward, t.bonus, gamma)[:kept])
            values.append(in_chunks(algo.value, cfg, weights, t.obs[:kept], t.action[:kept]))
    return summary(np.concatenate(values), np.concatenate(returns)) if values else None


def discounted(reward: np.ndarray, bonus: np.ndarray, gamma: float) -> np.ndarray:
    """Return G_t = r_t + γ (b_{t+1} + G_{t+1}): what Q(s_t, a_t) estimates. The bonus of a_t itself is not part of it,
    as it is not part of a soft Q (Haarnoja et al. 2018, Eqs. 2 and 3)."""
    returns = np.empty(len(reward))
    later = 0.0
    for t in range(len(reward) - 1, -1, -1):
        returns[t] = reward[t] + gamma * later
        later = bonus[t] + returns[t]
    return returns


def horizon(gamma: float) -> float:
    """Return the steps after which the rest is negligible: γ^horizon ≤ 0.01."""
    if gamma >= 1:
        return math.inf
    return 1 if gamma <= NEGLIGIBLE else math.ceil(math.log(NEGLIGIBLE) / math.log(gamma))


def countable(length: int, terminated: bool, gamma: float) -> int:
    """Return how many of an episode's states, from the first on, have their whole return in it: all where the task
    ended; where only the clock ran out, those with a horizon of steps to go."""
    return length if terminated else int(max(length + 1 - horizon(gamma), 0))


def summary(values: np.ndarray, returns: np.ndarray) -> Bias:
    raw = values - returns
    relative = raw / np.maximum(np.abs(returns), SMALLEST)
    normalised = raw / max(abs(returns.mean()), 1e-12)
    pairs = [float(number) for kind in (raw, relative, normalised) for number in (kind.mean(), kind.std())]
    return Bias(len(raw), float(values.mean()), float(returns.mean()), *pairs)
