"""The training loop. It knows lanes, replay and time, and no algorithm.

All lanes of a program live in one extra array axis; nothing here loops over seeds or members. The host acts
and steps the environments, a chunk of steps at a time, while the learner's device stores and learns the
chunk before. What crosses is one packed row per lane and step one way, and the acting members' weights,
once a chunk, the other way.
"""

import math
from collections.abc import Callable, Sequence
from functools import cache, partial
from typing import Any, NamedTuple, Protocol

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax, random, vmap

from . import replay
from .envs import Envs, Lanes
from .errors import EnvironmentFault
from .evaluate import Episode, evaluate
from .spec import Algorithm, Batch, Clock, PyTree


class Plan(NamedTuple):
    """How long to train, and what happens when."""

    steps: int
    warmup: int
    batch: int
    utd: int
    buffer: int
    log_every: int
    eval_every: int
    eval_episodes: int
    members_every: int
    sync: int

    @property
    def chunk(self) -> int:
        """Steps between two hand-overs: the largest number up to `sync` that divides every interval."""
        common = math.gcd(self.steps, self.warmup, self.log_every, self.eval_every, self.members_every)
        return max(k for k in range(1, min(self.sync, common) + 1) if common % k == 0)


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
    begin: Callable[..., PyTree]  # keys, episodes -> memo of each lane's episode
    wander: Callable[..., Any]  # keys, steps -> random actions and their extras, (step, lane, ...)
    actor: Callable[..., PyTree]  # state, memo -> acting weights
    switch: Callable[..., PyTree]  # weights, state, memo, finished -> weights, fresh where finished
    draw_act: Callable[..., PyTree]  # keys, steps -> noise of exploring actions, (step, lane, ...)
    act: Callable[..., Any]  # weights, memo, obs, noise -> actions, extras
    store: Callable[..., Learner]  # learner, (step, lane, row) -> learner
    learn: Callable[..., Learner]  # learner, (step, lane, row) -> learner
    probe: Callable[..., dict[str, Array]]  # learner, episodes -> metrics
    agents: Callable[..., PyTree]  # state -> agents


@cache
def program(algo: Algorithm, layout: replay.Layout, batch: int, utd: int) -> Program:
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

    def actor(state: PyTree, memo: PyTree) -> PyTree:
        return vmap(lambda s, m: algo.actor(algo.agent(s), m))(state, memo)

    def switch(weights: PyTree, state: PyTree, memo: PyTree, finished: Array) -> PyTree:
        """A lane that starts an episode gets its new member at once; its neighbours keep what they have."""
        return vmap(lambda done, new, old: jax.tree.map(partial(jnp.where, done), new, old))(
            finished, actor(state, memo), weights
        )

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

    def sample(learner: Learner, bits: Array) -> Batch:
        return vmap(partial(replay.sample, layout), (0, None, 0))(learner.buffer, learner.env_step, bits)

    def learn(learner: Learner, packed: Array) -> Learner:
        """For each step of a chunk: stores the transitions and takes `utd` gradient steps."""

        def update_one(
            learner: Learner, drawn: tuple[Array, tuple[Array, PyTree]], episodes: Array
        ) -> tuple[Learner, None]:
            number, (bits, noise) = drawn
            gradient_step = learner.gradient_step + 1
            clock = Clock(gradient_step, learner.env_step, episodes, number == utd - 1)
            update = vmap(algo.update, (0, 0, per_lane_clock, 0))
            state, _ = update(learner.state, sample(learner, bits), clock, noise)
            return learner._replace(state=state, gradient_step=gradient_step), None

        def learn_one(learner: Learner, step: tuple[Array, PyTree]) -> tuple[Learner, None]:
            packed, draws = step
            learner = store_one(learner, packed)
            one = partial(update_one, episodes=packed[:, layout.width].astype(int))
            return lax.scan(one, learner, (jnp.arange(utd), draws))

        # Drawn for the whole chunk at once: a random generator is many small operations.
        numbers = learner.env_step * utd + jnp.arange(len(packed) * utd).reshape(-1, utd)
        draws = vmap(vmap(lambda number: vmap(draw)(fold(learner.keys, number))))(numbers)
        return lax.scan(learn_one, learner, (packed, draws))[0]

    def probe(learner: Learner, episodes: Array) -> dict[str, Array]:
        """Metrics on a batch of its own; training does not notice."""
        clock = Clock(learner.gradient_step, learner.env_step, episodes, jnp.array(True))
        bits, noise = vmap(draw)(fold(learner.keys, learner.env_step * utd))
        measure = vmap(algo.probe, (0, 0, per_lane_clock, 0))
        return measure(learner.state, sample(learner, bits), clock, noise)

    return Program(
        init=jax.jit(vmap(algo.init, (0, None, 0)), static_argnums=1),
        begin=jax.jit(begin),
        wander=jax.jit(wander),
        actor=jax.jit(actor),
        switch=jax.jit(switch),
        draw_act=jax.jit(draw_act),
        act=jax.jit(vmap(algo.act)),
        store=jax.jit(store, donate_argnums=0),
        learn=jax.jit(learn, donate_argnums=0),
        probe=jax.jit(probe),
        agents=jax.jit(lambda state: vmap(algo.agent)(state)),
    )


