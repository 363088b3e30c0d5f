"""A whole run: environments, engine, run folders and display put together."""

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace as changed
from pathlib import Path
from typing import Any, NamedTuple

import jax

from .. import envs
from ..algos.insight import insight_of
from ..config.facts import CHANGEABLE
from ..config.job import Job, resolve
from ..config.toml import versions
from ..disk import checkpoint, folder
from ..disk.agent import Agent
from ..disk.checkpoint import Checkpoint, CheckpointWriter
from ..disk.folder import RunFolder
from ..disk.lock import locked
from ..engine.background import Diagnoser
from ..engine.evaluate import Episode, copies_needed
from ..engine.log import Log
from ..engine.loop import Keep, Loop, Start
from ..engine.plan import Plan
from ..engine.program import TrainState
from ..engine.replay import Layout
from ..engine.trainer import place_replay
from ..envs import Envs
from ..errors import StorageFault, UserError, notice
from ..settings import replace
from ..snapshot import fitting
from ..spec import AnyAlgorithm, PyTree, Tables
from .progress import Progress
from .recorder import CheckpointKeeper, Recorder
from .stopping import stop_requests


class Outcome(NamedTuple):
    """What a program leaves: one folder and one agent per variant."""

    folders: list[Path]
    agents: list[Agent]
    episodes: list[list[Episode]]  # of the last evaluation, per variant
    step: int
    stopped_by: int | None  # the signal that ended it early


def train(
    algo: str = "teen", env: str = "", *, out: str | Path | None = None, show: bool = True, **settings: Any
) -> Outcome:
    """Train from Python; settings are the command's flags with underscores.

    >>> teen.train("teen", "Pendulum-v1", seeds=3, steps=10_000, n=5, width=64, lr=1e-3, warmup=1_000)
    """
    job = resolve({"algo": algo, "env": env, **settings})
    return train_job(job, Path(out) if out is not None else None, show)


def train_job(job: Job, out: Path | None = None, show: bool = True) -> Outcome:
    """Train every lane of a job. Nothing is written before everything that can be wrong was checked."""
    backend, slower = envs.choose_backend(job.settings.env, job.settings.backend)
    job = job._replace(settings=replace(job.settings, {"backend": backend}))
    parent = folder.choose(out, job.settings)
    prepared = Prepared.of(job)
    if show:
        notices = [line for variant in job.variants for line in getattr(variant.config, "notices", list)()]
        for line in dict.fromkeys(filter(None, [slower, *notices])):
            notice(line)
    with locked(parent):
        return prepared.train(parent, None, show)


def resume(path: str | Path, show: bool = True, **changes: Any) -> Outcome:
    """Continue a run from its newest whole checkpoint. `changes` are settings that may change: see CHANGEABLE."""
    parent = Path(path)
    if not parent.is_dir():
        raise UserError(f"{parent} is not a run folder")
    for name in changes:
        if name not in CHANGEABLE:
            raise UserError(f"a run goes on as it began: {name!r} cannot be changed, only {', '.join(CHANGEABLE)}")
    with locked(parent):
        saved = checkpoint.newest(parent / "checkpoint")
        for damage in saved.damaged:
            notice(f"going on from step {saved.step}, because a newer checkpoint is damaged: {damage}")
        job = _job_of(saved, changes)
        if job.settings.plan.steps < saved.step:
            raise UserError(f"{parent} has {saved.step} steps already: --steps {job.settings.plan.steps} is less")
        return Prepared.of(job).train(parent, saved, show)


def _job_of(saved: Checkpoint, changes: dict[str, Any]) -> Job:
    """Return the job of a checkpoint, with some settings changed; print a notice if versions differ."""
    try:
        facts = saved.snapshot.part("run").facts
        settings, before = dict(facts["settings"]), dict(facts["versions"])
    except (KeyError, TypeError, ValueError) as error:
        raise UserError(f"the checkpoint of step {saved.step} does not say what it is of: {error}") from None
    now = versions()
    if differing := [f"{name} {before.get(name)} → {now.get(name)}" for name in now if now[name] != before.get(name)]:
        notice(f"made with other versions ({', '.join(differing)}): it goes on, but not bit for bit")
    return resolve({**settings, **changes})


