"""Rollouts without noise: the headline policy, and each member by itself."""

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from functools import cache
from typing import NamedTuple

import jax
import numpy as np
from jax import Array, random, vmap

from .envs import Envs, naming
from .envs import step as take_step
from .errors import EnvironmentFault, UserError
from .spec import Algorithm, PyTree

HEADLINE = "mean"
LONGEST_EPISODE = 100_000  # steps; an environment without a time limit would hold up training for ever


class Episode(NamedTuple):
    """One row of eval.csv."""

    seed: int
    step: int
    policy: str  # HEADLINE, or a member's number
    episode: int
    score: float  # the episode's return
    length: int


def rollout(
    envs: Envs, policy: Callable[[np.ndarray], np.ndarray], lane_seeds: Sequence[int], starts: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """One episode per entry of `starts`, (lane, episode) start seeds, all stepped together: returns, lengths.

    `policy` maps (lane, episode, obs) to (lane, episode, action). Rows that have finished keep their last
    observation, so that shapes stay the same. Each lane has a block of copies to itself, so that what it draws from
    their random streams does not depend on its neighbours.
    """
    lanes, episodes = starts.shape
    block = len(envs) // lanes
    copies = (np.arange(lanes)[:, None] * block + np.arange(episodes)[None]).ravel()

    def who(copy: int) -> tuple[int, int]:
        return copy // block, lane_seeds[copy // block]

    with naming(envs, who, "an evaluation's start"):
        obs = envs.reset(copies.tolist(), starts.ravel().tolist())
    scores, lengths = np.zeros(copies.size), np.zeros(copies.size, int)
    running = np.arange(copies.size)
    for step in range(1, LONGEST_EPISODE + 1):
        actions = policy(obs.reshape(lanes, episodes, -1)).reshape(copies.size, -1)
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


@cache
def _programs(algo: Algorithm) -> tuple[Callable[..., Array], Callable[..., Array], Callable[..., Array]]:
    episodes = vmap(algo.policy, (None, 0, 0))
    headline = jax.jit(vmap(episodes))  # agents, memos, (lane, episode, obs) -> (lane, episode, action)
    members = jax.jit(vmap(algo.members)) if algo.members else headline
    begin = jax.jit(vmap(vmap(lambda seed: algo.begin(random.key(seed)))))
    return headline, members, begin


def episode_seeds(seeds: Sequence[int], step: int, policies: Sequence[int], episodes: int) -> np.ndarray:
    """(lane, policy × episode) start seeds that depend on nothing but these numbers."""
    rows = [
        [np.random.SeedSequence([seed, step, p, e]).generate_state(1)[0] for p in policies for e in range(episodes)]
        for seed in seeds
    ]
    return np.array(rows, np.uint32) >> 1  # some simulators take 31-bit seeds only


def evaluate(
    algo: Algorithm,
    agents: PyTree,
    envs: Envs,
    seeds: Sequence[int],
    step: int,
    episodes: int,
    members: bool,
) -> list[list[Episode]]:
    """Per lane: `episodes` of every lane's headline policy, and one of each member where asked for."""
    headline, each_member, begin = _programs(algo)
    starts = episode_seeds(seeds, step, [0], episodes)
    memos = begin(starts)
    scores, lengths = rollout(envs, lambda obs: np.asarray(headline(agents, memos, obs)), seeds, starts)
    rows = [
        [Episode(seed, step, HEADLINE, e, float(score), int(length)) for e, (score, length) in enumerate(lane)]
        for seed, lane in zip(seeds, np.stack([scores, lengths], -1), strict=True)
    ]
    if members and algo.members:
        starts = episode_seeds(seeds, step, range(1, algo.size + 1), 1)
        scores, lengths = rollout(envs, lambda obs: np.asarray(each_member(agents, obs)), seeds, starts)
        for own, seed, lane in zip(rows, seeds, np.stack([scores, lengths], -1), strict=True):
            own += [Episode(seed, step, str(k), 0, float(s), int(n)) for k, (s, n) in enumerate(lane)]
    return rows


def copies_needed(algo: Algorithm, lanes: int, episodes: int) -> int:
    """How many environments an evaluation steps side by side."""
    return lanes * max(episodes, algo.size if algo.members else 1)


class Evaluations:
    """Evaluates snapshots of the agents in a thread of its own while training goes on, one at a time and in order.

    Nothing in an evaluation depends on when it runs. Its environments spend their time outside Python's lock, so
    that it takes spare cores where there are any.
    """

    def __init__(self, algo: Algorithm, envs: Envs, seeds: Sequence[int], episodes: int, timeout: float):
        self.algo, self.envs, self.seeds, self.episodes, self.timeout = algo, envs, seeds, episodes, timeout
        self._under_way: _UnderWay | None = None

    def begin(self, step: int, agents: Future[PyTree], members: bool) -> None:
        """The one before must have been taken."""
        assert self._under_way is None

        def work() -> list[list[Episode]]:
            here = jax.device_put(agents.result(), jax.devices("cpu")[0])
            return evaluate(self.algo, here, self.envs, self.seeds, step, self.episodes, members)

        self._under_way = _UnderWay(step, work)

    def finished(self, wait: bool = False) -> Iterator[tuple[int, list[list[Episode]]]]:
        """The evaluation that has ended since the last call, if one has; with `wait`, the one under way."""
        if self._under_way is None:
            return
        while self._under_way.is_alive():
            if not wait:
                self._check_hanging()
                return
            self._under_way.join(0.2)
            self._check_hanging()
        done, self._under_way = self._under_way, None
        yield done.step, done.result()

    def _check_hanging(self) -> None:
        busy = self.envs.busy()
        if busy and time.monotonic() - busy[1] > self.timeout:
            copy, _ = busy
            lane = "unknown" if copy is None else copy * len(self.seeds) // len(self.envs)
            seed = "unknown" if copy is None else self.seeds[int(lane)]
            self._under_way = None  # its thread is left behind: there is no way to end it
            raise EnvironmentFault(
                f"environment {self.envs.name} failed in lane {lane}, seed {seed}, in an evaluation: "
                f"did not return within {self.timeout:g} s (--env-timeout)"
            )


class _UnderWay(threading.Thread):
    def __init__(self, step: int, work: Callable[[], list[list[Episode]]]):
        super().__init__(daemon=True, name=f"evaluation at step {step}")
        self.step, self._work = step, work
        self._rows: list[list[Episode]] | None = None
        self._error: BaseException | None = None
        self.start()

    def run(self) -> None:
        try:
            self._rows = self._work()
        except BaseException as error:  # handed to the thread that asks for the result
            self._error = error

    def result(self) -> list[list[Episode]]:
        if self._error:
            raise self._error
        assert self._rows is not None
        return self._rows