def start(
    algo: Algorithm, layout: replay.Layout, plan: Plan, seeds: Sequence[int], hypers: PyTree
) -> tuple[Program, Learner, Streams]:
    """A learner at step 0. `seeds` has one entry per lane, the leaves of `hypers` are (lane,)."""
    compiled = program(algo, layout, plan.batch, plan.utd)
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
    return compiled, jax.device_put(learner, jnp.zeros(()).device), streams


def train(
    algo: Algorithm,
    plan: Plan,
    seeds: Sequence[int],
    hypers: PyTree,
    envs: Envs,
    eval_envs: Envs,
    log: Log,
    should_stop: Callable[[], bool] = lambda: False,
    reward_scale: float = 1.0,
) -> tuple[Learner, int, EnvironmentFault | None]:
    """Trains all lanes until the planned steps are done, somebody asks to stop, or an environment fails.

    Returns the learner, the steps it has learnt, and the fault if there was one.
    """
    layout = replay.Layout(envs.spec, algo.extras)
    run, learner, streams = start(algo, layout, plan, seeds, hypers)
    host = jax.devices("cpu")[0]
    act_keys, member_keys = jax.device_put((streams.act, streams.member), host)
    lanes = Lanes(envs, seeds, reward_scale)
    memo = _arrays(run.begin(member_keys, lanes.episodes))
    weights = jax.device_put(run.actor(learner.state, memo), host)
    chunk = plan.chunk
    step = 0

    try:
        while step < plan.steps and not should_stop():
            guided = step >= plan.warmup
            packed = np.empty((chunk, len(seeds), layout.width + 1), np.float32)
            # Randomness comes a chunk at a time: many small draws would cost more than the acting itself.
            draws = _arrays((run.draw_act if guided else run.wander)(act_keys, step + np.arange(chunk)))
            for i in range(chunk):
                obs = lanes.obs
                drawn = jax.tree.map(lambda x: x[i], draws)  # noqa: B023
                action, extras = _arrays(run.act(weights, memo, obs, drawn)) if guided else drawn
                outcome = lanes.step(action)
                finished = outcome.terminated | outcome.truncated
                if finished.any():
                    memo = _arrays(run.begin(member_keys, lanes.episodes))
                    fresh = run.switch(jax.device_put(weights, learner.env_step.device), learner.state, memo, finished)
                    weights = jax.device_put(fresh, host)
                row = (obs, action, outcome.reward, outcome.terminated, outcome.next_obs, extras)
                packed[i, :, :-1] = layout.pack(*row)
                packed[i, :, -1] = lanes.episodes
            step += chunk

            if not guided:
                learner = run.store(learner, packed)
            elif chunk == 1:  # the exact interleaving: act on what was learnt from the last step
                learner = run.learn(learner, packed)
                weights = jax.device_put(run.actor(learner.state, memo), host)
            else:  # weights are those before this chunk, which is learnt while the next one is collected
                weights = jax.device_put(run.actor(learner.state, memo), host)
                learner = run.learn(learner, packed)

            if step > plan.warmup and step % plan.log_every == 0:
                log.trained(step, _arrays(run.probe(learner, lanes.episodes)))
            if step % plan.eval_every == 0 or step == plan.steps:
                members = step % plan.members_every == 0 or step == plan.steps
                agents = jax.device_put(run.agents(learner.state), host)
                log.evaluated(step, evaluate(algo, agents, eval_envs, seeds, step, plan.eval_episodes, members))
            log.stepped(step)
    except EnvironmentFault as fault:
        return learner, step, fault
    return learner, step, None


def _arrays(tree: PyTree) -> Any:
    """Waits for the device."""
    return jax.tree.map(np.asarray, tree)
