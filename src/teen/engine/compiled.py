"""Collection by compiled programs: a chunk of some lanes is one call (`chunk.py`), made in a thread of their own.

These lanes do not wait for others within a chunk, nor for the learner where its weights have come: while one chunk is
handed over, the next has begun. What Python does is done once a chunk and kept small: its threads share one lock.
"""

from collections.abc import Sequence
from concurrent.futures import Future
from typing import Any, NamedTuple

import jax
import numpy as np

from ..envs import CompiledEnvs
from ..envs.adapter import later_seed, naming
from ..errors import EnvironmentFault, one_line
from ..snapshot import Snapshot, filled
from ..spec import AnyAlgorithm, PyTree
from .acting import arrays
from .chunk import Acting, Carry, Group, Noise, inner, shaped, traced, unflattener
from .slots import Slots
from .trainer import Trainer
from .worker import Worker

RESTARTED = "EnvPool cannot save the state of its simulators"
PATIENCE = 10.0  # seconds that a chunk may take to end when the collector is closed
# Lanes of one program. Fewer wait less for each other, but every program needs Python's lock. HalfCheetah-v4, 10 lanes,
# 16 cores, simulators and acting alone: 355 µs a step as one program, 185 as two, 175 as three, 155 as ten.
TOGETHER = 5
DRAWN_AHEAD = 10  # chunks whose noise is drawn at once


class Order(NamedTuple):
    """A chunk that all lanes have been asked for."""

    step: int
    guided: bool
    groups: list[Future[tuple[np.ndarray, np.ndarray]]]  # (step, lane, layout.packed), and which lanes are silent


