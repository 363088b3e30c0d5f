"""Whole training loops, timed between two marks after everything has been compiled."""

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import jax
import numpy as np
from jax import lax

from teen import algos, envs
from teen.engine.episodes import threads_of_a_lane
from teen.engine.evaluate import copies_needed
from teen.engine.log import Log
from teen.engine.loop import Loop
from teen.engine.plan import Plan
from teen.engine.program import program
from teen.engine.replay import Layout
from teen.engine.trainer import Trainer
from teen.settings import Collecting, Precision, replace, stacked
from teen.spec import Spec

HALFCHEETAH, HIDDEN, BATCH = Spec(17, 6), (256, 256), 256
NEVER = 10**9


class Stopwatch(Log):
    """Notes the time at every step."""

    def __init__(self) -> None:
        self.times: dict[int, float] = {}

    def stepped(self, step: int) -> None:
        self.times[step] = time.perf_counter()


def ours(
    name: str,
    env: str,
    lanes: int,
    steps: int,
    sync: int = 10,
    eval_every: int = NEVER,
    backend: envs.Backend = "auto",
    precision: Precision = "tf32",
    collector: Collecting = "auto",
    **settings: Any,
) -> float:
    """Return the seconds of a step of all lanes together. With evaluations, the window begins with the second one, of
    10 episodes a lane: the first compiles its programs."""
    algo, cfg = algos.find(name), replace(algos.default_config(name), settings)
    begin = 1_200 if eval_every == NEVER else 2 * eval_every  # by then everything is compiled, the log's metrics too
    last = begin + steps
    plan = Plan(
        steps=last + 100, warmup=300, batch=BATCH, utd=1, buffer=100_000, log_every=1_000, eval_every=eval_every,
        eval_episodes=10, members_every=NEVER, sync=sync, replay="device", precision=precision, checkpoint_every=0,
    )  # fmt: skip
    config, seeds = stacked([cfg] * lanes), range(lanes)
    compiled = collector == "compiled" or (collector == "auto" and backend != "gymnasium")
    training: Any = envs.CompiledEnvs(env, lanes) if compiled else envs.make_crews(env, lanes, backend)
    copies = 1 if eval_every == NEVER else copies_needed(algo, cfg, lanes, 10) // lanes
    evaluation: Any = (
        envs.CompiledEnvs(env, lanes, copies, threads=threads_of_a_lane(lanes))
        if compiled
        else envs.make(env, lanes * copies, backend)
    )
    watch = Stopwatch()
    try:
        Loop(algo, plan, seeds, config, training, evaluation, watch, lambda: last in watch.times).run()
    finally:
        for pool in (*([training] if compiled else training), evaluation):
            pool.close()
    return (watch.times[last] - watch.times[begin]) / steps


def simulators(env: str, lanes: int, steps: int = 1_000) -> float:
    """Return the seconds of a step of the pools that the compiled collector steps, alone: random actions, no acting,
    no lane waits for another."""
    pools, host = envs.CompiledEnvs(env, lanes), jax.devices("cpu")[0]
    actions = np.random.default_rng(0).uniform(-1, 1, (steps, pools.spec.action)).astype(np.float32)

    def program(lane: int) -> Any:
        def step(handle: jax.Array, action: jax.Array) -> tuple[jax.Array, jax.Array]:
            handles, stepped = pools.step([lane], (handle,), [action[None]])
            (handle,), (obs,) = pools.begin([lane], handles, stepped)
            return handle, obs

        pools.reset(lane, [lane])
        return jax.jit(lambda actions: lax.scan(step, pools.handle(lane), actions)[1]).lower(actions).compile()

    def run(lane: int) -> None:
        with jax.enable_x64(True), jax.default_device(host):
            jax.block_until_ready(programs[lane](actions))  # type: ignore[no-untyped-call]

    with jax.enable_x64(True), jax.default_device(host):
        programs = [program(lane) for lane in range(lanes)]
    with ThreadPoolExecutor(lanes) as threads:
        start = time.perf_counter()
        list(threads.map(run, range(lanes)))
        seconds = (time.perf_counter() - start) / steps
    pools.close()
    return seconds


def make_trainer(
    name: str, lanes: int, capacity: int, precision: Precision = "tf32", utd: int = 1, **settings: Any
) -> Trainer:
    """Return a trainer with some rows in its replay."""
    algo, cfg = algos.find(name), replace(algos.default_config(name), settings)
    layout = Layout(HALFCHEETAH, algo.extras(cfg))
    compiled = program(algo, layout, BATCH, utd, precision)
    trainer = Trainer(compiled, layout, range(lanes), stacked([cfg] * lanes), capacity)
    trainer.store(random_rows(layout, lanes, 300))
    return trainer


def random_rows(layout: Layout, lanes: int, steps: int) -> np.ndarray:
    """Return packed transitions, (step, lane, layout.packed)."""
    rows = np.random.default_rng(0).normal(size=(steps, lanes, layout.packed)).astype(np.float32)
    rows[:, :, layout.width - 1 :] = 0
    return rows


def update_seconds(
    name: str,
    lanes: int,
    repeats: int = 12,
    calls: int = 1,
    precision: Precision = "tf32",
    utd: int = 1,
    **settings: Any,
) -> float:
    """Return the median seconds of one step of the learner: insert, sample, `utd` updates. A dispatch has ten steps, as
    in training; the actors move in every second one. `calls` dispatches are timed together, so that the device need
    not wait for the host."""
    trainer = make_trainer(name, lanes, 100_000, precision, utd, **settings)
    chunk = random_rows(trainer.layout, lanes, 10)
    times = []
    for _ in range(repeats + 2):
        start = time.perf_counter()
        for _ in range(calls):
            trainer.learn(chunk)
        trainer.train_state()
        times.append((time.perf_counter() - start) / (10 * calls))
    return float(np.median(times[2:]))


def peer(make: Callable[[], Any], steps: int) -> float:
    """Return the seconds of a step of a model with the interface of Stable-Baselines3, which SBX has too."""
    model = make()
    model.learn(600)
    start = time.perf_counter()
    model.learn(steps, reset_num_timesteps=False)
    return (time.perf_counter() - start) / steps
