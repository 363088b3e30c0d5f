"""The training loop. It knows lanes, replay and time, and no algorithm.

The host acts and steps the environments, a chunk of steps at a time, while the learner's device stores and learns the
chunk before. What crosses is one packed row per lane and step one way, and the acting members' weights, once a chunk,
the other way. Evaluations run beside both, on snapshots.
"""

import math
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from typing import NamedTuple, Protocol

import numpy as np
from jax import Array
from threadpoolctl import threadpool_limits

from .acting import arrays
from .collect import Collector
from .envs import Envs, Lanes
from .errors import EnvironmentFault
from .evaluate import Episode, Evaluations
from .learning import Learning
from .nets import Precision
from .program import Learner, program
from .replay import Layout, Place
from .spec import Algorithm, PyTree


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
    replay: Place = "device"  # resolved: not auto
    precision: Precision = "tf32"
    env_timeout: float = 60.0

    @property
    def chunk(self) -> int:
        """Steps between two hand-overs: the largest number up to `sync` that divides every interval."""
        common = math.gcd(self.steps, self.warmup, self.log_every, self.eval_every, self.members_every)
        return max(k for k in range(1, min(self.sync, common) + 1) if common % k == 0)

    @property
    def capacity(self) -> int:
        """Rows of a lane's replay."""
        return min(self.buffer, self.steps)


class Log(Protocol):
    """Where training reports to."""

    def stepped(self, step: int) -> None: ...
    def trained(self, step: int, metrics: dict[str, np.ndarray]) -> None: ...
    def evaluated(self, step: int, episodes: list[list[Episode]]) -> None: ...


def train(
    algo: Algorithm,
    plan: Plan,
    seeds: Sequence[int],
    hypers: PyTree,
    envs: Sequence[Envs],
    eval_envs: Envs,
    log: Log,
    should_stop: Callable[[], bool] = lambda: False,
    reward_scale: float = 1.0,
) -> tuple[Learner, int, EnvironmentFault | None]:
    """Trains all lanes until the planned steps are done, somebody asks to stop, or an environment fails.

    `envs` has one copy per lane, in crews that take turns. Returns the learner, the steps it has learnt, and the
    fault if there was one.
    """
    layout = Layout(envs[0].spec, algo.extras)
    run = program(algo, layout, plan.batch, plan.utd, plan.precision)
    learning = Learning(run, layout, seeds, hypers, plan.capacity, plan.replay)
    firsts = np.cumsum([0, *map(len, envs)]).tolist()
    crews = [Lanes(e, seeds[i : i + len(e)], reward_scale, i) for e, i in zip(envs, firsts, strict=False)]
    collector = Collector(algo, learning, crews, plan.chunk)
    evaluations = Evaluations(algo, eval_envs, seeds, plan.eval_episodes, plan.env_timeout)
    metrics: tuple[int, Future[dict[str, Array]]] | None = None
    step, fault = 0, None

    def report(wait: bool) -> None:
        """What has come in; with `wait`, all that is under way."""
        nonlocal metrics
        if metrics and (wait or metrics[0] < step):  # a chunk later the learner has passed it
            log.trained(metrics[0], arrays(metrics[1].result()))
            metrics = None
        for ended in evaluations.finished(wait):
            log.evaluated(*ended)

    # Acting multiplies small matrices: more BLAS threads would only take cores from the learner and the environments.
    one_thread = threadpool_limits(1, "blas")
    try:
        while step < plan.steps and not should_stop():
            guided = step >= plan.warmup
            packed = collector.collect(step, guided)
            step += plan.chunk

            if not guided:
                learning.store(packed)
            else:
                learning.learn(packed)
                if plan.chunk == 1:  # the exact interleaving: act on what was learnt from the last step
                    collector.request()
                collector.renew()  # else they are those before this chunk, which is learnt while the next is collected

            due = step % plan.eval_every == 0 or step == plan.steps
            report(wait=due)
            if step > plan.warmup and step % plan.log_every == 0:
                metrics = step, learning.probe(collector.episodes)
            if due:
                members = step % plan.members_every == 0 or step == plan.steps
                evaluations.begin(step, learning.agents(), members)
            log.stepped(step)
    except EnvironmentFault as error:
        fault = error
    finally:
        one_thread.restore_original_limits()
    try:
        report(wait=True)
    except EnvironmentFault as error:
        fault = fault or error
    learner = learning.learner()
    learning.close()
    return learner, step, fault
