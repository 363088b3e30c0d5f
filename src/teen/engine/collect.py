"""The host's half of the loop: acts in the environments, a chunk of steps at a time, and packs the transitions."""

import math
from collections.abc import Sequence
from concurrent.futures import Future
from typing import Any

import jax
import numpy as np

from ..envs import Lanes
from ..snapshot import Snapshot, filled, joined
from ..spec import AnyAlgorithm, PyTree
from . import acting
from .acting import arrays
from .program import Program
from .trainer import Trainer

DRAWN_AHEAD = 100  # steps of acting noise drawn at once: many small draws would cost more than acting itself
ASKED_AHEAD = 3  # steps before a chunk ends at which the next weights are asked for, so that nobody waits for them


class Collector:
    """All lanes, in crews that take turns: while the environments of one step, the host acts for the other."""

    def __init__(self, algo: AnyAlgorithm, trainer: Trainer, lanes: Sequence[Lanes], chunk: int):
        self.width, self.chunk = trainer.layout.width + 1, chunk
        self.crews = [Crew(algo, trainer, crew) for crew in lanes]

    @property
    def episodes(self) -> np.ndarray:
        """Finished episodes so far, (lane,)."""
        return np.concatenate([crew.lanes.episodes for crew in self.crews])

    def collect(self, step: int, guided: bool) -> np.ndarray:
        """Return a chunk of transitions from `step` on, packed: (step, lane, width + 1). The last column counts
        episodes."""
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

    def snapshot(self) -> Snapshot:
        """Return what acting goes on from, at the end of a chunk."""
        return joined({str(i): crew.snapshot() for i, crew in enumerate(self.crews)})

    def restore(self, snapshot: Snapshot) -> list[str]:
        """Return a line for every lane whose episode had to begin again."""
        if len(snapshot.facts) != len(self.crews):
            raise ValueError(f"there should be {len(self.crews)} crews of environments, not {len(snapshot.facts)}")
        return [line for i, crew in enumerate(self.crews) for line in crew.restore(snapshot.part(str(i)))]


class Crew:
    """Some lanes, and what acting in them needs."""

    def __init__(self, algo: AnyAlgorithm, trainer: Trainer, lanes: Lanes):
        self.trainer, self.program, self.layout = trainer, trainer.program, trainer.layout
        self.lanes = lanes
        self.span = slice(lanes.first, lanes.first + len(lanes.seeds))
        part = jax.tree.map(lambda leaf: leaf[self.span], (trainer.config, trainer.streams.act, trainer.streams.member))
        self._config, act_keys, self._member_keys = jax.device_put(part, jax.devices("cpu")[0])
        self._noise = NoiseAhead(self.program, self._config, act_keys)

        self._memo, self._next_memo = self._begun(0), self._begun(1)
        self._spent = np.zeros(len(lanes.seeds), bool)  # lanes that act with slot 1 already: an episode has ended
        self._ended = np.zeros(len(lanes.seeds), int)  # episodes that ended since weights were asked for
        self.silent = np.zeros(len(lanes.seeds), bool)  # lanes that no longer act
        self._requested: Future[Any] | None = None
        self._outdated = False  # whether members have changed whose weights were not asked for
        train, memos, example = trainer.train_state(), self._memos(), self._noise.example()
        self._acting = acting.choose(self.program, algo, self._config, lanes.first, train, memos, lanes.obs, example)
        self._acting.use(self._acting.ask(train, memos))

    def send(self, step: int, guided: bool) -> None:
        """Act, and let the environments begin to step."""
        if guided and self._outdated:
            self.request()
            self.renew()
        obs, noise = self.lanes.obs, self._noise.at(step, guided)
        action, extras = self._acting.act(self._memo, obs, noise) if guided else noise
        if guided and not math.isfinite(action.sum()):
            self.silent |= ~np.isfinite(action).all(1)
        if self.silent.any():
            action = np.where(self.silent[:, None], np.float32(0), action)
        self._sent = obs, action, extras, guided
        self.lanes.send(action)

    def receive(self, row: np.ndarray) -> None:
        """Wait for the environments, and fill this crew's part of (lane, width + 1)."""
        obs, action, extras, guided = self._sent
        outcome = self.lanes.receive()
        part = row[self.span]
        self.layout.pack(part, obs, action, outcome.reward, outcome.terminated, outcome.next_obs, extras)
        if outcome.finished:
            self._begin(outcome.terminated | outcome.truncated, guided)
        part[:, -1] = self.lanes.episodes

    def request(self) -> None:
        memos = self._memos()
        self._requested = self.trainer.ask(lambda train: self._acting.ask(train, memos))
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

    def snapshot(self) -> Snapshot:
        assert self._requested is None  # at the end of a chunk all that was asked for has come
        parts = {
            "crew": Snapshot(self._masks(), {"outdated": self._outdated}),
            "acting": self._acting.snapshot(),
            "lanes": self.lanes.snapshot(),
        }
        return joined(parts)

    def restore(self, snapshot: Snapshot) -> list[str]:
        masks = filled(self._masks(), snapshot.part("crew").arrays)
        self._spent, self._ended, self.silent = masks["spent"], masks["ended"], masks["silent"]
        restarted = self.lanes.restore(snapshot.part("lanes"))
        taken_over = self._acting.restore(snapshot.part("acting"))
        self._outdated = bool(snapshot.facts["crew"]["outdated"]) or not taken_over or bool(restarted)
        self._memo, self._next_memo = self._begun(0), self._begun(1)
        return restarted

    def _masks(self) -> dict[str, np.ndarray]:
        return {"spent": self._spent, "ended": self._ended, "silent": self.silent}

    def _begin(self, finished: np.ndarray, guided: bool) -> None:
        """Begin new episodes, each with the member that was drawn for it."""
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
        asked = self.trainer.ask(lambda train: self._acting.ask(train, memos))
        self._acting.use_in(lanes, asked.result())

    def _begun(self, ahead: int) -> PyTree:
        """Return the memo of each lane's episode, of this one or of one ahead: leaves (lane, ...)."""
        return arrays(self.program.begin(self._config, self._member_keys, self.lanes.episodes + ahead))

    def _memos(self) -> PyTree:
        """Return the memos of both slots: leaves (slot, lane, ...)."""
        return jax.tree.map(lambda now, after: np.stack([now, after]), self._memo, self._next_memo)


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
