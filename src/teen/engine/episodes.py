"""Evaluation episodes by compiled programs: a lane's are stepped together, and lanes do not wait for each other.

Simulators belong to threads of low priority, so that they use the cores that training leaves.
"""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from ..envs import CompiledEnvs, naming
from ..errors import EnvironmentFault, UserError, one_line
from ..spec import PyTree
from .chunk import inner, shaped, traced
from .worker import Worker, cores

PIECE = 50  # steps between two looks at whether an evaluation is still wanted
LONGEST_EPISODE = 100_000  # steps; an environment without a time limit would block training for ever

Policy = Callable[..., Array]  # config, weights, memos, obs -> actions, (episode, ...), of one lane


def lanes_at_once(lanes: int) -> int:
    """Return how many lanes are evaluated side by side. Some cores are left for what collects."""
    return min(lanes, max(1, cores() * 3 // 4))


def threads_of_a_lane(lanes: int) -> int:
    """Return how many threads step the copies of a lane: those that are evaluated side by side can use all cores."""
    return -(-cores() // lanes_at_once(lanes))


def waves(episodes: int, copies: int) -> Iterator[tuple[np.ndarray, int]]:
    """Yield which episodes are played together, and how many of them for the first time: shapes stay the same, so the
    last wave is filled up with episodes that have been played."""
    if episodes <= copies:
        yield np.arange(episodes), episodes
        return
    for first in range(0, episodes, copies):
        yield np.arange(first, first + copies) % episodes, min(copies, episodes - first)


def of_episodes(tree: PyTree, wave: np.ndarray) -> PyTree:
    """Return the part of some episodes, of leaves (lane, episode, ...)."""
    return jax.tree.map(lambda leaf: leaf[:, wave], tree)


class Abandoned(Exception):
    """An evaluation that nobody waits for any more."""


class Played(NamedTuple):
    """The episodes of a lane so far. A NaN among the actions ends them all; a NaN from a simulator is a fault."""

    obs: Any  # (copy, obs)
    running: Any  # (copy,) bool
    scores: Any  # (copy,) float64
    lengths: Any  # (copy,) int32
    steps: Any  # int32
    broken: Any  # bool: an action was not finite
    faulty: Any  # bool: an observation or reward was not finite


class CompiledEpisodes:
    """Plays one episode for each of many starts, as `evaluate.rollout` does. A lane whose episodes differ in length is
    stepped until the last has ended; what happens in finished copies does not count.

    More episodes than a lane has copies are played in waves. All copies of a lane are stepped together, also those that
    are not needed: ten for ten members would cost as much when three episodes are played."""

    def __init__(self, envs: CompiledEnvs, seeds: Sequence[int]):
        """`seeds` are those of the lanes."""
        self.envs, self.spec, self.seeds = envs, envs.spec, seeds
        self._host = jax.devices("cpu")[0]
        self._workers: list[Worker] = []
        self._compiled: dict[tuple[Policy, int], Any] = {}

    def rollout(
        self,
        policy: Policy,
        config: Any,
        weights: PyTree,
        memos: PyTree,
        starts: np.ndarray,
        lanes: Sequence[int],
        wanted: Callable[[], bool],
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return returns and lengths, (lane, episode) as `starts`: NaN where a lane is not among `lanes`, or an action
        was not finite. The leaves of `config` and `weights` are (lane, ...), those of `memos` (lane, episode, ...)."""
        if not self._workers:
            count = lanes_at_once(len(self.seeds))
            self._workers = [Worker(f"evaluation {i}", low_priority=True) for i in range(count)]
        config, weights, memos = jax.device_put((config, weights, memos), self._host)
        scores, lengths = np.full(starts.shape, np.nan), np.zeros(starts.shape, int)
        broken = set[int]()
        for wave, fresh in waves(starts.shape[1], self.envs.copies):
            given = config, weights, of_episodes(memos, wave)
            for lane, played in self._wave(policy, given, starts[:, wave], lanes, wanted):
                broken |= {lane} if played.broken else set()
                scores[lane, wave[:fresh]] = np.asarray(played.scores)[:fresh]
                lengths[lane, wave[:fresh]] = np.asarray(played.lengths)[:fresh]
        scores[list(broken)], lengths[list(broken)] = np.nan, 0
        return scores, lengths

    def _wave(
        self, policy: Policy, given: Any, starts: np.ndarray, lanes: Sequence[int], wanted: Callable[[], bool]
    ) -> Iterator[tuple[int, Played]]:
        """Play episodes that all have a copy of their own, and yield those of each lane."""

        def play(lane: int) -> Future[Played]:
            work = partial(self._play, policy, lane, starts[lane], given, wanted)
            return self._workers[lane % len(self._workers)].submit(work)

        for lane, future in [(lane, play(lane)) for lane in lanes]:
            yield lane, future.result()

    def close(self, timeout: float) -> None:
        for worker in self._workers:
            worker.close(timeout)

    def _play(self, policy: Policy, lane: int, starts: np.ndarray, given: Any, wanted: Callable[[], bool]) -> Played:
        """Play all episodes of a lane, in one of the threads."""
        episodes, copies = len(starts), self.envs.copies
        seeds = [*starts.tolist(), *(int(starts[-1]) + 1 + i for i in range(copies - episodes))]
        none = np.zeros(copies)
        with naming(self.envs, lambda _: (lane, self.seeds[lane]), "an evaluation's start"):
            started = self.envs.reset(lane, seeds)
        played = Played(started, np.arange(copies) < episodes, none, np.int32(none), np.int32(0), False, False)
        while played.running.any() and not played.broken:
            if not wanted():
                raise Abandoned
            if int(played.steps) >= LONGEST_EPISODE:
                raise UserError(
                    f"an evaluation episode of {self.envs.name} ran {LONGEST_EPISODE} steps without an end: "
                    "register the environment with max_episode_steps"
                )
            played = self._piece(policy, lane, episodes, given, played)
            if played.faulty:
                raise self._fault(lane, f"step {played.steps}", "returned a number that is not finite")
        return played

    def _piece(self, policy: Policy, lane: int, episodes: int, given: Any, played: Played) -> Played:
        args = (*given, played)
        with jax.enable_x64(True), jax.default_device(self._host):
            program = self._compiled.get((policy, lane))
            if program is None:
                jitted = jax.jit(self._program(policy, lane, episodes, *given))
                program = self._compiled[policy, lane] = jitted.lower(*args).compile()
            try:
                with self.envs.running([lane]):
                    after: Played = jax.tree.map(np.asarray, program(*args))
                    return after
            except Exception as error:  # XLA's, whatever it is
                raise self._fault(lane, f"step {played.steps} or later", one_line(error)) from error

    def _program(self, policy: Policy, lane: int, episodes: int, *given: PyTree) -> Callable[..., Played]:
        def of_lane(tree: PyTree) -> PyTree:
            return jax.tree.map(lambda leaf: leaf[lane], tree)

        spare = self.envs.copies - episodes
        obs = shaped((episodes, self.envs.spec.obs))
        with jax.enable_x64(False):
            act = traced(policy, *inner(given), obs)

        def run(config: Any, weights: PyTree, memos: PyTree, played: Played) -> Played:
            acting = of_lane(config), of_lane(weights), of_lane(memos)

            def go_on(state: tuple[Array, Played]) -> Array:
                _, now = state
                in_order = now.running.any() & ~now.broken & ~now.faulty
                return jnp.logical_and(in_order, now.steps < played.steps + PIECE)

            def body(state: tuple[Array, Played]) -> tuple[Array, Played]:
                handle, now = state
                action = jnp.pad(act(*acting, now.obs[:episodes]), ((0, spare), (0, 0)))
                broken = (now.running[:, None] & ~jnp.isfinite(action)).any()
                finite_action = jnp.where(jnp.isfinite(action), action, 0)
                (handle,), (stepped,) = self.envs.step([lane], (handle,), [finite_action])
                finite = jnp.isfinite(stepped.obs).all(1) & jnp.isfinite(stepped.reward)
                after = Played(
                    stepped.obs,
                    now.running & ~stepped.ended,
                    now.scores + jnp.where(now.running, stepped.reward, 0),
                    now.lengths + now.running.astype(jnp.int32),
                    now.steps + 1,
                    broken,
                    ~broken & (now.running & ~finite).any(),
                )
                return handle, after

            return lax.while_loop(go_on, body, (self.envs.handle(lane), played))[1]

        return run

    def _fault(self, lane: int, step: str, what: str) -> EnvironmentFault:
        where = f"lane {lane}, seed {self.seeds[lane]}, {step} of an evaluation"
        return EnvironmentFault(f"environment {self.envs.name} failed in {where}: {what}")
