"""The host's half of the loop: acts in the environments, a chunk of steps at a time, and packs what happened."""

import math
from collections.abc import Sequence
from concurrent.futures import Future
from typing import Any

import jax
import numpy as np

from ..envs import Lanes
from ..snapshot import Record, filled, joined
from ..spec import Algorithm, PyTree
from . import acting
from .acting import arrays
from .learner import Learning

DRAWN_AHEAD = 100  # steps of acting noise drawn at once: many small draws would cost more than acting itself
ASKED_AHEAD = 3  # steps before a chunk ends at which the next weights are asked for, so that nobody waits for them


class Collector:
    """All lanes, in crews that take turns: while the environments of one step, the host acts for the other."""

    def __init__(self, algo: Algorithm, learning: Learning, lanes: Sequence[Lanes], chunk: int):
        self.width, self.chunk = learning.layout.width + 1, chunk
        self.crews = [Crew(algo, learning, own) for own in lanes]

    @property
    def episodes(self) -> np.ndarray:
        """(lane,) finished so far."""
        return np.concatenate([crew.lanes.episodes for crew in self.crews])

    def collect(self, step: int, guided: bool) -> np.ndarray:
        """A chunk of transitions from `step` on, packed: (step, lane, width + 1). The last column counts episodes."""
        packed = np.empty((self.chunk, self.episodes.size, self.width), np.float32)
        asking = max(self.chunk - ASKED_AHEAD, 0) if guided and self.chunk > 1 else -1
        for i in range(self.chunk):
            for crew in self.crews:
                if i > 0:
                    crew.receive(packed[i - 1])
                if i == asking:
                    crew.request()
                crew.send(step + i, guided)
        for crew in self.crews:
            crew.receive(packed[-1])
        return packed

    def request(self) -> None:
        """Asks for acting weights from the learner as it is now, without waiting for it."""
        for crew in self.crews:
            crew.request()

    def renew(self) -> None:
        """Acts with the weights asked for, if any were."""
        for crew in self.crews:
            crew.renew()

    @property
    def silent(self) -> np.ndarray:
        """(lane,) whose actions were not finite, or who were silenced: they get zero actions."""
        return np.concatenate([crew.silent for crew in self.crews])

    def silence(self, lane: int) -> None:
        for crew in self.crews:
            if crew.span.start <= lane < crew.span.stop:
                crew.silent[lane - crew.span.start] = True

    def record(self) -> Record:
        """At the end of a chunk: what acting goes on from."""
        return joined({str(i): crew.record() for i, crew in enumerate(self.crews)})

    def recall(self, record: Record) -> list[str]:
        """A line for every lane whose episode had to begin again."""
        if len(record.facts) != len(self.crews):
            raise ValueError(f"there should be {len(self.crews)} crews of environments, not {len(record.facts)}")
        return [line for i, crew in enumerate(self.crews) for line in crew.recall(record.part(str(i)))]