class Prepared(NamedTuple):
    """All that training needs, made and checked, before anything is written."""

    job: Job
    algo: AnyAlgorithm
    plan: Plan
    training: list[Envs]
    evaluation: Envs
    layout: Layout
    placed: str  # where the replay lives, in words
    diagnoser: Diagnoser | None

    @classmethod
    def of(cls, job: Job) -> "Prepared":
        settings, algo, config = job.settings, job.algorithm, job.variants[0].config
        plan, lanes, env = settings.plan, len(job.lane_seeds), (settings.backend, settings.action_repeat)
        training = envs.make_crews(settings.env, lanes, *env)
        evaluation = envs.make(settings.env, copies_needed(algo, config, lanes, plan.eval_episodes), *env)
        layout = Layout(training[0].spec, algo.extras(config))
        place, placed = place_replay(plan.replay, layout.bytes(lanes, plan.capacity))
        diagnoser = _diagnoser(job) if plan.diagnose_every else None
        return cls(job, algo, changed(plan, replay=place), training, evaluation, layout, placed, diagnoser)

    def train(self, parent: Path, saved: Checkpoint | None, show: bool) -> Outcome:
        job, plan = self.job, self.plan
        names = [f"{variant.name} seed {seed}".strip() for variant in job.variants for seed in job.settings.seeds]
        folders = [RunFolder(parent / variant.name, job.settings, variant.config) for variant in job.variants]
        watchdog = envs.Watchdog(plan.env_timeout, self.training)  # evaluations watch over theirs
        first = saved.step if saved else 0
        with Progress(plan.steps, names, show, first) as progress, stop_requests() as stop, _naming_storage(parent):
            recorder = Recorder(job, folders, progress)
            start = self._start(recorder, saved)
            if show:
                print(self.placed, file=sys.stderr)
            writer = CheckpointWriter(parent / "checkpoint", plan.capacity, saved)
            keeper = CheckpointKeeper(writer, recorder, job.flat())
            with watchdog:
                end = self.loop(recorder, stop.made, start, keeper).run()
            agents = self._agents(end.train, end.step)
            for run_folder, agent in zip(folders, agents, strict=True):
                run_folder.save_agent(agent.weights, self.layout.spec, end.step)
            recorder.plot_curves()
        if end.fault:
            kept = f"logs are kept, the agent after {end.step} steps is saved, and {keeper.kept()}"
            raise type(end.fault)(f"{end.fault}; {kept}") from end.fault
        if keeper.failure:
            raise StorageFault(keeper.failure)
        self.close()
        return Outcome([f.path for f in folders], agents, recorder.last, end.step, stop.signal)

    def loop(
        self,
        log: Log,
        should_stop: Callable[[], bool],
        start: Start | None = None,
        keep: Keep = lambda step, snapshot, rows: True,
    ) -> Loop:
        """Return the engine's loop over this job."""
        job = self.job
        return Loop(
            self.algo, self.plan, job.lane_seeds, job.lane_configs(), self.training, self.evaluation, log, should_stop,
            job.settings.reward_scale, start, keep, self.diagnoser,
        )  # fmt: skip

    def close(self) -> None:
        for pool in (*self.training, self.evaluation, *([self.diagnoser.envs] if self.diagnoser else [])):
            pool.close()

    def _start(self, recorder: Recorder, saved: Checkpoint | None) -> Start | None:
        """Write the first files of a new run, or take the logs back to the checkpoint."""
        if not saved:
            for run_folder in recorder.folders:
                run_folder.begin()
            return None
        oldest = max(0, saved.step - self.plan.capacity)
        if saved.segments and saved.segments[0].first > oldest:
            raise UserError(f"the checkpoint of step {saved.step} does not fit: it lacks rows from {oldest} on")
        with fitting(f"the checkpoint of step {saved.step}"):
            engine, logs = (saved.snapshot.part(name) for name in ("engine", "recorder"))
            recorder.restore(logs, saved.step)
        return Start(saved.step, engine, saved.rows())

    def _agents(self, train: TrainState, step: int) -> list[Agent]:
        """Return the agent of each variant."""
        lanes = jax.jit(jax.vmap(self.algo.weights))(train.config, train.state)
        seeds = len(self.job.settings.seeds)

        def part(number: int) -> PyTree:
            return jax.tree.map(lambda leaf: leaf[number * seeds : (number + 1) * seeds], lanes)

        return [Agent(self.job.settings, v.config, step, part(i)) for i, v in enumerate(self.job.variants)]


@contextmanager
def _naming_storage(parent: Path) -> Iterator[None]:
    """Turn an error of the file system into one that names the run."""
    try:
        yield
    except OSError as error:
        raise StorageFault(
            f"{parent} cannot be written: {error.strerror or error}; checkpoints there are whole"
        ) from error


def _diagnoser(job: Job) -> Diagnoser:
    from ..measure.diagnose import diagnose  # imports SciPy, which takes a second
    from ..measure.visits import frozen_normaliser

    settings, algo, config = job.settings, job.algorithm, job.variants[0].config
    insight_of(algo, config)  # fails now, not in the middle of training, if there is none
    copies = copies_needed(algo, config, len(job.lane_seeds), settings.diagnose_episodes)
    pool = envs.make(settings.env, copies, settings.backend, settings.action_repeat)

    def run(configs: Any, weights: PyTree, pool: Envs, seeds: Sequence[int], step: int, **options: Any) -> list[Tables]:
        scaled = {"reward_scale": settings.reward_scale, **options}
        return diagnose(algo, configs, weights, pool, seeds, step, settings.diagnose_episodes, **scaled)

    frozen_normaliser(settings.env)  # here, not in the thread that diagnoses: it makes environments of its own
    return Diagnoser(pool, run)
