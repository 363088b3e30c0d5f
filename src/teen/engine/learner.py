"""The learner's half of the loop: its state and replay, wherever they live."""

import os
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, Literal, TypeVar

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, random

from ..errors import UserError
from ..snapshot import Blocks, Record, filled, on_host
from ..spec import PyTree
from .program import Learner, Program, Streams
from .replay import HostReplay, Layout, Place, Rows

T = TypeVar("T")
BLOCK = 25_000  # rows of a lane that are copied at once for a checkpoint
QUEUED = 8  # pieces of work that may wait for the learner's thread
ROOM_LEFT = 0.2  # of the device's free memory, for networks and what an update needs in between


def place_replay(wanted: Literal["auto", "device", "host"], size: int, device: Any = None) -> tuple[Place, str]:
    """Where a replay of so many bytes goes, and the same in words. `device` is the learner's."""
    device = device or jnp.zeros(()).device
    stats = device.memory_stats() or {}  # a CPU has none: there the device's memory is the host's
    free = stats.get("bytes_limit", 0) - stats.get("bytes_in_use", 0)
    fits = not stats or size <= (1 - ROOM_LEFT) * free
    place: Place = "host" if wanted == "host" or (wanted == "auto" and not fits) else "device"
    if place == "device" and not fits:
        raise UserError(
            f"--replay device: the replay's {size / 1e9:.1f} GB do not fit beside the networks in the "
            f"{free / 1e9:.1f} GB free on {device.device_kind}; take --replay host or a smaller --buffer"
        )
    if place == "host" or not stats:
        available = os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
        if size > available:
            raise UserError(
                f"the replay needs {size / 1e9:.1f} GB and {available / 1e9:.1f} GB of memory are free; "
                "take fewer --seeds or a smaller --buffer"
            )
    where = "host memory" if place == "host" else f"memory of {device.device_kind}"
    return place, f"replay: {size / 1e9:.2f} GB in {where}"


