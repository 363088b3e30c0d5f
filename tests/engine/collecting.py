"""Collectors by themselves, beside a trainer, and stand-ins for simulators that fail."""

import time
from typing import Any

import jax
import jax.experimental
import jax.numpy as jnp
import numpy as np

from teen import algos, envs
from teen.engine.collect import Collector, in_crews
from teen.engine.compiled import CompiledCollector
from teen.engine.program import program
from teen.engine.replay import Layout
from teen.engine.trainer import Trainer
from teen.envs import CompiledEnvs
from teen.settings import replace, stacked

SCALE = 2.0  # of rewards
SMALL = {"width": 16}


class Bench:
    """A trainer and one of the two collectors."""

    def __init__(self, kind: str, algo: Any, env: str, seeds: list[int], chunk: int, repeat: int = 1, **settings: Any):
        algo = algos.find(algo) if isinstance(algo, str) else algo
        config = replace(algo.Config(), {**SMALL, **settings})
        self.compiled = CompiledEnvs(env, len(seeds), 1, repeat) if kind == "compiled" else None
        self.crews = [] if self.compiled else envs.make_crews(env, len(seeds), "envpool", repeat)
        self.layout = Layout(self.compiled.spec if self.compiled else self.crews[0].spec, algo.extras(config))
        learning = program(algo, self.layout, 16, 1, "float32")
        self.trainer = Trainer(learning, self.layout, seeds, stacked([config] * len(seeds)), 10_000)
        self.chunk, self.step = chunk, 0
        if self.compiled:
            self.collector: Any = CompiledCollector(algo, self.trainer, self.compiled, seeds, SCALE, chunk)
        else:
            self.collector = Collector(algo, self.trainer, in_crews(self.crews, seeds, SCALE, 0), chunk)

    def collect(self, warmup: int, last: int, learnt: np.ndarray | None = None) -> np.ndarray:
        """Return all rows up to a step, (step, lane, layout.packed). The learner learns from these, or from `learnt`:
        then it gives the weights that another bench had."""
        rows = []
        while self.step < last:
            guided, after = self.step >= warmup, self.step + self.chunk
            packed = self.collector.collect(self.step, guided, after >= warmup if after < last else None)
            rows.append(packed.copy())
            given = packed if learnt is None else learnt[self.step : after]
            self.step = after
            if not guided:
                self.trainer.store(given)
                continue
            self.trainer.learn(given)
            if self.chunk == 1:
                self.collector.request()
            self.collector.renew()
        return np.concatenate(rows)

    def poison(self, lane: int) -> None:
        """Make a lane's parameters NaN."""
        train = self.trainer._train

        def spoilt(leaf: Any) -> Any:
            return leaf.at[lane].set(jnp.nan) if jnp.issubdtype(leaf.dtype, jnp.floating) else leaf

        self.trainer._train = train._replace(state=jax.tree.map(spoilt, train.state))

    def close(self) -> None:
        self.collector.close()
        self.trainer.close()
        for pool in [self.compiled] if self.compiled else self.crews:
            pool.close()


def tamper(pools: CompiledEnvs, lane: int, step: int, what: str) -> None:
    """Let the simulator of a lane fail at its given step: `raise`, `hang` for some seconds, or return `nan`."""
    made = CompiledEnvs.reset

    def reset(self: CompiledEnvs, number: int, seeds: Any) -> np.ndarray:
        obs = made(self, number, seeds)
        if number == lane:
            handle, send, receive = self._calls[lane]
            self._calls[lane] = handle, send, _failing(receive, step, what)
        return obs

    pools.reset = reset.__get__(pools)  # type: ignore[method-assign]


def _failing(receive: Any, step: int, what: str) -> Any:
    taken = [0]

    def tick(handle: np.ndarray) -> np.ndarray:
        taken[0] += 1
        if taken[0] == step and what == "raise":
            raise RuntimeError("the joint broke")
        if taken[0] == step and what == "hang":
            time.sleep(4)
        return np.where(taken[0] == step and what == "nan", np.uint8(1), np.zeros(8, np.uint8)) | 0 * handle

    def failing(handle: Any) -> Any:
        handle, (obs, *rest) = receive(handle)
        mark = jax.experimental.io_callback(tick, jax.ShapeDtypeStruct((8,), np.uint8), handle)
        return handle | (mark & 0), (jnp.where(mark[0] == 1, jnp.nan, obs), *rest)

    return failing
