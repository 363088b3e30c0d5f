"""A whole run: environments, engine, run directories and display put together."""

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from .. import algos, envs
from ..algos import insight
from ..config import job as config
from ..config.job import Job
from ..disk import checkpoint
from ..disk import folder as rundir
from ..disk.agent import Agent
from ..disk.checkpoint import Checkpoints
from ..disk.lock import locked
from ..engine import loop as engine
from ..engine.evaluate import Diagnosis, Episode, copies_needed
from ..engine.learner import place_replay
from ..engine.replay import Layout
from ..errors import StorageFault, UserError
from ..settings import replace
from ..snapshot import BAD_RECORD
from ..spec import Algorithm, PyTree
from .progress import Progress
from .recorder import Keeper, Recorder, notice
from .stopping import stop_requests


class Outcome(NamedTuple):
    """What a program leaves: one folder and one agent per variant."""

    folders: list[Path]
    agents: list[Agent]
    episodes: list[list[Episode]]  # of the last evaluation, per variant
    step: int
    stopped_by: int | None  # the signal that ended it early


def run(job: Job, out: Path | None = None, show: bool = True) -> Outcome:
    """Trains every lane of a job. Nothing is written before everything that can be wrong was checked."""
    backend, slower = envs.choose_backend(job.run.env, job.run.backend)
    job = job._replace(run=replace(job.run, {"backend": backend}))
    parent = rundir.choose(out, job.run)
    program = Prepared.of(job)
    if show:
        own = [line for v in job.variants for line in getattr(v.config, "notices", list)()]
        for line in dict.fromkeys(filter(None, [slower, *own])):
            notice(line)
    with locked(parent):
        return program.train(parent, None, show)


def resume(path: str | Path, show: bool = True, **changes: Any) -> Outcome:
    """Goes on with a run from its newest whole checkpoint. `changes` are settings that may change: see GOING_ON."""
    parent = Path(path)
    if not parent.is_dir():
        raise UserError(f"{parent} is not a run directory")
    for name in changes:
        if name not in GOING_ON:
            raise UserError(f"a run goes on as it began: {name!r} cannot be changed, only {', '.join(GOING_ON)}")
    with locked(parent):
        found = checkpoint.newest(parent / "checkpoint")
        for damage in found.damaged:
            notice(f"going on from step {found.step}, because a newer checkpoint is damaged: {damage}")
        job = _remembered(found, changes)
        if job.run.steps < found.step:
            raise UserError(f"{parent} has {found.step} steps already: --steps {job.run.steps} is less")
        return Prepared.of(job).train(parent, found, show)


GOING_ON = ("steps", "checkpoint_every", "env_timeout", "on_nan")


def _remembered(found: checkpoint.Found, changes: dict[str, Any]) -> Job:
    try:
        facts = found.record.part("run").facts
        settings, versions = dict(facts["settings"]), dict(facts["versions"])
    except (KeyError, TypeError, ValueError) as error:
        raise UserError(f"the checkpoint of step {found.step} does not say what it is of: {error}") from None
    now = config.versions()
    if differing := [
        f"{name} {versions.get(name)} → {now.get(name)}" for name in now if now[name] != versions.get(name)
    ]:
        notice(f"made with other versions ({', '.join(differing)}): it goes on, but not bit for bit")
    return config.resolve({**settings, **changes})


