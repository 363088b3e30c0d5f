"""The learner's half of the loop: the state and replay of all lanes, wherever they live."""

import os
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import Any, TypeVar

import jax
import jax.numpy as jnp
import numpy as np
from jax import random

from ..errors import UserError
from ..settings import ReplayPlace
from ..snapshot import Blocks, Snapshot, filled, on_host
from ..spec import Metrics, PyTree
from .program import Program, Streams, TrainState
from .replay import HostReplay, Layout

T = TypeVar("T")
BLOCK = 25_000  # rows of a lane that are copied at once for a checkpoint
QUEUED = 8  # pieces of work that may wait for the learner's thread
ROOM_LEFT = 0.2  # of the device's free memory, for networks and what an update needs in between


def place_replay(wanted: ReplayPlace, size: int, device: Any = None) -> tuple[ReplayPlace, str]:
    """Return where a replay of so many bytes goes, and the same in words. `device` is the learner's."""
    device = device or jnp.zeros(()).device
    stats = device.memory_stats() or {}  # a CPU has none: there the device's memory is the host's
    free = stats.get("bytes_limit", 0) - stats.get("bytes_in_use", 0)
    fits = not stats or size <= (1 - ROOM_LEFT) * free
    place: ReplayPlace = "host" if wanted == "host" or (wanted == "auto" and not fits) else "device"
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


