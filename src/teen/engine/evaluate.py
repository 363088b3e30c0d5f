"""Evaluation: episodes without noise of the headline policy, and of each member by itself."""

import math
from collections.abc import Callable, Sequence
from functools import cache, partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, random, vmap

from ..envs import Envs, naming
from ..envs import step as take_step
from ..errors import UserError
from ..spec import AnyAlgorithm, PyTree, Spec
from .episodes import LONGEST_EPISODE, Abandoned, CompiledEpisodes, Policy

HEADLINE = "mean"


class Episode(NamedTuple):
    """One row of eval.csv."""

    seed: int
    step: int
    policy: str  # HEADLINE, or a member's number
    episode: int
    score: float  # the episode's return
    length: int


@np.errstate(over="ignore", invalid="ignore")  # returns may be as large as they like
def headline_mean(episodes: Sequence[Episode]) -> float:
    """Return the mean return of the headline policy."""
    return float(np.mean([e.score for e in episodes if e.policy == HEADLINE]))


def rollout(
    envs: Envs,
    policy: Callable[[np.ndarray], np.ndarray],
    lane_seeds: Sequence[int],
    starts: np.ndarray,
    lanes_asked: Sequence[int] | None = None,
    wanted: Callable[[], bool] = lambda: True,
) -> tuple[np.ndarray, np.ndarray]:
    """Play one episode per entry of `starts`, (lane, episode) start seeds, all stepped together: returns, lengths. A
    lane that was not asked for, or whose policy gives an action that is not finite, gets returns of NaN.

    `policy` maps (lane, episode, obs) to (lane, episode, action). Rows that have finished keep their last
    observation, so that shapes stay the same. Each lane has a block of copies to itself, so that what it draws from
    their random streams does not depend on its neighbours.
    """
    lanes, episodes = starts.shape
    block = len(envs) // lanes
    copies = (np.arange(lanes)[:, None] * block + np.arange(episodes)[None]).ravel()

    def who(copy: int) -> tuple[int, int]:
        return copy // block, lane_seeds[copy // block]

    lane_of = np.repeat(np.arange(lanes), episodes)
    running = np.flatnonzero(np.isin(lane_of, np.arange(lanes) if lanes_asked is None else lanes_asked))
    obs = np.zeros((copies.size, envs.spec.obs), np.float32)
    with naming(envs, who, "an evaluation's start"):
        obs[running] = envs.reset(copies[running].tolist(), starts.ravel()[running].tolist())
    scores, lengths = np.full(copies.size, np.nan), np.zeros(copies.size, int)
    scores[running] = 0
    for step in range(1, LONGEST_EPISODE + 1):
        if not wanted():
            raise Abandoned
        actions = policy(obs.reshape(lanes, episodes, -1)).reshape(copies.size, -1)
        if not np.isfinite(actions[running]).all():
            broken = np.isin(lane_of, lane_of[running][~np.isfinite(actions[running]).all(1)])
            scores[broken] = np.nan
            running = running[~broken[running]]
            if not running.size:
                break
        with naming(envs, who, f"step {step} of an evaluation"):
            next_obs, reward, terminated, truncated = take_step(envs, copies[running].tolist(), actions[running])
        obs[running] = next_obs
        scores[running] += reward
        lengths[running] += 1
        running = running[~(terminated | truncated)]
        if not running.size:
            break
    else:
        raise UserError(
            f"an evaluation episode of {envs.name} ran {LONGEST_EPISODE} steps without an end: "
            "register the environment with max_episode_steps"
        )
    return scores.reshape(starts.shape), lengths.reshape(starts.shape)


class Policies(NamedTuple):
    """What one lane can play: config, weights, memos (episode, ...), obs (episode, obs) -> (episode, action)."""

    headline: Policy
    members: Policy | None  # its memos are numbers of members, (episode,)


