"""The training loop. It knows lanes, replay and time, and no algorithm.

All lanes of a program live in one extra array axis; nothing here loops over seeds or members. The host acts
and steps the environments; the learner's device stores and learns. Each step sends one packed row per lane
to the device and takes the acting members' weights back.
"""

from collections.abc import Callable, Sequence
from functools import cache, partial
from typing import Any, NamedTuple, Protocol

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, random, vmap

from . import replay
from .envs import Envs, Lanes
from .evaluate import Episode, evaluate
from .spec import Algorithm, Batch, Clock, PyTree


class Plan(NamedTuple):
    """How long to train, and what happens when."""

    steps: int
    warmup: int
    batch: int
    buffer: int
    log_every: int
    eval_every: int
    eval_episodes: int
    members_every: int


class Learner(NamedTuple):
    """Everything that lives on the learner's device, for all lanes."""

    state: PyTree  # leaves (lane, ...)
    buffer: Array  # (lane, capacity, width)
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


class Log(Protocol):
    """Where training reports to."""

    def stepped(self, step: int) -> None: ...
    def trained(self, step: int, metrics: dict[str, np.ndarray]) -> None: ...
    def evaluated(self, step: int, episodes: list[list[Episode]]) -> None: ...


class Program(NamedTuple):
    """The compiled functions for one algorithm and one set of shapes."""

    init: Callable[..., PyTree]
    begin: Callable[..., PyTree]
    wander: Callable[..., Any]
    actor: Callable[..., PyTree]
    act: Callable[..., Any]
    store: Callable[..., Learner]
    learn: Callable[..., tuple[Learner, PyTree]]
    probe: Callable[..., dict[str, Array]]
    agents: Callable[..., PyTree]


@cache
def program(algo: Algorithm, layout: replay.Layout, batch: int) -> Program:
    """Compiles nothing yet: each function is compiled at its first call."""
    per_lane_clock = Clock(None, None, 0)  # type: ignore[arg-type]  # vmap axes: only episodes differ

    def fold(keys: Array, number: Array) -> Array:
        return vmap(random.fold_in, (0, None))(random.wrap_key_data(keys), number)

    def begin(keys: Array, episodes: Array) -> PyTree:
        return vmap(lambda key, episode: algo.begin(random.fold_in(key, episode)))(
            random.wrap_key_data(keys), episodes
        )

    def wander(keys: Array, step: Array) -> tuple[Array, dict[str, Array]]:
        """Uniform random actions, with the extras of a step that no policy took."""

        def one(key: Array) -> tuple[Array, dict[str, Array]]:
            action_key, extras_key = random.split(key)
            action = random.uniform(action_key, (layout.spec.action,), minval=-1, maxval=1)
            return action, algo.unguided(extras_key)

        return vmap(one)(fold(keys, step))

    def actor(state: PyTree, memo: PyTree) -> PyTree:
        return vmap(lambda s, m: algo.actor(algo.agent(s), m))(state, memo)

    def act(
        weights: PyTree, memo: PyTree, obs: Array, keys: Array, step: Array
    ) -> tuple[Array, dict[str, Array]]:
        return vmap(algo.act)(weights, memo, obs, fold(keys, step))

    def store(learner: Learner, packed: Array) -> Learner:
        buffer = replay.insert(learner.buffer, packed[:, : layout.width], learner.env_step)
        return learner._replace(buffer=buffer, env_step=learner.env_step + 1)

    def draw(learner: Learner, keys: Array) -> Batch:
        sample = partial(replay.sample, layout, batch=batch)
        return vmap(sample, (0, None, 0))(learner.buffer, learner.env_step, keys)

    def learn(learner: Learner, packed: Array, memo: PyTree) -> tuple[Learner, PyTree]:
        """Stores the newest transitions, takes one gradient step, and hands out the acting weights."""
        learner = store(learner, packed)
        gradient_step = learner.gradient_step + 1
        clock = Clock(gradient_step, learner.env_step, packed[:, layout.width].astype(int))
        sample_keys, update_keys = vmap(random.split, out_axes=1)(fold(learner.keys, learner.env_step))
        update = vmap(algo.update, (0, 0, per_lane_clock, 0))
        state, _ = update(learner.state, draw(learner, sample_keys), clock, update_keys)
        learner = learner._replace(state=state, gradient_step=gradient_step)
        return learner, actor(state, memo)

    def probe(learner: Learner, episodes: Array) -> dict[str, Array]:
        """Metrics on a batch of its own; training does not notice."""
        keys = fold(learner.keys, learner.env_step)
        sample_keys, probe_keys = vmap(lambda key: random.split(key, 4)[2:], out_axes=1)(keys)
        clock = Clock(learner.gradient_step, learner.env_step, episodes)
        batches = draw(learner, sample_keys)
        return vmap(algo.probe, (0, 0, per_lane_clock, 0))(learner.state, batches, clock, probe_keys)

    return Program(
        init=jax.jit(vmap(algo.init, (0, None, 0)), static_argnums=1),
        begin=jax.jit(begin),
        wander=jax.jit(wander),
        actor=jax.jit(actor),
        act=jax.jit(act),
        store=jax.jit(store, donate_argnums=0),
        learn=jax.jit(learn, donate_argnums=0),
        probe=jax.jit(probe),
        agents=jax.jit(lambda state: vmap(algo.agent)(state)),
    )


