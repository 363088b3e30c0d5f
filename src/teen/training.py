"""A whole run: environments, engine, run directories and display put together."""

import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from . import algos, config, engine, envs, rundir
from .agent import Agent
from .config import Job
from .errors import EnvironmentFault
from .evaluate import Episode, copies_needed
from .learning import place_replay
from .progress import Progress
from .replay import Layout
from .settings import replace
from .spec import PyTree


class Outcome(NamedTuple):
    """What a program leaves: one folder and one agent per variant."""

    folders: list[Path]
    agents: list[Agent]
    episodes: list[list[Episode]]  # of the last evaluation, per variant
    step: int
    interrupted: bool


class Recorder:
    """Sends what the engine reports to the right variant's folder, and to the display."""

    def __init__(self, job: Job, folders: list[rundir.RunDir], progress: Progress):
        self.seeds, self.folders, self.progress = list(job.run.seeds), folders, progress
        self.last: list[list[Episode]] = [[] for _ in folders]

    def stepped(self, step: int) -> None:
        self.progress.stepped(step)

    def trained(self, step: int, metrics: dict[str, np.ndarray]) -> None:
        lanes = [{name: float(m[i]) for name, m in metrics.items()} for i in range(self.lanes)]
        for folder, own in zip(self.folders, self._split(lanes), strict=True):
            folder.log_training(step, list(zip(self.seeds, own, strict=True)))
        self.progress.trained(metrics)

    def evaluated(self, step: int, episodes: list[list[Episode]]) -> None:
        for i, (folder, lanes) in enumerate(zip(self.folders, self._split(episodes), strict=True)):
            self.last[i] = [episode for lane in lanes for episode in lane]
            folder.log_evaluation(self.last[i])
        self.progress.evaluated(step, self.last)

    @property
    def lanes(self) -> int:
        return len(self.folders) * len(self.seeds)

    def _split(self, lanes: list[Any]) -> list[list[Any]]:
        """Lanes are ordered by variant, then seed."""
        count = len(self.seeds)
        return [lanes[i : i + count] for i in range(0, len(lanes), count)]


@contextmanager
def stop_requests() -> Iterator[Callable[[], bool]]:
    """Ctrl-C asks training to stop at the next step; a second one stops at once."""
    requested = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield requested.is_set
        return

    def request(number: int, frame: Any) -> None:
        requested.set()
        signal.signal(signal.SIGINT, previous)

    previous = signal.signal(signal.SIGINT, request)
    try:
        yield requested.is_set
    finally:
        signal.signal(signal.SIGINT, previous)


def run(job: Job, out: Path | None = None, show: bool = True) -> Outcome:
    """Trains every lane of a job. Nothing is written before everything that can be wrong was checked."""
    backend, slower = envs.choose_backend(job.run.env, job.run.backend)
    job = job._replace(run=replace(job.run, {"backend": backend}))
    module = algos.find(job.run.algo)
    algo = algos.build(job.run.algo, job.variants[0].config, job.run.normalise_obs)
    seeds, plan = job.lane_seeds, job.run.plan()
    make_envs = partial(envs.make, job.run.env, backend=backend, action_repeat=job.run.action_repeat)
    training = envs.make_crews(job.run.env, len(seeds), backend, job.run.action_repeat)
    evaluation = make_envs(copies_needed(algo, len(seeds), plan.eval_episodes))
    layout = Layout(training[0].spec, algo.extras)
    place, placed = place_replay(job.run.replay, layout.bytes(len(seeds), plan.capacity))
    plan = plan._replace(replay=place)
    parent = rundir.choose(out, job.run)
    folders = [rundir.RunDir(parent / v.name, job.run, v.config) for v in job.variants]
    if show:
        own = [notice for v in job.variants for notice in getattr(v.config, "notices", list)()]
        for notice in dict.fromkeys(filter(None, [slower, *own])):
            print(f"notice: {notice}", file=sys.stderr)
        print(placed, file=sys.stderr)

    hypers = [module.hyper(v.config) for v in job.variants for _ in job.run.seeds]
    stacked = jax.tree.map(lambda *numbers: jnp.stack(numbers), *hypers)
    names = [f"{v.name} seed {seed}".strip() for v in job.variants for seed in job.run.seeds]
    watchdog = envs.Watchdog(job.run.env_timeout, training)  # evaluations watch over theirs
    with Progress(plan.steps, names, show) as progress, stop_requests() as should_stop:
        recorder = Recorder(job, folders, progress)
        with watchdog:
            learner, step, fault = engine.train(
                algo, plan, seeds, stacked, training, evaluation, recorder, should_stop, job.run.reward_scale
            )
        agents = _split_agents(job, algo.agent, learner.state, step)
        for folder, agent in zip(folders, agents, strict=True):
            folder.save_agent(agent.agents, layout.spec, step)
            folder.draw()
    if fault:
        raise EnvironmentFault(f"{fault}; logs are kept, and the agent after {step} steps is saved") from fault
    for pool in (*training, evaluation):
        pool.close()
    return Outcome([f.path for f in folders], agents, recorder.last, step, step < plan.steps)


def _split_agents(job: Job, agent: Callable[[PyTree], PyTree], state: PyTree, step: int) -> list[Agent]:
    everyone = jax.jit(jax.vmap(agent))(state)
    count = len(job.run.seeds)

    def part(i: int) -> PyTree:
        return jax.tree.map(lambda leaf: leaf[i * count : (i + 1) * count], everyone)

    return [Agent(job.run, v.config, step, part(i)) for i, v in enumerate(job.variants)]


def train(
    algo: str = "teen", env: str = "", *, out: str | Path | None = None, show: bool = True, **settings: Any
) -> Outcome:
    """Trains from Python; settings are the command's flags with underscores.

    >>> teen.train("teen", "Pendulum-v1", seeds=3, steps=10_000, n=5, width=64, lr=1e-3, warmup=1_000)
    """
    job = config.resolve({"algo": algo, "env": env, **settings})
    return run(job, Path(out) if out is not None else None, show)
