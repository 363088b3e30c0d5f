"""What is compiled: the learner's step over all lanes, and the small functions that acting needs.

All lanes of a program live in one extra array axis; nothing here loops over seeds or members.
"""

from collections.abc import Callable, Sequence
from functools import cache, partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array, lax, random, vmap

from .. import nets
from ..spec import Algorithm, Batch, Clock, PyTree
from . import replay


class Learner(NamedTuple):
    """Everything that lives on the learner's device, for all lanes."""

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


class Program(NamedTuple):
    """The compiled functions for one algorithm and one set of shapes."""

    init: Callable[..., PyTree]
    begin: Callable[..., PyTree]  # keys, episodes -> memo of each lane's episode
    wander: Callable[..., Any]  # keys, steps -> random actions and their extras, (step, lane, ...)
    actor: Callable[..., PyTree]  # state, first lane, their memos (slot, lane, ...), lanes -> weights, likewise
    flat_actor: Callable[..., Array]  # the same as one array (slot, lane, number): a single transfer
    draw_act: Callable[..., PyTree]  # keys, steps -> noise of exploring actions, (step, lane, ...)
    act: Callable[..., Any]  # weights (slot, lane, ...), of which slot 0 acts; memo, obs, noise -> actions, extras
    store: Callable[..., Learner]  # learner, (step, lane, row) -> learner
    learn: Callable[..., Learner]  # learner, (step, lane, row) -> learner
    skip: Callable[..., Learner]  # learner, steps -> learner: they were stored elsewhere
    bits: Callable[..., Array]  # keys, (step,) -> (step, utd, lane, batch): which rows to sample
    learn_sampled: Callable[..., Learner]  # learner, (step, lane, row), sampled rows -> learner
    probe: Callable[..., dict[str, Array]]  # learner, episodes -> metrics
    probe_sampled: Callable[..., dict[str, Array]]  # learner, episodes, sampled rows -> metrics
    agents: Callable[..., PyTree]  # state -> agents
    rows: Callable[..., Array]  # buffer, first step, steps -> (lane, step, width)
    put: Callable[..., Array]  # buffer, (lane, step, width), first step -> buffer


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


