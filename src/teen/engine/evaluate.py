"""Rollouts without noise: the headline policy, and each member by itself."""

import math
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from functools import cache
from typing import NamedTuple

import jax
import numpy as np
from jax import Array, random, vmap

from ..disk.diagnostics import Tables
from ..envs import Envs, naming
from ..envs import step as take_step
from ..errors import EnvironmentFault, UserError
from ..snapshot import Record, filled, joined, on_host
from ..spec import Algorithm, PyTree

HEADLINE = "mean"
LONGEST_EPISODE = 100_000  # steps; an environment without a time limit would hold up training for ever


class Abandoned(Exception):
    """An evaluation that nobody waits for any more."""


class Episode(NamedTuple):
    """One row of eval.csv."""

    seed: int
    step: int
    policy: str  # HEADLINE, or a member's number
    episode: int
    score: float  # the episode's return
    length: int


def rollout(
    envs: Envs,
    policy: Callable[[np.ndarray], np.ndarray],
    lane_seeds: Sequence[int],
    starts: np.ndarray,
    lanes_asked: Sequence[int] | None = None,
    wanted: Callable[[], bool] = lambda: True,
) -> tuple[np.ndarray, np.ndarray]:
    """One episode per entry of `starts`, (lane, episode) start seeds, all stepped together: returns, lengths. A lane
    that was not asked for, or whose policy gives an action that is not finite, gets returns of NaN.

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
    lanes: Sequence[int] | None = None,
    wanted: Callable[[], bool] = lambda: True,
) -> list[list[Episode]]:
    """Per lane: `episodes` of its headline policy, and one of each member where asked for; of all lanes or only of
    some. A lane whose policies give actions that are not finite has no episodes. Abandoned once it is not `wanted`."""
    headline, each_member, begin = _programs(algo)
    starts = episode_seeds(seeds, step, [0], episodes)
    memos = begin(starts)
    scores, lengths = rollout(envs, lambda obs: np.asarray(headline(agents, memos, obs)), seeds, starts, lanes, wanted)
    rows = [
        [Episode(seed, step, HEADLINE, e, float(s), int(n)) for e, (s, n) in enumerate(lane) if not math.isnan(s)]
        for seed, lane in zip(seeds, np.stack([scores, lengths], -1), strict=True)
    ]
    if members and algo.members:
        starts = episode_seeds(seeds, step, range(1, algo.size + 1), 1)
        finite = [lane for lane, own in enumerate(rows) if own]
        scores, lengths = rollout(envs, lambda obs: np.asarray(each_member(agents, obs)), seeds, starts, finite, wanted)
        for own, seed, lane in zip(rows, seeds, np.stack([scores, lengths], -1), strict=True):
            own += [
                Episode(seed, step, str(k), 0, float(s), int(n)) for k, (s, n) in enumerate(lane) if not math.isnan(s)
            ]
    return rows


def copies_needed(algo: Algorithm, lanes: int, episodes: int) -> int:
    """How many environments an evaluation steps side by side."""
    return lanes * max(episodes, algo.size if algo.members else 1)


class Due(NamedTuple):
    """An evaluation that was asked for, a diagnosis, or both."""

    step: int
    agents: Future[PyTree]
    evaluate: bool
    members: bool
    diagnose: bool
    lanes: list[int]


class Findings(NamedTuple):
    """What came of it, per lane; None where it was not asked for."""

    episodes: list[list[Episode]] | None
    diagnoses: list[Tables] | None


class Diagnosis(NamedTuple):
    """What else is measured on snapshots, in environments of its own."""

    envs: Envs
    measure: Callable[..., list[Tables]]  # agents, envs, seeds, step; lanes=, wanted= -> per lane


class Evaluations:
    """Evaluates snapshots of the agents in a thread of its own while training goes on, one at a time and in order.

    Nothing in an evaluation depends on when it runs. Its environments spend their time outside Python's lock, so
    that it takes spare cores where there are any.
    """

    def __init__(
        self,
        algo: Algorithm,
        envs: Envs,
        seeds: Sequence[int],
        episodes: int,
        timeout: float,
        diagnosis: Diagnosis | None = None,
    ):
        self.algo, self.envs, self.seeds, self.episodes, self.timeout = algo, envs, seeds, episodes, timeout
        self.diagnosis = diagnosis
        self._due: deque[Due] = deque()  # the first of them is under way
        self._under_way: _UnderWay | None = None
        self._closed = False

    def begin(self, due: Due) -> None:
        """At once, or after those that are due already."""
        self._due.append(due)
        self._proceed()

    def finished(self, patient: Callable[[], bool] = lambda: False) -> Iterator[tuple[Due, Findings]]:
        """The evaluations that have ended since the last call; the others too, as long as `patient` says to wait."""
        while self._under_way:
            while self._under_way.is_alive():
                self._check_hanging()
                if not patient():
                    return
                self._under_way.join(0.2)
            done, due, self._under_way = self._under_way, self._due.popleft(), None
            findings = done.result()
            self._proceed()
            yield due, findings

    def record(self) -> Record:
        """Those that are due, one under way among them: it will begin again, and give the same."""
        return joined(
            {
                str(i): Record(
                    on_host(due.agents.result()),
                    {
                        "step": due.step,
                        "evaluate": due.evaluate,
                        "members": due.members,
                        "diagnose": due.diagnose,
                        "lanes": due.lanes,
                    },
                )
                for i, due in enumerate(self._due)
            }
        )

    def recall(self, record: Record, agents: PyTree) -> None:
        """`agents` has the form of those that were saved."""
        for i in range(len(record.facts)):
            own = record.part(str(i))
            remembered: Future[PyTree] = Future()
            remembered.set_result(filled(agents, own.arrays))
            step, lanes = int(own.facts["step"]), [int(lane) for lane in own.facts["lanes"]]
            if step < 0 or not lanes or not set(lanes) <= set(range(len(self.seeds))):
                raise ValueError(f"there is no evaluation of lanes {lanes} at step {step}")
            asked = {name: bool(own.facts[name]) for name in ("evaluate", "members", "diagnose")}
            self.begin(Due(step=step, agents=remembered, lanes=lanes, **asked))

    def close(self) -> None:
        """Abandons what is under way, at its next step."""
        self._closed = True
        if self._under_way:
            self._under_way.join(self.timeout)

    def _proceed(self) -> None:
        if self._under_way or not self._due:
            return
        due = self._due[0]

        def wanted() -> bool:
            return not self._closed

        def work() -> Findings:
            here = jax.device_put(due.agents.result(), jax.devices("cpu")[0])
            episodes, diagnoses = None, None
            if due.evaluate:
                asked = due.step, self.episodes, due.members, due.lanes
                episodes = evaluate(self.algo, here, self.envs, self.seeds, *asked, wanted=wanted)
            if due.diagnose and self.diagnosis:
                own, measure = self.diagnosis
                diagnoses = measure(here, own, self.seeds, due.step, lanes=due.lanes, wanted=wanted)
            return Findings(episodes, diagnoses)

        self._under_way = _UnderWay(due.step, work)

    def _check_hanging(self) -> None:
        for envs in (self.envs, self.diagnosis.envs) if self.diagnosis else (self.envs,):
            busy = envs.busy()
            if busy is None or time.monotonic() - busy[1] <= self.timeout:
                continue
            copy, _ = busy
            lane = "unknown" if copy is None else copy * len(self.seeds) // len(envs)
            seed = "unknown" if copy is None else self.seeds[int(lane)]
            self._under_way = None  # its thread is left behind: there is no way to end it
            self._due.clear()
            raise EnvironmentFault(
                f"environment {envs.name} failed in lane {lane}, seed {seed}, in an evaluation: "
                f"did not return within {self.timeout:g} s (--env-timeout)"
            )


class _UnderWay(threading.Thread):
    def __init__(self, step: int, work: Callable[[], Findings]):
        super().__init__(daemon=True, name=f"evaluation at step {step}")
        self.step, self._work = step, work
        self._found: Findings | None = None
        self._error: BaseException | None = None
        self.start()

    def run(self) -> None:
        try:
            self._found = self._work()
        except BaseException as error:  # handed to the thread that asks for the result
            self._error = error

    def result(self) -> Findings:
        if self._error:
            raise self._error
        assert self._found is not None
        return self._found