class CompiledCollector:
    """All lanes. The methods are those of `collect.Collector`."""

    def __init__(
        self,
        algo: AnyAlgorithm,
        trainer: Trainer,
        envs: CompiledEnvs,
        seeds: Sequence[int],
        reward_scale: float,
        chunk: int,
        steps: int = 0,
    ):
        """`steps` have been taken before, in a run that is resumed."""
        self.trainer, self.envs, self.seeds = trainer, envs, seeds
        self.program, self.layout, self.chunk = trainer.program, trainer.layout, chunk
        self._host = jax.devices("cpu")[0]
        self._keys_there = trainer.streams.member  # on the learner's device
        given = trainer.config, trainer.streams.act, trainer.streams.member
        self._config, self._keys, self._member_keys = jax.device_put(given, self._host)
        self._noise: tuple[int, bool, PyTree] | None = None  # first step, guided, drawn

        self.episodes = np.zeros(len(seeds), np.int64)
        self.silent = np.zeros(len(seeds), bool)
        self._slots = Slots(self.episodes)
        self._outdated = False
        self._requested: Future[Acting] | None = None
        self._ahead: Order | None = None
        parts = np.array_split(np.arange(len(seeds)), -(-len(seeds) // TOGETHER))
        self._groups = [part.tolist() for part in parts]
        starts = [later_seed(seed, steps) for seed in seeds] if steps else seeds
        obs = np.stack([self._started(lane, seed) for lane, seed in enumerate(starts)])
        memos = self._begun()
        carry = Carry(obs, memos, np.int32(self.episodes), self.silent)
        self._carries = [self._of(lanes, carry) for lanes in self._groups]
        self._programs = self._jitted(algo, memos, reward_scale)
        self._compiled: set[tuple[int, bool]] = set()
        # Last: nothing that may fail comes after the threads.
        self._fetcher = Worker("acting weights")
        self._workers = [Worker(f"lanes {lanes[0]} to {lanes[-1]}") for lanes in self._groups]
        self._acting = self._ask(self._slots.numbers)

    def collect(self, step: int, guided: bool, then: bool | None = None) -> np.ndarray:
        """Return a chunk of transitions from `step` on, packed: (step, lane, layout.packed). `then` says whether the
        chunk after it is guided; None if there will be none."""
        if guided and self._outdated:
            self._restart()
        order = self._ahead or self._order(step, guided, self._acting)
        assert (order.step, order.guided) == (step, guided)
        if guided and self.chunk > 1:  # as they are before this chunk is learnt, for the next one
            self.request()
        begin = then == guided and (self._requested or not guided)
        self._ahead = self._order(step + self.chunk, guided, self._requested or self._acting) if begin else None
        results = [group.result() for group in order.groups]
        packed = np.concatenate([rows for rows, _ in results], 1)
        self._check(packed, step)
        episodes = packed[-1, :, self.layout.episodes].astype(np.int64)
        ended = episodes > self.episodes
        if guided:
            self._slots.spent = self._slots.spent | ended
        elif ended.any() and jax.tree.leaves(self._carries[0].memo):
            self._outdated = True
        self.episodes, self.silent = episodes, self.silent | np.concatenate([silent for _, silent in results])
        return packed

    def request(self) -> None:
        self._requested = self._ask(self._slots.ask(self.episodes))

    def renew(self) -> None:
        if self._requested is not None:
            self._acting, self._requested, self._outdated = self._requested, None, False
            self._slots.renew(self.episodes)

    def silence(self, lane: int) -> None:
        """A chunk that has begun is not changed."""
        self.silent[lane] = True

    def snapshot(self) -> Snapshot:
        return Snapshot({"episodes": self.episodes, "silent": self.silent}, "compiled")

    def restore(self, snapshot: Snapshot) -> dict[int, str]:
        """Every episode begins again, from another start: `steps` has seen to it."""
        if snapshot.facts != "compiled":
            raise ValueError("it was made with --collector python")
        saved = filled({"episodes": self.episodes, "silent": self.silent}, snapshot.arrays)
        self.episodes, self.silent, self._outdated = saved["episodes"] + 1, saved["silent"].copy(), True
        self._change(episodes=np.int32(self.episodes))
        self._slots.restart(self.episodes)
        return {lane: f"lane {lane} begins a new episode: {RESTARTED}" for lane in range(len(self.seeds))}

    def close(self) -> None:
        """Wait for the chunk that has begun, which nobody will use."""
        for worker in (*self._workers, self._fetcher):
            worker.close(PATIENCE)

    def _restart(self) -> None:
        """Ask for the weights of the members that act after the warm-up, or after a resume."""
        self._slots.restart(self.episodes)
        self._change(memo=self._begun())
        self.request()
        self.renew()

    def _order(self, step: int, guided: bool, acting: Future[Acting]) -> Order:
        """Ask for a chunk of all lanes. Noise is drawn here: with x64 in force it would be another."""
        if self._noise is None or self._noise[1] != guided or step >= self._noise[0] + DRAWN_AHEAD * self.chunk:
            draw = self.program.draw_act if guided else self.program.random_actions
            drawn = draw(self._config, self._keys, step + np.arange(DRAWN_AHEAD * self.chunk))
            self._noise = step, guided, drawn
        first, _, drawn = self._noise
        noise = Noise(drawn, np.int32(step - first))

        def play(group: int) -> Future[tuple[np.ndarray, np.ndarray]]:
            return self._workers[group].submit(lambda: self._play(group, step, guided, acting, noise))

        return Order(step, guided, [play(group) for group in range(len(self._groups))])

    def _play(
        self, group: int, step: int, guided: bool, acting: Future[Acting], noise: Noise
    ) -> tuple[np.ndarray, np.ndarray]:
        """Collect a chunk of some lanes, in their thread."""
        program, lanes = self._programs[group][not guided], self._groups[group]
        args = (self._carries[group], acting.result(), noise) if guided else (self._carries[group], noise)
        with jax.enable_x64(True), jax.default_device(self._host):
            if (group, guided) not in self._compiled:  # before the simulators' clock starts
                program.lower(*args).compile()
                self._compiled.add((group, guided))
            try:
                with self.envs.running(lanes):
                    self._carries[group], packed = program(*args)
                    rows = np.asarray(packed)
            except Exception as error:  # XLA's, whatever it is
                raise self._fault(lanes, f"steps {step + 1} to {step + self.chunk}", one_line(error)) from error
            return rows, np.asarray(self._carries[group].silent)

    def _change(self, **parts: PyTree) -> None:
        """Replace parts of the carries: leaves (lane, ...) of all lanes."""
        for group, lanes in enumerate(self._groups):
            self._carries[group] = self._carries[group]._replace(**self._of(lanes, parts))

    def _of(self, lanes: list[int], tree: PyTree) -> Any:
        """Return the part of some lanes, placed where programs leave it: else they would be compiled again."""
        return jax.device_put(jax.tree.map(lambda leaf: leaf[np.array(lanes)], tree), self._host)

    def _check(self, packed: np.ndarray, step: int) -> None:
        """Raise EnvironmentFault if a simulator returned a number that is not finite. Nothing of the chunk is used."""
        obs, action = self.layout.spec
        parts = slice(obs), slice(obs + action, 2 * obs + action + 3), slice(self.layout.own_reward, None)
        seen = np.concatenate([packed[..., part] for part in parts], -1)
        bad = ~np.isfinite(seen).all(-1)  # (step, lane); what the algorithm computes is not the simulator's fault
        if bad.any():
            when, lane = (int(index[0]) for index in np.nonzero(bad))
            raise self._fault([lane], f"step {step + when + 1}", "returned a number that is not finite")

    def _started(self, lane: int, seed: int) -> np.ndarray:
        """Start the episodes of a lane: (obs,)."""
        with naming(self.envs, lambda _: (lane, self.seeds[lane]), "the start"):
            started = self.envs.reset(lane, [seed])
        return np.asarray(started[0])

    def _fault(self, lanes: list[int], steps: str, what: str) -> EnvironmentFault:
        first, last = lanes[0], lanes[-1]
        who = f"lane {first}, seed {self.seeds[first]}"
        if len(lanes) > 1:
            who = f"one of lanes {first} to {last}, seeds {self.seeds[first]} to {self.seeds[last]}"
        return EnvironmentFault(f"environment {self.envs.name} failed in {who}, {steps}: {what}")

    def _ask(self, numbers: np.ndarray) -> Future[Acting]:
        """Ask for what acts in these episodes, (slot, lane). A thread waits for the weights and copies them: neither
        the learner's nor those that collect have time for it."""
        keys, slots = self._keys_there, self._slots
        given = np.int32(slots.since), slots.locked.copy(), self.silent.copy()
        asked = self.trainer.ask(lambda train: self.program.acting(train, keys, numbers))

        def fetched() -> Acting:
            flat, memos = asked.result()
            fresh = jax.tree.map(lambda leaf: leaf[-1], arrays(memos))
            return Acting(*jax.device_put((np.asarray(flat), fresh, *given), self._host))

        return self._fetcher.submit(fetched)

    def _begun(self) -> PyTree:
        """Return the memos with which the running episodes begin, leaves (lane, ...)."""
        return arrays(self.program.begin(self._config, self._member_keys, self._slots.numbers[0]))

    def _jitted(self, algo: AnyAlgorithm, memos: PyTree, reward_scale: float) -> list[tuple[Any, Any]]:
        """Return the guided and the unguided program of each group. None is compiled before it is needed."""
        lanes, config = len(self.seeds), arrays(self._config)
        slots = jax.tree.map(lambda leaf: np.stack([leaf, leaf]), memos)
        actors = jax.eval_shape(lambda train: self.program.actor(train, 0, slots, lanes), self.trainer.train_state())
        noise = jax.eval_shape(self.program.draw_act, self._config, self._keys, np.arange(1))
        one_config, memo = inner((config, memos))
        actor, noise = inner((actors, noise), 2)
        obs = shaped((self.layout.spec.obs,))
        acted = traced(algo.act, one_config, actor, memo, obs, noise)

        def act(lane: int, *args: PyTree) -> Any:
            return acted(jax.tree.map(lambda leaf: leaf[lane], config), *args)

        parts = self.chunk, self.envs, self.layout, act, unflattener(actors), reward_scale
        groups = [Group(lanes, *parts) for lanes in self._groups]
        return [(jax.jit(group.guided), jax.jit(group.unguided)) for group in groups]