@cache
def program(
    algo: Algorithm, layout: replay.Layout, batch: int, utd: int, precision: nets.Precision = "tf32"
) -> Program:
    """Compiles nothing yet: each function is compiled at its first call."""
    per_lane_clock = Clock(None, None, 0, None)  # type: ignore[arg-type]  # vmap axes: only episodes differ

    def fold(keys: Array, number: Array) -> Array:
        return vmap(random.fold_in, (0, None))(random.wrap_key_data(keys), number)

    def begin(keys: Array, episodes: Array) -> PyTree:
        return vmap(lambda key, episode: algo.begin(random.fold_in(key, episode)))(random.wrap_key_data(keys), episodes)

    def wander(keys: Array, steps: Array) -> tuple[Array, dict[str, Array]]:
        """Uniform random actions, with the extras of a step that no policy took."""

        def one(key: Array) -> tuple[Array, dict[str, Array]]:
            action_key, extras_key = random.split(key)
            action = random.uniform(action_key, (layout.spec.action,), minval=-1, maxval=1)
            return action, algo.unguided(extras_key)

        return vmap(lambda step: vmap(one)(fold(keys, step)))(steps)

    def actor(state: PyTree, first: Array, memos: PyTree, lanes: int) -> PyTree:
        own = jax.tree.map(lambda leaf: lax.dynamic_slice_in_dim(leaf, first, lanes), state)
        agents = vmap(algo.agent)(own)
        if not jax.tree.leaves(memos):  # every episode is acted alike: one slot
            return jax.tree.map(lambda leaf: leaf[None], vmap(lambda agent: algo.actor(agent, memos))(agents))
        return vmap(vmap(algo.actor), (None, 0))(agents, memos)

    def flat_actor(state: PyTree, first: Array, memos: PyTree, lanes: int) -> Array:
        leaves = jax.tree.leaves(actor(state, first, memos, lanes))
        return jnp.concatenate([leaf.reshape(*leaf.shape[:2], -1) for leaf in leaves], -1)

    def act(weights: PyTree, memo: PyTree, obs: Array, noise: PyTree) -> tuple[Array, dict[str, Array]]:
        return vmap(algo.act)(jax.tree.map(lambda leaf: leaf[0], weights), memo, obs, noise)

    def draw_act(keys: Array, steps: Array) -> PyTree:
        def one(key: Array) -> PyTree:
            return algo.draw_act(key, layout.spec)

        return vmap(lambda step: vmap(one)(fold(keys, step)))(steps)

    def store_one(learner: Learner, packed: Array) -> Learner:
        buffer = replay.insert(learner.buffer, packed[:, : layout.width], learner.env_step)
        return learner._replace(buffer=buffer, env_step=learner.env_step + 1)

    def store(learner: Learner, packed: Array) -> Learner:
        return lax.scan(lambda carry, row: (store_one(carry, row), None), learner, packed)[0]

    def draw(key: Array) -> tuple[Array, PyTree]:
        """What is random in an update: which rows, and the algorithm's own noise."""
        bits_key, noise_key = random.split(key)
        return random.bits(bits_key, (batch,)), algo.draw(noise_key, batch, layout.spec)

    def draw_all(keys: Array, numbers: Array) -> tuple[Array, PyTree]:
        # Drawn for a whole chunk at once: a random generator is many small operations.
        return vmap(vmap(lambda number: vmap(draw)(fold(keys, number))))(numbers)

    def numbered(steps: Array) -> Array:
        """(step,) transitions stored before -> (step, utd) numbers of the updates that follow."""
        return steps[:, None] * utd + jnp.arange(utd)[None]

    def sample(learner: Learner, bits: Array) -> Batch:
        return vmap(partial(replay.sample, layout), (0, None, 0))(learner.buffer, learner.env_step, bits)

    def unpack(learner: Learner, rows: replay.Rows) -> Batch:
        return vmap(layout.unpack)(rows.rows, rows.age)

    def counted(learner: Learner, packed: Array) -> Learner:
        return learner._replace(env_step=learner.env_step + 1)

    def learn_chunk(keep: Any, take: Any, learner: Learner, packed: Array, noises: PyTree, sources: PyTree) -> Learner:
        """For each step of a chunk: keeps the transitions and takes `utd` gradient steps. Leaves (step, utd, ...)."""

        def learn_one(learner: Learner, step: Any) -> tuple[Learner, None]:
            packed, *drawn = step
            learner = keep(learner, packed)
            episodes = packed[:, layout.width].astype(int)

            def update_one(learner: Learner, drawn: Any) -> tuple[Learner, None]:
                number, noise, source = drawn
                clock = Clock(learner.gradient_step + 1, learner.env_step, episodes, number == utd - 1)
                update = vmap(algo.update, (0, 0, per_lane_clock, 0))
                with nets.precision(precision):
                    state, _ = update(learner.state, take(learner, source), clock, noise)
                return learner._replace(state=state, gradient_step=clock.gradient_step), None

            return lax.scan(update_one, learner, (jnp.arange(utd), *drawn))

        return lax.scan(learn_one, learner, (packed, noises, sources))[0]

    def learn(learner: Learner, packed: Array) -> Learner:
        bits, noises = draw_all(learner.keys, numbered(learner.env_step + jnp.arange(len(packed))))
        return learn_chunk(store_one, sample, learner, packed, noises, bits)

    def learn_sampled(learner: Learner, packed: Array, rows: replay.Rows) -> Learner:
        """From rows that the host has drawn, with the same bits, out of a replay of its own."""
        _, noises = draw_all(learner.keys, numbered(learner.env_step + jnp.arange(len(packed))))
        return learn_chunk(counted, unpack, learner, packed, noises, rows)

    def measure(take: Any, learner: Learner, episodes: Array, source: PyTree, noise: PyTree) -> dict[str, Array]:
        clock = Clock(learner.gradient_step, learner.env_step, episodes, jnp.array(True))
        with nets.precision(precision):
            return vmap(algo.probe, (0, 0, per_lane_clock, 0))(learner.state, take(learner, source), clock, noise)

    def probe(learner: Learner, episodes: Array) -> dict[str, Array]:
        """Metrics on a batch of its own; training does not notice."""
        bits, noise = vmap(draw)(fold(learner.keys, learner.env_step * utd))
        return measure(sample, learner, episodes, bits, noise)

    def probe_sampled(learner: Learner, episodes: Array, rows: replay.Rows) -> dict[str, Array]:
        _, noise = vmap(draw)(fold(learner.keys, learner.env_step * utd))
        return measure(unpack, learner, episodes, rows, noise)

    def rows(buffer: Array, first: Array, steps: int) -> Array:
        return buffer[:, (first + jnp.arange(steps)) % buffer.shape[1]]

    def put(buffer: Array, block: Array, first: Array) -> Array:
        return buffer.at[:, (first + jnp.arange(block.shape[1])) % buffer.shape[1]].set(block)

    compiled = partial(jax.jit, donate_argnums=0, compiler_options=_compiler_options())

    return Program(
        init=jax.jit(vmap(algo.init, (0, None, 0)), static_argnums=1),
        begin=jax.jit(begin),
        wander=jax.jit(wander),
        actor=jax.jit(actor, static_argnums=3),
        flat_actor=jax.jit(flat_actor, static_argnums=3),
        draw_act=jax.jit(draw_act),
        act=jax.jit(act),
        store=jax.jit(store, donate_argnums=0),
        learn=compiled(learn),
        skip=jax.jit(lambda learner, steps: learner._replace(env_step=learner.env_step + steps), donate_argnums=0),
        bits=jax.jit(lambda keys, steps: draw_all(keys, numbered(steps))[0]),
        learn_sampled=compiled(learn_sampled),
        probe=jax.jit(probe),
        probe_sampled=jax.jit(probe_sampled),
        agents=jax.jit(lambda state: vmap(algo.agent)(state)),
        rows=jax.jit(rows, static_argnums=2),
        put=jax.jit(put, donate_argnums=0),
    )
