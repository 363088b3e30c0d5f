"""The host's half of the loop: acts in the environments, a chunk of steps at a time, and packs the transitions."""

import math
from collections.abc import Sequence
from concurrent.futures import Future
from typing import Any

import jax
import numpy as np

from ..envs import Envs, Lanes
from ..snapshot import Snapshot, filled, joined, on_host
from ..spec import AnyAlgorithm, PyTree
from . import acting
from .acting import arrays
from .program import Program
from .slots import Slots
from .trainer import Trainer

DRAWN_AHEAD = 100  # steps of acting noise drawn at once: many small draws would cost more than acting itself


class Collector:
    """All lanes, in crews that take turns: while the environments of one step, the host acts for the other."""

    def __init__(self, algo: AnyAlgorithm, trainer: Trainer, lanes: Sequence[Lanes], chunk: int):
        self.width, self.chunk = trainer.layout.packed, chunk
        self.crews = [Crew(algo, trainer, crew) for crew in lanes]

    @property
    def episodes(self) -> np.ndarray:
        """Finished episodes so far, (lane,)."""
        return np.concatenate([crew.lanes.episodes for crew in self.crews])

    def collect(self, step: int, guided: bool, then: bool | None = None) -> np.ndarray:
        """Return a chunk of transitions from `step` on, packed: (step, lane, layout.packed). `then` says whether
        the chunk after it is guided, for collectors that begin it early."""
        packed = np.empty((self.chunk, self.episodes.size, self.width), np.float32)
        for crew in self.crews if guided else ():
            crew.prepare()
            if self.chunk > 1:  # as they are before this chunk is learnt, for the next one
                crew.request()
        for i in range(self.chunk):
            for crew in self.crews:
                if i > 0:
                    crew.receive(packed[i - 1])
                crew.send(step + i, guided)
        for crew in self.crews:
            crew.receive(packed[-1])
        return packed

    def request(self) -> None:
        """Ask the learner for acting weights as they are now, without waiting for them."""
        for crew in self.crews:
            crew.request()

    def renew(self) -> None:
        """Act with the weights that were asked for, if any were."""
        for crew in self.crews:
            crew.renew()

    @property
    def silent(self) -> np.ndarray:
        """Lanes whose actions were not finite, or that were silenced, (lane,): they get zero actions."""
        return np.concatenate([crew.silent for crew in self.crews])

    def silence(self, lane: int) -> None:
        for crew in self.crews:
            if crew.span.start <= lane < crew.span.stop:
                crew.silent[lane - crew.span.start] = True

    def close(self) -> None:
        """Nothing is left to end."""

    def snapshot(self) -> Snapshot:
        """Return what acting goes on from, at the end of a chunk."""
        return joined({str(i): crew.snapshot() for i, crew in enumerate(self.crews)})

    def restore(self, snapshot: Snapshot) -> dict[int, str]:
        """Return a line for every lane whose episode had to begin again, by its number."""
        if not isinstance(snapshot.facts, dict):
            raise ValueError("it was made with --collector compiled")
        if len(snapshot.facts) != len(self.crews):
            raise ValueError(f"there should be {len(self.crews)} crews of environments, not {len(snapshot.facts)}")
        restarted = dict[int, str]()
        for i, crew in enumerate(self.crews):
            restarted |= crew.restore(snapshot.part(str(i)))
        return restarted


def in_crews(envs: Sequence[Envs], seeds: Sequence[int], reward_scale: float, steps: int) -> list[Lanes]:
    """Start episodes in all lanes, of which each of `envs` has some."""
    firsts = np.cumsum([0, *map(len, envs)]).tolist()
    return [
        Lanes(crew, seeds[first : first + len(crew)], reward_scale, first, steps)
        for crew, first in zip(envs, firsts, strict=False)
    ]