class Prepared(NamedTuple):
    """All that training needs, made and checked, before anything is written."""

    job: Job
    algo: Algorithm
    plan: engine.Plan
    training: list[envs.Envs]
    evaluation: envs.Envs
    layout: Layout
    placed: str  # where the replay lives, in words
    diagnosis: Diagnosis | None

    @classmethod
    def of(cls, job: Job) -> "Prepared":
        algo = algos.build(job.run.algo, job.variants[0].config, job.run.normalise_obs)
        seeds, plan, backend = job.lane_seeds, job.run.plan(), job.run.backend
        training = envs.make_crews(job.run.env, len(seeds), backend, job.run.action_repeat)
        copies = copies_needed(algo, len(seeds), plan.eval_episodes)
        evaluation = envs.make(job.run.env, copies, backend, job.run.action_repeat)
        layout = Layout(training[0].spec, algo.extras)
        place, placed = place_replay(job.run.replay, layout.bytes(len(seeds), plan.capacity))
        diagnosis = _diagnosis(job, algo) if plan.diagnose_every else None
        return cls(job, algo, plan._replace(replay=place), training, evaluation, layout, placed, diagnosis)

    def train(self, parent: Path, found: checkpoint.Found | None, show: bool) -> Outcome:
        job, plan = self.job, self.plan
        module = algos.find(job.run.algo)
        hypers = [module.hyper(v.config) for v in job.variants for _ in job.run.seeds]
        stacked = jax.tree.map(lambda *numbers: jnp.stack(numbers), *hypers)
        names = [f"{v.name} seed {seed}".strip() for v in job.variants for seed in job.run.seeds]
        folders = [rundir.RunDir(parent / v.name, job.run, v.config) for v in job.variants]
        watchdog = envs.Watchdog(job.run.env_timeout, self.training)  # evaluations watch over theirs
        first = found.step if found else 0
        with Progress(plan.steps, names, show, first) as progress, stop_requests() as stop, _named_storage(parent):
            recorder = Recorder(job, folders, progress)
            start = self._start(recorder, found)
            if show:
                print(self.placed, file=sys.stderr)
            keeper = Keeper(Checkpoints(parent / "checkpoint", plan.capacity, found), recorder, job.settings())
            with watchdog:
                end = engine.train(
                    self.algo, plan, job.lane_seeds, stacked, self.training, self.evaluation, recorder, stop.made,
                    job.run.reward_scale, start, keeper, self.diagnosis,
                )  # fmt: skip
            agents = _split_agents(job, self.algo.agent, end.learner.state, end.step)
            for folder, agent in zip(folders, agents, strict=True):
                folder.save_agent(agent.agents, self.layout.spec, end.step)
                folder.draw()
        if end.fault:
            kept = f"logs are kept, the agent after {end.step} steps is saved, and {keeper.kept()}"
            raise type(end.fault)(f"{end.fault}; {kept}") from end.fault
        if keeper.failure:
            raise StorageFault(keeper.failure)
        for pool in (*self.training, self.evaluation, *([self.diagnosis.envs] if self.diagnosis else [])):
            pool.close()
        return Outcome([f.path for f in folders], agents, recorder.last, end.step, stop.signal)

    def _start(self, recorder: Recorder, found: checkpoint.Found | None) -> engine.Start | None:
        if not found:
            for folder in recorder.folders:
                folder.begin()
            return None
        oldest = max(0, found.step - self.plan.capacity)
        if found.segments and found.segments[0].first > oldest:
            raise UserError(
                f"the checkpoint of step {found.step} does not fit this run: it lacks rows from {oldest} on"
            )
        try:
            record = found.record.part("engine")
            recorder.recall(found.record.part("recorder"), found.step)
        except UserError:
            raise
        except BAD_RECORD as error:
            raise UserError(f"the checkpoint of step {found.step} does not fit this run: {error}") from None
        return engine.Start(found.step, record, found.rows())


@contextmanager
def _named_storage(parent: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise StorageFault(
            f"{parent} cannot be written: {error.strerror or error}; checkpoints there are whole"
        ) from error


def _diagnosis(job: Job, algo: Algorithm) -> Diagnosis:
    from ..measure.diagnose import diagnose  # brings SciPy: not before it is needed
    from ..measure.visits import frozen_normaliser

    insight.of(algo)  # says now, not in the middle of training, that there is none
    lanes, episodes = len(job.lane_seeds), job.run.diagnose_episodes
    pool = envs.make(job.run.env, copies_needed(algo, lanes, episodes), job.run.backend, job.run.action_repeat)

    def measure(agents: PyTree, own: envs.Envs, seeds: Sequence[int], step: int, **options: Any) -> Any:
        return diagnose(algo, agents, own, seeds, step, episodes, reward_scale=job.run.reward_scale, **options)

    frozen_normaliser(job.run.env)  # here, not in the thread that diagnoses: it makes environments of its own
    return Diagnosis(pool, measure)


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
