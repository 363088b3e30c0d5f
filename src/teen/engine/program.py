"""What is compiled: the learner's step over all lanes, and the small functions that acting needs.

All lanes of a program live in one extra array axis; nothing here loops over seeds or members.
"""

from collections.abc import Sequence
from functools import cache, partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array, lax, random, vmap

from .. import nets
from ..settings import Precision, flat
from ..spec import Acted, AnyAlgorithm, Batch, Clock, Extras, Metrics, PyTree
from . import replay


class TrainState(NamedTuple):
    """Everything that lives on the learner's device, for all lanes."""

    config: Any  # per-lane numbers, leaves (lane,)
    state: PyTree  # leaves (lane, ...)
    buffer: Array  # (lane, capacity, width); no rows where the replay lives in host memory
    keys: Array  # (lane, 2) the learner's random streams
    env_step: Array
    gradient_step: Array


class Streams(NamedTuple):
    """A lane's independent random streams; none depends on the neighbours. Leaves (lane, 2): key data,
    because plain numbers are dispatched faster than typed keys."""

    init: Array
    learn: Array
    act: Array
    member: Array

    @classmethod
    def of(cls, seeds: Sequence[int]) -> "Streams":
        keys = vmap(lambda seed: random.split(random.key(seed), len(cls._fields)))(jnp.array(seeds))
        return cls(*random.key_data(keys).swapaxes(0, 1))


@cache
def program(
    algo: AnyAlgorithm, layout: replay.Layout, batch: int, utd: int, precision: Precision = "tf32", n_step: int = 1
) -> "Program":
    """Return the one program for these shapes: what one run has compiled serves the next."""
    return Program(algo, layout, batch, utd, precision, n_step)