class Crew:
    """Some lanes, and what acting in them needs."""

    def __init__(self, algo: AnyAlgorithm, trainer: Trainer, lanes: Lanes):
        self.trainer, self.program, self.layout = trainer, trainer.program, trainer.layout
        self.lanes = lanes
        self._behind = self.layout.episodes, self.layout.own_reward  # the last columns of a row
        self.span = slice(lanes.first, lanes.first + len(lanes.seeds))
        part = jax.tree.map(lambda leaf: leaf[self.span], (trainer.config, trainer.streams.act, trainer.streams.member))
        self._config, act_keys, self._member_keys = jax.device_put(part, jax.devices("cpu")[0])
        self._noise = NoiseAhead(self.program, self._config, act_keys)

        self._slots = Slots(lanes.episodes)
        self._memo, self._fresh = self._begun(self._slots.numbers)
        self.silent = np.zeros(len(lanes.seeds), bool)  # lanes that no longer act
        self._requested: tuple[Future[Any], PyTree] | None = None  # weights, and the memos of the next episodes
        self._outdated = False  # whether episodes have begun whose members' weights were not asked for
        train, memos, example = trainer.train_state(), self._stacked(self._memo, self._fresh), self._noise.example()
        self._acting = acting.choose(self.program, algo, self._config, lanes.first, train, memos, lanes.obs, example)
        self._acting.use(self._acting.ask(train, memos))

    def prepare(self) -> None:
        """Wait for the weights of the members that act after the warm-up, or in episodes that had to begin again."""
        if self._outdated:
            self._slots.restart(self.lanes.episodes)
            self._memo, _ = self._begun(self._slots.numbers)
            self.request()
            self.renew()

    def send(self, step: int, guided: bool) -> None:
        """Act, and let the environments begin to step."""
        obs, noise = self.lanes.obs, self._noise.at(step, guided)
        if guided:
            action, extras, self._memo = self._acting.act(self._memo, obs, noise)
        else:
            action, extras = noise
        if guided and not math.isfinite(action.sum()):
            self.silent |= ~np.isfinite(action).all(1)
        if self.silent.any():
            action = np.where(self.silent[:, None], np.float32(0), action)
        self._sent = obs, action, extras, guided
        self.lanes.send(action)

    def receive(self, row: np.ndarray) -> None:
        """Wait for the environments, and fill this crew's part of (lane, layout.packed)."""
        obs, action, extras, guided = self._sent
        outcome = self.lanes.receive()
        part = row[self.span]
        ended = outcome.terminated | outcome.truncated
        self.layout.pack(part, obs, action, outcome.reward, outcome.terminated, ended, outcome.next_obs, extras)
        if outcome.finished:
            self._begin(ended, guided)
        episodes, own_reward = self._behind
        part[:, episodes], part[:, own_reward] = self.lanes.episodes, outcome.own_reward

    def request(self) -> None:
        slots = self._begun(self._slots.ask(self.lanes.episodes))
        memos = self._stacked(*slots)
        self._requested = self.trainer.ask(lambda train: self._acting.ask(train, memos)), slots[1]

    def renew(self) -> None:
        if self._requested is None:
            return
        asked, self._fresh = self._requested
        self._acting.use(asked.result())
        self._requested, self._outdated = None, False
        if (spent := self._slots.renew(self.lanes.episodes)).any():
            self._acting.promote(spent)

    def snapshot(self) -> Snapshot:
        assert self._requested is None  # at the end of a chunk all that was asked for has come
        crew = Snapshot({**self._slots.arrays(), "silent": self.silent}, {"outdated": self._outdated})
        memo = Snapshot(on_host({"memo": self._memo}), None)
        return joined({"crew": crew, "memo": memo, "acting": self._acting.snapshot(), "lanes": self.lanes.snapshot()})

    def restore(self, snapshot: Snapshot) -> dict[int, str]:
        crew = snapshot.part("crew")
        self.silent = filled({"silent": self.silent}, {"silent": crew.arrays.pop("silent")})["silent"]
        memo = filled({"memo": self._memo}, snapshot.part("memo").arrays)["memo"]
        restarted = self.lanes.restore(snapshot.part("lanes"))
        self._slots.restore(crew.arrays, self.lanes.episodes)
        taken_over = self._acting.restore(snapshot.part("acting"))
        self._outdated = bool(crew.facts["outdated"]) or not taken_over or bool(restarted)
        self._memo, (_, self._fresh) = memo, self._begun(self._slots.numbers)
        return restarted

    def _begin(self, ended: np.ndarray, guided: bool) -> None:
        """Begin new episodes, each with the member of the next slot."""
        if not jax.tree.leaves(self._memo):
            return
        if not guided:  # nobody acts during the warm-up: weights can wait for its end
            self._outdated = True
            return
        self._memo = jax.tree.map(lambda now, fresh: _where(ended, fresh, now), self._memo, self._fresh)
        if (changed := ended & ~self._slots.spent).any():
            self._acting.promote(changed)
            self._slots.spent |= changed

    def _begun(self, numbers: np.ndarray) -> tuple[PyTree, PyTree]:
        """Return the memos with which these episodes begin, (slot, lane): leaves (lane, ...) of each slot."""
        now, after = (arrays(self.program.begin(self._config, self._member_keys, row)) for row in numbers)
        return now, after

    def _stacked(self, now: PyTree, after: PyTree) -> PyTree:
        """Return the memos of both slots: leaves (slot, lane, ...)."""
        return jax.tree.map(lambda *slots: np.stack(slots), now, after)


def _where(lanes: np.ndarray, new: np.ndarray, old: np.ndarray) -> np.ndarray:
    return np.where(lanes.reshape(-1, *[1] * (old.ndim - 1)), new, old)


class NoiseAhead:
    """The noise of acting, or the random actions of the warm-up, drawn for many steps at once.

    What a step gets depends on the step alone, not on how many are drawn together.
    """

    def __init__(self, program: Program, config: Any, keys: Any):
        self.program, self.config, self.keys = program, config, keys
        self._drawn: list[Any] = []  # for each step from self._first on
        self._next: Any = None  # for the steps after these: leaves (step, lane, ...)
        self._first, self._guided = 0, False

    def at(self, step: int, guided: bool) -> Any:
        begins = not self._drawn or guided != self._guided
        if begins or step - self._first >= DRAWN_AHEAD:
            if begins:
                self._next = self._draw(step, guided)
            drawn = arrays(self._next)
            self._drawn = [jax.tree.map(lambda x: x[i], drawn) for i in range(DRAWN_AHEAD)]  # noqa: B023
            self._first, self._guided = step, guided
            # Asked for long before it is needed: on a CPU it queues behind what the learner is doing.
            self._next = self._draw(step + DRAWN_AHEAD, guided)
        return self._drawn[step - self._first]

    def example(self) -> Any:
        """Return some noise of acting, for its shapes."""
        return jax.tree.map(lambda x: x[0], arrays(self._draw(0, guided=True)))

    def _draw(self, first: int, guided: bool) -> Any:
        draw = self.program.draw_act if guided else self.program.random_actions
        return draw(self.config, self.keys, first + np.arange(DRAWN_AHEAD))
