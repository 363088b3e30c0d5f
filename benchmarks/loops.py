"""Whole training loops, timed between two marks after everything has been compiled."""

import time
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

from teen import algos, engine, envs
from teen.settings import replace, static


class Stopwatch:
    """Notes the time at chosen steps."""

    def __init__(self) -> None:
        self.times: dict[int, float] = {}

    def stepped(self, step: int) -> None:
        self.times[step] = time.perf_counter()

    def trained(self, step: int, metrics: Any) -> None: ...
    def evaluated(self, step: int, episodes: Any) -> None: ...


def ours(algo: str, env: str, lanes: int, steps: int, sync: int = 10, **settings: Any) -> float:
    """Environment steps per second of each lane, without evaluation."""
    module = algos.find(algo)
    cfg = replace(module.Config(), settings)
    warmup, skipped = 300, 100
    last = warmup + skipped + steps
    plan = engine.Plan(
        steps=last + 100, warmup=warmup, batch=256, utd=1, buffer=100_000, log_every=10**9, eval_every=10**9,
        eval_episodes=1, members_every=10**9, sync=sync,
    )  # fmt: skip
    hypers = jax.tree.map(lambda *x: jnp.stack(x), *[module.hyper(cfg)] * lanes)
    pools = envs.make(env, lanes), envs.make(env, lanes)
    watch = Stopwatch()
    engine.train(module.make(static(cfg)), plan, range(lanes), hypers, *pools, watch, lambda: last in watch.times)
    return steps / (watch.times[last] - watch.times[last - steps])


def peer(make: Callable[[], Any], steps: int) -> float:
    """Steps per second of a model of Stable-Baselines3's kind, SBX's included."""
    model = make()
    model.learn(600)
    start = time.perf_counter()
    model.learn(steps, reset_num_timesteps=False)
    return steps / (time.perf_counter() - start)