class Trainer:
    """Trains all lanes. Work is done in the order in which it is asked for, and not waited for.

    Handing work to a GPU takes a millisecond per chunk, which acting need not wait for: it has a thread of its own. On
    the host's CPU it takes no time, and a thread would only get in the way: TD3 on 2 cores, 3.3 instead of 3.05 ms a
    step."""

    def __init__(
        self,
        program: Program,
        layout: Layout,
        seeds: Sequence[int],
        config: Any,
        capacity: int,
        place: ReplayPlace = "device",
        weights: PyTree = None,
    ):
        """`seeds` has one entry per lane, the leaves of `config` are (lane,). `weights`, leaves (lane, ...), are those
        to begin with, where these are not new ones."""
        self.program, self.layout, self.capacity = program, layout, capacity
        self.streams = Streams.of(seeds)
        self.config = jax.device_put(config, jax.devices("cpu")[0])  # for what the host does
        self.replay = HostReplay(len(seeds), capacity, layout, program.n_step) if place == "host" else None
        config = jax.tree.map(jnp.copy, config)  # donated with the rest
        state = program.init(config, random.wrap_key_data(self.streams.init), layout.spec)
        if weights is not None:
            assert program.adopt
            state = jax.tree.map(jnp.copy, program.adopt(config, state, weights))  # each leaf is donated by itself
        train = TrainState(
            config=config,
            state=state,
            buffer=jnp.zeros((len(seeds), 0 if self.replay else capacity, layout.width)),
            keys=self.streams.learn,
            env_step=jnp.zeros((), int),
            gradient_step=jnp.zeros((), int),
        )
        # Committed to its device from the start: an uncommitted argument would compile everything twice.
        self._train: TrainState = jax.device_put(train, jnp.zeros(()).device)
        self._keys = np.array(self.streams.learn)  # a copy: those of the train state are donated
        elsewhere = self._train.env_step.device != jax.devices("cpu")[0]
        self._thread = ThreadPoolExecutor(1, "learner") if elsewhere else None
        self._handed: deque[Future[Any]] = deque()
        self._ahead: dict[str, Future[Any]] = {}  # what is compiled before it is needed
        self._cuts: list[tuple[int, list[int]]] = []  # after which step episodes were left by a resume, in which lanes

    def ask(self, question: Callable[[TrainState], T]) -> Future[T]:
        """Return what a function says of the train state, once all work handed over before has been passed on."""
        return self._hand(lambda: question(self._train))

    def compile_ahead(self, chunk: int, metrics: bool) -> None:
        """Compile learning, in chunks of so many steps, and its metrics, while a GPU waits for the end of the warm-up.

        On a CPU the warm-up itself needs the cores; with a replay on the host learning has other arguments. A run that
        is stopped meanwhile ends when both are compiled: XLA cannot be interrupted.
        """
        if self._thread is None or self.replay is not None:
            return
        train = jax.tree.map(_abstract, self._train)
        packed = np.zeros((chunk, len(self._keys), self.layout.packed), np.float32)
        episodes = np.zeros(len(self._keys), int)
        compilers = ThreadPoolExecutor(2, "compiler")
        self._ahead["learn"] = compilers.submit(lambda: self.program.learn.lower(train, packed, None).compile())
        if metrics:
            self._ahead["probe"] = compilers.submit(lambda: self.program.probe.lower(train, episodes, None).compile())
        compilers.shutdown(wait=False)

    def train_state(self) -> TrainState:
        """Wait for all work."""
        train = self.ask(lambda train: train).result()
        jax.block_until_ready(train)  # type: ignore[no-untyped-call]
        return train

    def close(self) -> None:
        wait(self._ahead.values())
        if self._thread:
            self._thread.shutdown()

    def snapshot(self) -> Snapshot:
        """Return all but the replay's rows."""
        train = self.train_state()
        oldest = int(train.env_step) - self.capacity
        return Snapshot(on_host(_without_rows(train)), {"cuts": [cut for cut in self._cuts if cut[0] > oldest]})

    def rows(self, first: int, last: int) -> Iterator[tuple[int, np.ndarray]]:
        """Yield the replay's rows of these steps, in blocks: first step, (lane, step, width)."""
        for start in range(first, last, BLOCK):
            count = min(BLOCK, last - start)
            if self.replay is not None:
                yield start, self.replay.rows(start, count)
            else:
                yield start, np.asarray(self.program.rows(self.train_state().buffer, start, count))

    def restore(self, snapshot: Snapshot, rows: Blocks) -> None:
        train, device = self.train_state(), self._train.env_step.device
        restored = filled(_without_rows(train), snapshot.arrays)
        expected = train.keys.shape[0], self.layout.width
        for first, block in rows:
            if block.dtype != np.float32 or block.ndim != 3 or (block.shape[0], block.shape[2]) != expected:
                raise ValueError(f"rows should be (lane, step, column) {expected}, not {block.dtype} {block.shape}")
            self._put(block, first)
        train = TrainState(**restored, buffer=self._train.buffer, config=train.config)
        self._train = jax.device_put(train, device)
        if self.replay is not None:
            self.replay.stored = int(restored["env_step"])
        for step, lanes in snapshot.facts.get("cuts", []):  # older checkpoints have none
            self.cut(int(step), [int(lane) for lane in lanes])

    def cut(self, step: int, lanes: list[int]) -> None:
        """End the episodes of these lanes after so many steps: in a run that is resumed, others may follow. Rows on
        disk are written once, so a checkpoint keeps this beside them."""
        stored = int(self._train.env_step)
        if not lanes or not max(0, stored - self.capacity) < step <= stored:
            return
        ((_, block),) = self.rows(step - 1, step)
        block = np.array(block)
        block[lanes, 0, self.layout.ended] = 1
        self._put(block, step - 1)
        self._cuts.append((step, lanes))

    def _put(self, block: np.ndarray, first: int) -> None:
        if self.replay is not None:
            self.replay.put(block, first)
        else:
            self._train = self._train._replace(buffer=self.program.put(self._train.buffer, block, first))

    def not_finite(self, lane: int) -> str:
        """Return the first quantity of a lane's state that is not a finite number; empty if all are."""
        for name, leaf in on_host(self.train_state().state).items():
            if np.issubdtype(leaf.dtype, np.floating) and not np.isfinite(leaf[lane]).all():
                return name
        return ""

    def store(self, packed: np.ndarray) -> None:
        """Keep transitions, (step, lane, layout.packed)."""
        self._hand(lambda: self._store(packed))

    def learn(self, packed: np.ndarray) -> None:
        """Keep transitions, (step, lane, layout.packed), and learn as often as planned after each."""
        self._hand(lambda: self._learn(packed))

    def probe(self, episodes: np.ndarray) -> Future[Metrics]:
        return self._hand(lambda: self._probe(episodes.copy()))

    def weights(self) -> Future[PyTree]:
        return self.ask(self.program.weights)

    def _hand(self, work: Callable[[], T]) -> Future[T]:
        """Hand work to the learner's thread. An error in earlier work comes out here."""
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
            self._train = self.program.store(self._train, packed)
            return
        for row in packed:
            self.replay.insert(row[:, : self.layout.width])
        self._train = self.program.skip(self._train, len(packed))

    def _learn(self, packed: np.ndarray) -> None:
        self._await_compiler("learn")
        rows = None
        if self.replay is not None:
            sampled = []
            for row, bits in zip(packed, self._bits(self.replay, len(packed)), strict=True):
                self.replay.insert(row[:, : self.layout.width])
                sampled.append(self.replay.sample(bits))
            rows = jax.tree.map(lambda *each: np.stack(each), *sampled)
        self._train = self.program.learn(self._train, packed, rows)

    def _await_compiler(self, name: str) -> None:
        """Let the call that follows find what is compiled ahead. Where that failed, the call tries again and raises."""
        if name in self._ahead:
            wait([self._ahead.pop(name)])

    def _probe(self, episodes: np.ndarray) -> Metrics:
        self._await_compiler("probe")
        rows = None if self.replay is None else self.replay.sample(self._bits(self.replay, 1)[0, 0])
        metrics: Metrics = self.program.probe(self._train, episodes, rows)
        return metrics

    def _bits(self, replay: HostReplay, steps: int) -> np.ndarray:
        """Draw which rows to sample: (step, utd, lane, batch)."""
        with jax.default_device(jax.devices("cpu")[0]):
            return np.asarray(self.program.bits(self.config, self._keys, replay.stored + np.arange(steps)))


def _abstract(array: jax.Array) -> Any:
    """Return what a compiler knows of an array, which may be donated meanwhile."""
    return jax.ShapeDtypeStruct(array.shape, array.dtype, sharding=array.sharding)  # type: ignore[no-untyped-call]


def _without_rows(train: TrainState) -> dict[str, PyTree]:
    """Return what a checkpoint keeps beside the rows. The config comes from the settings."""
    return {name: part for name, part in train._asdict().items() if name not in ("buffer", "config")}