def start(
    algo: Algorithm, layout: replay.Layout, plan: Plan, seeds: Sequence[int], hypers: PyTree
) -> tuple[Program, Learner, Streams]:
    """A learner at step 0. `seeds` has one entry per lane, the leaves of `hypers` are (lane,)."""
    compiled = program(algo, layout, plan.batch)
    streams = Streams.of(seeds)
    capacity = min(plan.buffer, plan.steps)
    learner = Learner(
        state=compiled.init(random.wrap_key_data(streams.init), layout.spec, hypers),
        buffer=jnp.zeros((len(seeds), capacity, layout.width)),
        keys=streams.learn,
        env_step=jnp.array(0),
        gradient_step=jnp.array(0),
    )
    # Committed to its device from the start: an uncommitted argument would compile everything twice.
    return compiled, jax.device_put(learner, jax.devices()[0]), streams


def train(
    algo: Algorithm,
    plan: Plan,
    seeds: Sequence[int],
    hypers: PyTree,
    envs: Envs,
    eval_envs: Envs,
    log: Log,
    should_stop: Callable[[], bool] = lambda: False,
) -> tuple[Learner, int]:
    """Trains all lanes; returns the learner and the steps taken, fewer than planned when told to stop."""
    layout = replay.Layout(envs.spec, algo.extras)
    run, learner, streams = start(algo, layout, plan, seeds, hypers)
    host = jax.devices("cpu")[0]
    act_keys, member_keys = jax.device_put((streams.act, streams.member), host)
    lanes = Lanes(envs, seeds)
    memo = run.begin(member_keys, lanes.episodes)
    weights = None
    step = 0

    while step < plan.steps and not should_stop():
        step += 1
        obs = lanes.obs
        if step <= plan.warmup:
            action, extras = run.wander(act_keys, step)
        else:
            if weights is None:
                weights = jax.device_put(run.actor(learner.state, memo), host)
            action, extras = run.act(weights, memo, obs, act_keys, step)
        action = np.asarray(action)
        outcome = lanes.step(action)
        if (outcome.terminated | outcome.truncated).any():
            memo = run.begin(member_keys, lanes.episodes)

        extras = {name: np.asarray(extra) for name, extra in extras.items()}
        row = layout.pack(obs, action, outcome.reward, outcome.terminated, outcome.next_obs, extras)
        packed = np.concatenate([row, lanes.episodes[:, None]], axis=1, dtype=np.float32, casting="unsafe")
        if step <= plan.warmup:
            learner = run.store(learner, packed)
        else:
            learner, weights = run.learn(learner, packed, memo)
            weights = jax.device_put(weights, host)

        if step > plan.warmup and step % plan.log_every == 0:
            metrics = run.probe(learner, lanes.episodes)
            log.trained(step, {name: np.asarray(metric) for name, metric in metrics.items()})
        if step % plan.eval_every == 0 or step == plan.steps:
            members = step % plan.members_every == 0 or step == plan.steps
            agents = jax.device_put(run.agents(learner.state), host)
            log.evaluated(step, evaluate(algo, agents, eval_envs, seeds, step, plan.eval_episodes, members))
        log.stepped(step)
    return learner, step
