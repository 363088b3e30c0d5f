"""All that training needs, put together and checked: environments, engine, run folders and display."""

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace as changed
from typing import NamedTuple

import jax

from .. import envs
from ..config.job import Job
from ..disk.agent import Agent
from ..disk.checkpoint import Checkpoint, CheckpointWriter
from ..disk.folder import RunFolder
from ..disk.lock import Lock
from ..disk.saved import BEST
from ..engine import device, memory
from ..engine.background import Diagnoser
from ..engine.log import Keep, Log, Several
from ..engine.loop import End, Loop, Start
from ..engine.plan import Plan
from ..engine.program import TrainState
from ..engine.replay import Layout
from ..engine.trainer import place_replay
from ..envs import CompiledEnvs, Envs, Watched
from ..errors import StorageFault, UserError
from ..loggers.base import Logger
from ..settings import Collecting, replace
from ..snapshot import fitting
from ..spec import AnyAlgorithm, PyTree
from . import pools
from .callbacks import Callback
from .feed import Feed
from .keeper import CheckpointKeeper, Kept
from .origin import Origin
from .outcome import Outcome
from .progress import Progress
from .recorder import Recorder
from .stopping import stop_requests


class Prepared(NamedTuple):
    """All that training needs, made and checked, before anything is written."""

    job: Job
    algo: AnyAlgorithm
    plan: Plan
    training: list[Envs] | CompiledEnvs
    evaluation: Envs | CompiledEnvs
    layout: Layout
    placed: str  # where the replay lives and what collects, in words
    diagnoser: Diagnoser | None

    @classmethod
    def of(cls, job: Job) -> "Prepared":
        job.check_learns()
        device.check()
        settings, algo, config = job.settings, job.algorithm, job.variants[0].config
        plan, lanes = settings.plan, len(job.lane_seeds)
        training = pools.training_envs(job)
        collector: Collecting = "compiled" if isinstance(training, CompiledEnvs) else "python"
        job = job._replace(settings=replace(settings, {"collector": collector}))
        plan = job.settings.plan
        spec = training.spec if isinstance(training, CompiledEnvs) else training[0].spec
        layout = Layout(spec, algo.extras(config))
        memory.check(algo, config, layout, lanes, plan)
        evaluation = pools.evaluation_envs(job, collector)
        place, placed = place_replay(plan.replay, layout.bytes(lanes, plan.capacity))
        placed += f"; collector: {collector}"
        diagnoser = pools.diagnoser(job) if plan.diagnose_every else None
        return cls(job, algo, changed(plan, replay=place), training, evaluation, layout, placed, diagnoser)

    def train(
        self,
        lock: Lock,
        saved: Checkpoint | None,
        show: bool,
        callbacks: Sequence[Callback],
        loggers: Mapping[str, Logger],
        command: str,
        origin: Origin | None = None,
        kept: Kept | None = None,
    ) -> Outcome:
        """Train, from a checkpoint or from the start, and there with the networks of `origin`. `kept` is told of every
        checkpoint."""
        job, plan, parent = self.job, self.plan, lock.folder
        names, done = [variant.name for variant in job.variants], saved.step if saved else 0
        folders = [RunFolder(parent / variant.name, job.settings, variant.config) for variant in job.variants]
        progress = Progress(plan, names, job.settings.seeds, show, done)
        with progress, stop_requests(progress.leave) as stop, Feed(job, folders, loggers) as feed:
            recorder = Recorder(job, folders, progress, lock, callbacks, command, origin and origin.facts)
            writer = CheckpointWriter(parent / "checkpoint", plan.capacity, saved)
            keeper = CheckpointKeeper(writer, recorder, job.flat(), kept)

            def work() -> tuple[End, list[Agent], list[Agent | None]]:
                start = self._checked(recorder, saved) if saved else None
                # The loop takes over the checkpoint, or refuses it, before any log is changed.
                with closing(self.loop(Several(recorder, feed), stop.made, start, keeper, origin)) as loop:
                    if show:
                        print(self.placed, file=sys.stderr)
                    if saved:
                        recorder.restore(saved.snapshot.part("recorder"), saved.step)
                    else:
                        recorder.begin()
                    feed.begin(done, recorder.missing, recorder.silent)
                    end = loop.run()
                    agents = self._agents(end.train, end.step)
                    return end, agents, [last.at_best(end.best, i * len(last.seeds)) for i, last in enumerate(agents)]

            with _naming_storage(keeper):
                with closing(keeper):  # waits: from here on it is known which checkpoints are whole
                    end, agents, bests = envs.watched(plan.env_timeout, self._watched(), work, self._beside())
                lock.check()
                for run_folder, last, best in zip(folders, agents, bests, strict=True):
                    run_folder.save_agent(last, self.layout.spec)
                    if best:
                        run_folder.save_agent(best, self.layout.spec, BEST)
                recorder.plot_curves()
        if end.fault:
            left = f"logs are kept, the agent after {end.step} steps is saved, and {keeper.kept()}"
            raise type(end.fault)(f"{end.fault}; {left}") from end.fault
        if keeper.failure:
            raise StorageFault(keeper.failure)
        self.close()
        return Outcome([f.path for f in folders], agents, recorder.last, end.step, stop.signal)

    def loop(
        self,
        log: Log,
        should_stop: Callable[[], bool],
        start: Start | None = None,
        keep: Keep | None = None,
        origin: Origin | None = None,
    ) -> Loop:
        """Return the engine's loop over this job."""
        job = self.job
        return Loop(
            self.algo, self.plan, job.lane_seeds, job.lane_configs(), self.training, self.evaluation, log, should_stop,
            job.settings.reward_scale, start, keep, self.diagnoser, origin.weights if origin else None,
        )  # fmt: skip

    def close(self) -> None:
        for pool in (*self._watched(), *self._beside()):
            pool.close()

    def _watched(self) -> Sequence[Watched]:
        return [self.training] if isinstance(self.training, CompiledEnvs) else self.training

    def _beside(self) -> list[Watched]:
        """Return the environments that evaluations and diagnoses step, in threads of their own."""
        return [self.evaluation, *([self.diagnoser.envs] if self.diagnoser else [])]

    def _checked(self, recorder: Recorder, saved: Checkpoint) -> Start:
        """Compare a checkpoint with the run's folders: everything that can be checked before the engine takes it over.
        Changes nothing."""
        for variant in self.job.variants:
            if variant.name and (saved.folder.parent / variant.name).is_symlink():
                raise UserError(
                    f"{saved.folder.parent / variant.name} is a link: links in a run folder are not followed"
                )
        oldest = max(0, saved.step - self.plan.capacity)
        if saved.segments and saved.segments[0].first > oldest:
            raise UserError(f"the checkpoint of step {saved.step} does not fit: it lacks rows from {oldest} on")
        with fitting(f"the checkpoint of step {saved.step}"):
            engine, logs = (saved.snapshot.part(name) for name in ("engine", "recorder"))
            recorder.check(logs)
        return Start(saved.step, engine, saved.rows())

    def _agents(self, train: TrainState, step: int) -> list[Agent]:
        """Return the agent of each variant."""
        lanes = jax.jit(jax.vmap(self.algo.weights))(train.config, train.state)
        seeds = len(self.job.settings.seeds)

        def part(number: int) -> PyTree:
            return jax.tree.map(lambda leaf: leaf[number * seeds : (number + 1) * seeds], lanes)

        return [Agent(self.job.settings, v.config, step, part(i)) for i, v in enumerate(self.job.variants)]


@contextmanager
def _naming_storage(keeper: CheckpointKeeper) -> Iterator[None]:
    """Turn an error of the file system into one that names the run."""
    try:
        yield
    except OSError as error:
        parent = keeper.writer.folder.parent
        raise StorageFault(f"{parent} cannot be written: {error.strerror or error}; {keeper.kept()}") from error
