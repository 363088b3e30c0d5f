"""Whole training loops, timed between two marks after everything has been compiled."""

import time
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from teen import algos, envs
from teen.engine import loop as engine
from teen.engine import replay
from teen.engine.evaluate import copies_needed
from teen.engine.learner import Learning
from teen.engine.program import program
from teen.nets import Precision
from teen.settings import replace, static
from teen.spec import Spec

HALFCHEETAH, HIDDEN, BATCH = Spec(17, 6), (256, 256), 256
NEVER = 10**9


class Stopwatch:
    """Notes the time at every step."""

    def __init__(self) -> None:
        self.times: dict[int, float] = {}

    def stepped(self, step: int) -> None:
        self.times[step] = time.perf_counter()

    def trained(self, step: int, metrics: Any) -> None: ...
    def evaluated(self, step: int, episodes: Any) -> None: ...
    def diagnosed(self, step: int, quantities: Any) -> None: ...
    def quarantined(self, lane: int, step: int, quantity: str) -> None: ...
    def begun_again(self, lines: list[str]) -> None: ...


def ours(
    algo: str,
    env: str,
    lanes: int,
    steps: int,
    sync: int = 10,
    eval_every: int = NEVER,
    backend: envs.Backend = "auto",
    precision: Precision = "tf32",
    **settings: Any,
) -> float:
    """Seconds of a step of all lanes together. With evaluations the window begins with one, of 10 episodes a lane."""
    module = algos.find(algo)
    cfg = replace(module.Config(), settings)
    functions = module.make(static(cfg))
    begin = 1_200 if eval_every == NEVER else eval_every  # by then everything is compiled, the log's metrics too
    last = begin + steps
    plan = engine.Plan(
        steps=last + 100, warmup=300, batch=BATCH, utd=1, buffer=100_000, log_every=1_000, eval_every=eval_every,
        eval_episodes=10, members_every=NEVER, sync=sync, precision=precision,
    )  # fmt: skip
    hypers = jax.tree.map(lambda *x: jnp.stack(x), *[module.hyper(cfg)] * lanes)
    training = envs.make_crews(env, lanes, backend)
    evaluation = envs.make(env, 1 if eval_every == NEVER else copies_needed(functions, lanes, 10), backend)
    watch = Stopwatch()
    try:
        engine.train(
            functions, plan, list(range(lanes)), hypers, training, evaluation, watch, lambda: last in watch.times
        )
    finally:
        for pool in (*training, evaluation):
            pool.close()
    return (watch.times[last] - watch.times[begin]) / steps


def environments(env: str, lanes: int, steps: int = 2_000) -> float:
    """Seconds of a step of the environments alone, as the loop steps them: its floor on this host, at this moment."""
    crews = [envs.Lanes(pool, range(len(pool))) for pool in envs.make_crews(env, lanes)]
    actions = np.random.default_rng(0).uniform(-1, 1, (100, lanes, crews[0].envs.spec.action)).astype(np.float32)
    for step in range(steps + 100):
        if step == 100:
            start = time.perf_counter()
        for crew in crews:
            crew.send(actions[step % 100, : len(crew.seeds)])
        for crew in crews:
            crew.receive()
    seconds = (time.perf_counter() - start) / steps
    for crew in crews:
        crew.envs.close()
    return seconds


def learning(algo: str, lanes: int, capacity: int, precision: Precision = "tf32", **settings: Any) -> Learning:
    """A learner with something in its replay."""
    module = algos.find(algo)
    cfg = replace(module.Config(), settings)
    functions = module.make(static(cfg))
    layout = replay.Layout(HALFCHEETAH, functions.extras)
    hypers = jax.tree.map(lambda *x: jnp.stack(x), *[module.hyper(cfg)] * lanes)
    learner = Learning(program(functions, layout, BATCH, 1, precision), layout, range(lanes), hypers, capacity)
    learner.store(rows(learner, lanes, 300))
    return learner


def rows(learner: Learning, lanes: int, steps: int) -> np.ndarray:
    made = np.random.default_rng(0).normal(size=(steps, lanes, learner.layout.width + 1)).astype(np.float32)
    made[:, :, -2:] = 0
    return made


def update_seconds(
    algo: str, lanes: int, repeats: int = 12, calls: int = 1, precision: Precision = "tf32", **settings: Any
) -> float:
    """Median seconds of one step of the learner: insert, sample, update. Ten to a dispatch, as in training; the actors
    move in every second one. `calls` dispatches are timed together, so that the device need not wait for the host."""
    learner = learning(algo, lanes, 100_000, precision, **settings)
    chunk = rows(learner, lanes, 10)
    times = []
    for _ in range(repeats + 2):
        start = time.perf_counter()
        for _ in range(calls):
            learner.learn(chunk)
        learner.learner()
        times.append((time.perf_counter() - start) / (10 * calls))
    return float(np.median(times[2:]))


def peer(make: Callable[[], Any], steps: int) -> float:
    """Seconds a step of a model of Stable-Baselines3's kind, SBX's included."""
    model = make()
    model.learn(600)
    start = time.perf_counter()
    model.learn(steps, reset_num_timesteps=False)
    return (time.perf_counter() - start) / steps
