"""Whole training loops, timed between two marks after everything has been compiled."""

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from teen import algos, envs
from teen.engine.evaluate import copies_needed
from teen.engine.log import Log
from teen.engine.loop import Loop
from teen.engine.plan import Plan
from teen.engine.program import program
from teen.engine.replay import Layout
from teen.engine.trainer import Trainer
from teen.settings import Precision, replace, stacked
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
    **settings: Any,
) -> float:
    """Return the seconds of a step of all lanes together. With evaluations, the window begins with one of 10 episodes
    a lane."""
    algo, cfg = algos.find(name), replace(algos.default_config(name), settings)
    begin = 1_200 if eval_every == NEVER else eval_every  # by then everything is compiled, the log's metrics too
    last = begin + steps
    plan = Plan(
        steps=last + 100, warmup=300, batch=BATCH, utd=1, buffer=100_000, log_every=1_000, eval_every=eval_every,
        eval_episodes=10, members_every=NEVER, sync=sync, replay="device", precision=precision, checkpoint_every=0,
    )  # fmt: skip
    config, seeds = stacked([cfg] * lanes), range(lanes)
    training = envs.make_crews(env, lanes, backend)
    evaluation = envs.make(env, 1 if eval_every == NEVER else copies_needed(algo, cfg, lanes, 10), backend)
    watch = Stopwatch()
    try:
        Loop(algo, plan, seeds, config, training, evaluation, watch, lambda: last in watch.times).run()
    finally:
        for pool in (*training, evaluation):
            pool.close()
    return (watch.times[last] - watch.times[begin]) / steps


def environments(env: str, lanes: int, steps: int = 2_000) -> float:
    """Return the seconds of a step of the environments alone, as the loop steps them: the least that a step of the loop
    takes on this host, at this moment."""
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


def make_trainer(name: str, lanes: int, capacity: int, precision: Precision = "tf32", **settings: Any) -> Trainer:
    """Return a trainer with some rows in its replay."""
    algo, cfg = algos.find(name), replace(algos.default_config(name), settings)
    layout = Layout(HALFCHEETAH, algo.extras(cfg))
    compiled = program(algo, layout, BATCH, 1, precision)
    trainer = Trainer(compiled, layout, range(lanes), stacked([cfg] * lanes), capacity)
    trainer.store(random_rows(layout, lanes, 300))
    return trainer


def random_rows(layout: Layout, lanes: int, steps: int) -> np.ndarray:
    """Return packed transitions, (step, lane, width + 1)."""
    rows = np.random.default_rng(0).normal(size=(steps, lanes, layout.width + 1)).astype(np.float32)
    rows[:, :, -2:] = 0
    return rows


def update_seconds(
    name: str, lanes: int, repeats: int = 12, calls: int = 1, precision: Precision = "tf32", **settings: Any
) -> float:
    """Return the median seconds of one step of the learner: insert, sample, update. A dispatch has ten steps, as in
    training; the actors move in every second one. `calls` dispatches are timed together, so that the device need not
    wait for the host."""
    trainer = make_trainer(name, lanes, 100_000, precision, **settings)
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