class Learning:
    """All lanes' learner. Work is done in the order in which it is asked for, and not waited for.

    Handing work to a GPU takes a millisecond per chunk, which acting need not wait for: it has a thread of its own. On
    the host's own CPU it takes no time, and a thread would only get in the way: TD3 on 2 cores, 3.3 instead of 3.05 ms
    a step."""

    def __init__(
        self,
        run: Program,
        layout: Layout,
        seeds: Sequence[int],
        hypers: PyTree,
        capacity: int,
        place: Place = "device",
    ):
        """`seeds` has one entry per lane, the leaves of `hypers` are (lane,)."""
        self.run, self.layout = run, layout
        self.streams = Streams.of(seeds)
        self.replay = HostReplay(len(seeds), capacity, layout.width) if place == "host" else None
        learner = Learner(
            state=run.init(random.wrap_key_data(self.streams.init), layout.spec, hypers),
            buffer=jnp.zeros((len(seeds), 0 if self.replay else capacity, layout.width)),
            keys=self.streams.learn,
            env_step=jnp.zeros((), int),
            gradient_step=jnp.zeros((), int),
        )
        # Committed to its device from the start: an uncommitted argument would compile everything twice.
        self._learner: Learner = jax.device_put(learner, jnp.zeros(()).device)
        self._keys = np.array(self.streams.learn)  # a copy: the learner's own are donated
        elsewhere = self._learner.env_step.device != jax.devices("cpu")[0]
        self._thread = ThreadPoolExecutor(1, "learner") if elsewhere else None
        self._handed: deque[Future[Any]] = deque()

    def ask(self, question: Callable[[Learner], T]) -> Future[T]:
        """What a function says of the learner, once everything handed over before has been passed on."""
        return self._hand(lambda: question(self._learner))

    def learner(self) -> Learner:
        """Waits for all work."""
        learner = self.ask(lambda learner: learner).result()
        jax.block_until_ready(learner)  # type: ignore[no-untyped-call]
        return learner

    def close(self) -> None:
        if self._thread:
            self._thread.shutdown()

    def record(self) -> Record:
        """All but the replay's rows."""
        return Record(on_host(_without_rows(self.learner())), {})

    def rows(self, first: int, last: int) -> Iterator[tuple[int, np.ndarray]]:
        """The replay's rows of these steps, in blocks: first step, (lane, step, width)."""
        for start in range(first, last, BLOCK):
            count = min(BLOCK, last - start)
            if self.replay is not None:
                yield start, self.replay.rows(start, count)
            else:
                yield start, np.asarray(self.run.rows(self.learner().buffer, start, count))

    def recall(self, record: Record, rows: Blocks) -> None:
        learner, device = self.learner(), self._learner.env_step.device
        remembered = filled(_without_rows(learner), record.arrays)
        buffer, expected = learner.buffer, (learner.keys.shape[0], self.layout.width)
        for first, block in rows:
            if block.dtype != np.float32 or block.ndim != 3 or (block.shape[0], block.shape[2]) != expected:
                raise ValueError(f"rows should be (lane, step, column) {expected}, not {block.dtype} {block.shape}")
            if self.replay is not None:
                self.replay.put(block, first)
            else:
                buffer = self.run.put(buffer, block, first)
        self._learner = jax.device_put(Learner(**remembered, buffer=buffer), device)
        if self.replay is not None:
            self.replay.stored = int(remembered["env_step"])

    def not_finite(self, lane: int) -> str:
        """The first quantity of a lane's state that is not a finite number; empty if all are."""
        for name, leaf in on_host(self.learner().state).items():
            if np.issubdtype(leaf.dtype, np.floating) and not np.isfinite(leaf[lane]).all():
                return name
        return ""

    def store(self, packed: np.ndarray) -> None:
        """(step, lane, width + 1): only keeps them."""
        self._hand(lambda: self._store(packed))

    def learn(self, packed: np.ndarray) -> None:
        """(step, lane, width + 1): keeps them, and learns as often as planned after each."""
        self._hand(lambda: self._learn(packed))

    def probe(self, episodes: np.ndarray) -> Future[dict[str, Array]]:
        return self._hand(lambda: self._probe(episodes.copy()))

    def agents(self) -> Future[PyTree]:
        return self.ask(lambda learner: self.run.agents(learner.state))

    def _hand(self, work: Callable[[], T]) -> Future[T]:
        """An error in earlier work comes out here."""
        while self._handed and (self._handed[0].done() or len(self._handed) >= QUEUED):
            self._handed.popleft().result()
        if self._thread is None:
            done: Future[T] = Future()
            done.set_result(work())
            return done
        handed = self._thread.submit(work)
        self._handed.append(handed)
        return handed

    def _store(self, packed: np.ndarray) -> None:
        if self.replay is None:
            self._learner = self.run.store(self._learner, packed)
            return
        for row in packed:
            self.replay.insert(row[:, :-1])
        self._learner = self.run.skip(self._learner, len(packed))

    def _learn(self, packed: np.ndarray) -> None:
        if self.replay is None:
            self._learner = self.run.learn(self._learner, packed)
            return
        rows = []
        for row, bits in zip(packed, self._bits(self.replay, len(packed)), strict=True):
            self.replay.insert(row[:, :-1])
            rows.append(self.replay.sample(bits))
        stacked = Rows(*map(np.stack, zip(*rows, strict=True)))
        self._learner = self.run.learn_sampled(self._learner, packed, stacked)

    def _probe(self, episodes: np.ndarray) -> dict[str, Array]:
        if self.replay is None:
            return self.run.probe(self._learner, episodes)
        return self.run.probe_sampled(self._learner, episodes, self.replay.sample(self._bits(self.replay, 1)[0, 0]))

    def _bits(self, replay: HostReplay, steps: int) -> np.ndarray:
        """(step, utd, lane, batch)"""
        with jax.default_device(jax.devices("cpu")[0]):
            return np.asarray(self.run.bits(self._keys, replay.stored + np.arange(steps)))


def _without_rows(learner: Learner) -> dict[str, PyTree]:
    return {name: part for name, part in learner._asdict().items() if name != "buffer"}