class Program:
    """The compiled functions of one algorithm and one set of shapes. Each is compiled at its first call."""

    def __init__(
        self, algo: AnyAlgorithm, layout: replay.Layout, batch: int, utd: int, precision: Precision, n_step: int
    ):
        self.algo, self.layout, self.batch, self.utd, self.precision = algo, layout, batch, utd, precision
        self.n_step = n_step
        learning = partial(jax.jit, donate_argnums=0, compiler_options=_compiler_options())
        self.init = jax.jit(vmap(algo.init, (0, 0, None)), static_argnums=2)
        self.adopt = jax.jit(vmap(algo.adopt)) if algo.adopt else None
        self.begin = jax.jit(self._begin)
        self.random_actions = jax.jit(self._random_actions)
        self.actor = jax.jit(self._actor, static_argnums=3)
        self.flat_actor = jax.jit(self._flat_actor, static_argnums=3)
        self.acting = jax.jit(self._acting)
        self.draw_act = jax.jit(self._draw_act)
        self.act = jax.jit(self._act)
        self.store = jax.jit(self._store, donate_argnums=0)
        self.skip = jax.jit(self._skip, donate_argnums=0)
        self.learn = learning(self._learn)
        self.bits = jax.jit(lambda config, keys, steps: self._draw_all(config, keys, self._numbered(steps))[0])
        self.probe = jax.jit(self._probe)
        self.weights = jax.jit(lambda train: vmap(algo.weights)(train.config, train.state))
        self.rows = jax.jit(self._rows, static_argnums=2)
        self.put = jax.jit(self._put, donate_argnums=0)

    # Acting: `config` and `keys` are those of the lanes that act.

    def _begin(self, config: Any, keys: Array, episodes: Array) -> PyTree:
        """Return the memo of each lane's episode."""

        def one(cfg: Any, key: Array, episode: Array) -> PyTree:
            return self.algo.begin(cfg, random.fold_in(key, episode), self.layout.spec)

        return vmap(one)(config, random.wrap_key_data(keys), episodes)

    def _random_actions(self, config: Any, keys: Array, steps: Array) -> tuple[Array, Extras]:
        """Return uniform random actions, (step, lane, action), with the extras of a step that no policy took."""

        def one(cfg: Any, key: Array) -> tuple[Array, Extras]:
            action_key, extras_key = random.split(key)
            action = random.uniform(action_key, (self.layout.spec.action,), minval=-1, maxval=1)
            return action, self.algo.unguided(cfg, extras_key)

        return vmap(lambda step: vmap(one)(config, _fold(keys, step)))(steps)

    def _draw_act(self, config: Any, keys: Array, steps: Array) -> PyTree:
        """Return the noise of exploring actions, (step, lane, ...)."""

        def one(cfg: Any, key: Array) -> PyTree:
            return self.algo.draw_act(cfg, key, self.layout.spec)

        return vmap(lambda step: vmap(one)(config, _fold(keys, step)))(steps)

    def _actor(self, train: TrainState, first: Array, memos: PyTree, lanes: int) -> PyTree:
        """Return the acting weights of `lanes` lanes from the first on, (slot, lane, ...) as their memos are."""
        config, state = jax.tree.map(
            lambda leaf: lax.dynamic_slice_in_dim(leaf, first, lanes), (train.config, train.state)
        )
        weights = vmap(self.algo.weights)(config, state)
        if not jax.tree.leaves(memos):  # every episode is acted alike: one slot
            one_slot = vmap(lambda cfg, w: self.algo.actor(cfg, w, memos))(config, weights)
            return jax.tree.map(lambda leaf: leaf[None], one_slot)
        return vmap(vmap(self.algo.actor), (None, None, 0))(config, weights, memos)

    def _flat_actor(self, train: TrainState, first: Array, memos: PyTree, lanes: int) -> Array:
        """Return the same as one array, (slot, lane, number): a single transfer."""
        leaves = jax.tree.leaves(self._actor(train, first, memos, lanes))
        return jnp.concatenate([leaf.reshape(*leaf.shape[:2], -1) for leaf in leaves], -1)

    def _acting(self, train: TrainState, keys: Array, numbers: Array) -> tuple[Array, PyTree]:
        """Return the acting weights of all lanes as one array, (slot, lane, number), and the memos with which these
        episodes begin, (slot, lane): leaves (slot, lane, ...)."""
        memos = vmap(lambda row: self._begin(train.config, keys, row))(numbers)
        return self._flat_actor(train, jnp.array(0), memos, numbers.shape[1]), memos

    def _act(self, config: Any, actors: PyTree, memo: PyTree, obs: Array, noise: PyTree) -> Acted:
        """Return actions, extras and memos; slot 0 of (slot, lane, ...) acts."""
        return vmap(self.algo.act)(config, jax.tree.map(lambda leaf: leaf[0], actors), memo, obs, noise)

    # Learning: (step, lane, row) transitions come packed: `Layout` says what is in which column.

    def _store_one(self, train: TrainState, packed: Array) -> TrainState:
        buffer = replay.insert(train.buffer, packed[:, : self.layout.width], train.env_step)
        return train._replace(buffer=buffer, env_step=train.env_step + 1)

    def _store(self, train: TrainState, packed: Array) -> TrainState:
        return lax.scan(lambda carry, row: (self._store_one(carry, row), None), train, packed)[0]

    def _skip(self, train: TrainState, steps: Array | int) -> TrainState:
        """Count transitions that are stored elsewhere."""
        return train._replace(env_step=train.env_step + steps)

    def _draw(self, cfg: Any, key: Array) -> tuple[Array, PyTree]:
        """Draw what is random in an update: which rows, and the algorithm's noise."""
        bits_key, noise_key = random.split(key)
        return random.bits(bits_key, (self.batch,)), self.algo.draw(cfg, noise_key, self.batch, self.layout.spec)

    def _draw_all(self, config: Any, keys: Array, numbers: Array) -> tuple[Array, PyTree]:
        # Drawn for a whole chunk at once: a random generator is many small operations.
        return vmap(vmap(lambda number: vmap(self._draw)(config, _fold(keys, number))))(numbers)

    def _numbered(self, steps: Array) -> Array:
        """(step,) transitions stored before -> (step, utd) numbers of the updates that follow."""
        return steps[:, None] * self.utd + jnp.arange(self.utd)[None]

    def _update(self, train: TrainState, batch: Batch, clock: Clock, noise: PyTree) -> tuple[PyTree, Metrics]:
        """Take a gradient step in every lane. Of the clock, only the episodes differ between lanes."""

        def one(cfg: Any, state: PyTree, batch: Batch, episodes: Array, noise: PyTree) -> tuple[PyTree, Metrics]:
            return self.algo.update(cfg, state, batch, clock._replace(episodes=episodes), noise)

        with nets.precision(self.precision):
            return vmap(one)(train.config, train.state, batch, clock.episodes, noise)

    def _batch(self, train: TrainState, source: Any) -> Batch:
        """Sample by (lane, batch) random bits, or unpack rows that the host has sampled by the same bits."""

        def one(cfg: Any, buffer: Array, source: Any) -> Batch:
            if not isinstance(source, replay.Rows):
                source = replay.sample(self.layout, self.n_step, buffer, train.env_step, source)
            return self.layout.unpack(source, flat(cfg).get("gamma", 1.0))

        return vmap(one)(train.config, train.buffer, source)

    def _learn(self, train: TrainState, packed: Array, rows: replay.Rows | None = None) -> TrainState:
        """For each step of a chunk, keep the transitions and take `utd` gradient steps.

        `rows` has leaves (step, utd, lane, batch, ...); it comes from a replay in host memory, which keeps transitions
        itself.
        """
        numbers = self._numbered(train.env_step + jnp.arange(len(packed)))
        bits, noises = self._draw_all(train.config, train.keys, numbers)

        def learn_one(train: TrainState, step: Any) -> tuple[TrainState, None]:
            packed, *drawn = step
            train = self._store_one(train, packed) if rows is None else self._skip(train, 1)
            episodes = packed[:, self.layout.episodes].astype(int)

            def update_one(train: TrainState, drawn: Any) -> tuple[TrainState, None]:
                number, noise, source = drawn
                clock = Clock(train.gradient_step + 1, train.env_step, episodes, number == self.utd - 1)
                state, _ = self._update(train, self._batch(train, source), clock, noise)
                return train._replace(state=state, gradient_step=train.gradient_step + 1), None

            return lax.scan(update_one, train, (jnp.arange(self.utd), *drawn))

        return lax.scan(learn_one, train, (packed, noises, bits if rows is None else rows))[0]

    def _probe(self, train: TrainState, episodes: Array, rows: replay.Rows | None = None) -> Metrics:
        """Return the losses of an update that is not applied, on a batch of its own, and the algorithm's further
        metrics."""
        bits, noise = vmap(self._draw)(train.config, _fold(train.keys, train.env_step * self.utd))
        batch = self._batch(train, bits if rows is None else rows)
        _, losses = self._update(train, batch, Clock(0, train.env_step, episodes, True), noise)
        with nets.precision(self.precision):
            return {**losses, **vmap(self.algo.metrics)(train.config, train.state, batch)}

    def _rows(self, buffer: Array, first: Array, steps: int) -> Array:
        """Return the rows of these steps: (lane, step, width)."""
        return buffer[:, (first + jnp.arange(steps)) % buffer.shape[1]]

    def _put(self, buffer: Array, block: Array, first: Array) -> Array:
        """Write rows, (lane, step, width), from this step on."""
        return buffer.at[:, (first + jnp.arange(block.shape[1])) % buffer.shape[1]].set(block)


def _fold(keys: Array, number: Array) -> Array:
    return vmap(random.fold_in, (0, None))(random.wrap_key_data(keys), number)


@cache
def _compiler_options() -> dict[str, str] | None:
    """On a GPU, kernels that do not wait for each other run side by side: an update of TEEN, 10 lanes on an H200, takes
    732 instead of 800 µs. Not every version of XLA knows the option."""
    options = {"xla_gpu_command_buffer_scheduling_mode": "CONCURRENT"}
    if jax.default_backend() != "gpu":
        return None
    try:
        jax.jit(lambda x: x + 1, compiler_options=options)(0)
    except Exception:  # whatever a version raises, training works without it
        return None
    return options