class Crew:
    """Some lanes, and what acting in them needs."""

    def __init__(self, algo: Algorithm, learning: Learning, lanes: Lanes):
        self.learning, self.run, self.layout = learning, learning.run, learning.layout
        self.lanes = lanes
        self.span = slice(lanes.first, lanes.first + len(lanes.seeds))
        keys = learning.streams.act[self.span], learning.streams.member[self.span]
        self._act_keys, self._member_keys = jax.device_put(keys, jax.devices("cpu")[0])
        self._noise: list[Any] = []  # of each step from self._noise_from on
        self._noise_ahead: Any = None  # and after that: leaves (step, lane, ...)
        self._noise_from, self._noise_guided = 0, False

        self._memo, self._next_memo = self._begun(0), self._begun(1)
        self._spent = np.zeros(len(lanes.seeds), bool)  # whose weights of the next episode are used up
        self._ended = np.zeros(len(lanes.seeds), int)  # episodes since weights were asked for
        self.silent = np.zeros(len(lanes.seeds), bool)  # lanes that no longer act
        self._requested: Future[Any] | None = None
        self._outdated = False  # whether members have changed whose weights were not asked for
        noise = jax.tree.map(lambda x: x[0], arrays(self.run.draw_act(self._act_keys, np.arange(DRAWN_AHEAD))))
        state, memos = learning.learner().state, self._memos()
        self._acting = acting.choose(self.run, algo, lanes.first, state, memos, lanes.obs, noise)
        self._acting.use(self._acting.ask(state, memos))

    def send(self, step: int, guided: bool) -> None:
        """Acts, and lets the environments begin to step."""
        if guided and self._outdated:
            self.request()
            self.renew()
        obs, noise = self.lanes.obs, self._drawn(step, guided)
        action, extras = self._acting.act(self._memo, obs, noise) if guided else noise
        if guided and not math.isfinite(action.sum()):
            self.silent |= ~np.isfinite(action).all(1)
        if self.silent.any():
            action = np.where(self.silent[:, None], np.float32(0), action)
        self._sent = obs, action, extras
        self.lanes.send(action)

    def receive(self, row: np.ndarray) -> None:
        """Waits for them, and fills this crew's part of (lane, width + 1)."""
        obs, action, extras = self._sent
        outcome = self.lanes.receive()
        own = row[self.span]
        self.layout.pack(own, obs, action, outcome.reward, outcome.terminated, outcome.next_obs, extras)
        if outcome.finished:
            self._begin(outcome.terminated | outcome.truncated, self._noise_guided)
        own[:, -1] = self.lanes.episodes

    def request(self) -> None:
        memos = self._memos()
        self._requested = self.learning.ask(lambda learner: self._acting.ask(learner.state, memos))
        self._ended[:] = 0

    def renew(self) -> None:
        if self._requested is None:
            return
        self._acting.use(self._requested.result())
        self._requested, self._outdated = None, False
        self._spent = self._ended > 0  # episodes that have ended meanwhile
        if self._spent.any():
            self._acting.promote(self._spent)
        if (self._ended > 1).any():
            self._ask_for(self._ended > 1)

    def record(self) -> Record:
        assert self._requested is None  # at the end of a chunk all that was asked for has come
        own = {"spent": self._spent, "ended": self._ended, "silent": self.silent}
        parts = {
            "crew": Record(own, {"outdated": self._outdated}),
            "acting": self._acting.record(),
            "lanes": self.lanes.record(),
        }
        return joined(parts)

    def recall(self, record: Record) -> list[str]:
        own = filled({"spent": self._spent, "ended": self._ended, "silent": self.silent}, record.part("crew").arrays)
        self._spent, self._ended, self.silent = own["spent"], own["ended"], own["silent"]
        begun_again = self.lanes.recall(record.part("lanes"))
        taken_over = self._acting.recall(record.part("acting"))
        self._outdated = bool(record.facts["crew"]["outdated"]) or not taken_over or bool(begun_again)
        self._memo, self._next_memo = self._begun(0), self._begun(1)
        return begun_again

    def _begin(self, finished: np.ndarray, guided: bool) -> None:
        """New episodes, each with the member that was drawn for it."""
        self._memo, self._next_memo = self._begun(0), self._begun(1)
        if not jax.tree.leaves(self._memo):
            return
        if not guided:  # nobody acts during the warm-up: weights can wait for its end
            self._outdated = True
            return
        self._acting.promote(finished)
        if (again := finished & self._spent).any():  # a second end within a chunk: this has to wait for the learner
            self._ask_for(again)
        self._spent |= finished
        self._ended += finished

    def _ask_for(self, lanes: np.ndarray) -> None:
        memos = self._memos()
        asked = self.learning.ask(lambda learner: self._acting.ask(learner.state, memos))
        self._acting.use_in(lanes, asked.result())

    def _begun(self, ahead: int) -> PyTree:
        """What each lane's episode keeps, of this one or one ahead: leaves (lane, ...)."""
        return arrays(self.run.begin(self._member_keys, self.lanes.episodes + ahead))

    def _memos(self) -> PyTree:
        """Leaves (slot, lane, ...)."""
        return jax.tree.map(lambda now, after: np.stack([now, after]), self._memo, self._next_memo)

    def _drawn(self, step: int, guided: bool) -> Any:
        """One step's noise. It depends on the step alone, not on how many are drawn together."""
        if not self._noise or guided != self._noise_guided or step - self._noise_from >= DRAWN_AHEAD:
            draw = self.run.draw_act if guided else self.run.wander
            if not self._noise or guided != self._noise_guided:
                self._noise_ahead = draw(self._act_keys, step + np.arange(DRAWN_AHEAD))
            drawn = arrays(self._noise_ahead)
            self._noise = [jax.tree.map(lambda x: x[i], drawn) for i in range(DRAWN_AHEAD)]  # noqa: B023
            self._noise_from, self._noise_guided = step, guided
            # Asked for long before it is needed: on a CPU it queues behind what the learner is doing.
            self._noise_ahead = draw(self._act_keys, step + DRAWN_AHEAD + np.arange(DRAWN_AHEAD))
        return self._noise[step - self._noise_from]