@cache
def _policies(algo: AnyAlgorithm) -> Policies:
    each = algo.members

    def some(cfg: Any, weights: PyTree, numbers: Array, obs: Array) -> Array:
        """Act for some members. All are asked, in their own order: that is what the algorithm offers."""
        assert each
        all_obs = jnp.zeros((algo.size(cfg), obs.shape[-1]), obs.dtype).at[numbers].set(obs)
        return each(cfg, weights, all_obs)[numbers]

    return Policies(vmap(algo.policy, (None, None, 0, 0)), some if each else None)


@cache
def _over_lanes(policy: Policy) -> Policy:
    return jax.jit(vmap(policy))


@cache
def _begin(algo: AnyAlgorithm, spec: Spec) -> Callable[..., PyTree]:
    """Return what begins episodes: config and starts, (lane, episode), -> memos."""
    return jax.jit(vmap(vmap(lambda cfg, seed: algo.begin(cfg, random.key(seed), spec), (None, 0))))


def episode_seeds(seeds: Sequence[int], step: int, policies: Sequence[int], episodes: int) -> np.ndarray:
    """Return (lane, policy × episode) start seeds that depend on nothing but these numbers."""
    rows = [
        [np.random.SeedSequence([seed, step, p, e]).generate_state(1)[0] for p in policies for e in range(episodes)]
        for seed in seeds
    ]
    return np.array(rows, np.uint32) >> 1  # some simulators take 31-bit seeds only


def evaluate(
    algo: AnyAlgorithm,
    config: Any,
    weights: PyTree,
    envs: Envs | CompiledEpisodes,
    seeds: Sequence[int],
    step: int,
    episodes: int,
    members: bool,
    lanes: Sequence[int] | None = None,
    wanted: Callable[[], bool] = lambda: True,
) -> list[list[Episode]]:
    """Return each lane's rows: `episodes` of its headline policy, and one of each member where `members` asks for it.

    The leaves of `config` and `weights` are (lane, ...). A lane that is not among `lanes`, or whose policies give
    actions that are not finite, has no rows. Raises Abandoned once it is not `wanted` any more.
    """

    def play(policy: Policy, memos: PyTree, starts: np.ndarray, lanes: Sequence[int]) -> list[list[tuple[float, int]]]:
        """Return each lane's returns and lengths, of the episodes that count."""
        if isinstance(envs, CompiledEpisodes):
            played = envs.rollout(policy, config, weights, memos, starts, lanes, wanted)
        else:
            act = partial(_over_lanes(policy), config, weights, memos)
            played = rollout(envs, lambda obs: np.asarray(act(obs)), seeds, starts, lanes, wanted)
        return [
            [(float(s), int(n)) for s, n in zip(*lane, strict=True) if not math.isnan(s)]
            for lane in zip(*played, strict=True)
        ]

    headline, each_member = _policies(algo)
    starts = episode_seeds(seeds, step, [0], episodes)
    played = play(
        headline, _begin(algo, envs.spec)(config, starts), starts, range(len(seeds)) if lanes is None else lanes
    )
    rows = [
        [Episode(seed, step, HEADLINE, e, *result) for e, result in enumerate(lane)]
        for seed, lane in zip(seeds, played, strict=True)
    ]
    if members and each_member and algo.size(config):
        starts = episode_seeds(seeds, step, range(1, algo.size(config) + 1), 1)
        numbers = np.broadcast_to(np.arange(algo.size(config), dtype=np.int32), starts.shape)
        finite = [lane for lane, episodes_of in enumerate(rows) if episodes_of]
        for lane_rows, seed, lane in zip(rows, seeds, play(each_member, numbers, starts, finite), strict=True):
            lane_rows += [Episode(seed, step, str(k), 0, *result) for k, result in enumerate(lane)]
    return rows


def copies_needed(algo: AnyAlgorithm, config: Any, lanes: int, episodes: int) -> int:
    """Return how many environments an evaluation in Python steps side by side: it plays all members at once."""
    return lanes * max(episodes, algo.size(config))
