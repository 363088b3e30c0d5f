"""The training loop. It knows lanes, replay and time, and no algorithm.

The host acts and steps the environments, a chunk of steps at a time, while the learner's device stores and learns the
chunk before. What crosses is one packed row per lane and step one way, and the acting members' weights, once a chunk,
the other way. Evaluations run beside both, on snapshots.
"""

import math
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from contextlib import suppress
from typing import Literal, NamedTuple, Protocol

import jax
import numpy as np
from jax import Array
from threadpoolctl import threadpool_limits

from ..disk.diagnostics import Tables
from ..envs import Envs, Lanes
from ..errors import EnvironmentFault, LearnerFault, UserError
from ..nets import Precision
from ..snapshot import BAD_RECORD, Blocks, Record, joined
from ..spec import Algorithm, PyTree
from .acting import arrays
from .collect import Collector
from .evaluate import Diagnosis, Due, Episode, Evaluations
from .learner import Learning
from .program import Learner, program
from .replay import Layout, Place


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
    checkpoint_every: int = 0  # 0: never
    diagnose_every: int = 0  # 0: never
    first: int = 0  # the step from which a run goes on
    on_nan: Literal["quarantine", "stop"] = "quarantine"

    @property
    def chunk(self) -> int:
        """Steps between two hand-overs: the largest number up to `sync` that divides every interval, first and last."""
        intervals = self.warmup, self.log_every, self.eval_every, self.members_every, self.diagnose_every
        common = math.gcd(self.first, self.steps, *intervals)  # zeros are passed over
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
    def diagnosed(self, step: int, lanes: list[Tables]) -> None: ...
    def quarantined(self, lane: int, step: int, quantity: str) -> None: ...
    def begun_again(self, lines: list[str]) -> None: ...


class Start(NamedTuple):
    """Where a run goes on: what it kept."""

    step: int
    record: Record
    rows: Blocks


# Keeps a checkpoint: the step, all but the replay, and what gives the replay's rows between two steps. Says whether it
# could.
Keep = Callable[[int, Record, Callable[[int, int], Blocks]], bool]


class End(NamedTuple):
    """What training leaves."""

    learner: Learner
    step: int  # learnt
    fault: EnvironmentFault | LearnerFault | None


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
    start: Start | None = None,
    keep: Keep = lambda step, record, rows: True,
    diagnosis: Diagnosis | None = None,
) -> End:
    """Trains all lanes until the planned steps are done, somebody asks to stop, or an environment fails.

    `envs` has one copy per lane, in crews that take turns. A run that goes on from `start` gives what it would have
    given without a stop.
    """
    plan = plan._replace(first=start.step if start else 0)
    layout = Layout(envs[0].spec, algo.extras)
    run = program(algo, layout, plan.batch, plan.utd, plan.precision)
    learning = Learning(run, layout, seeds, hypers, plan.capacity, plan.replay)
    evaluations = Evaluations(algo, eval_envs, seeds, plan.eval_episodes, plan.env_timeout, diagnosis)
    metrics: tuple[int, Future[dict[str, Array]]] | None = None
    quarantined: dict[int, tuple[int, str]] = {}  # lane: step, quantity
    step = kept = tried = 0  # the steps of the newest checkpoint, and of the last attempt at one
    fault: EnvironmentFault | LearnerFault | None = None

    def crews() -> list[Lanes]:
        firsts = np.cumsum([0, *map(len, envs)]).tolist()
        return [Lanes(e, seeds[i : i + len(e)], reward_scale, i, step) for e, i in zip(envs, firsts, strict=False)]

    def recall(start: Start) -> Collector:
        nonlocal step, kept, tried
        step = kept = tried = start.step
        try:
            learning.recall(start.record.part("learning"), start.rows)
            collector = Collector(algo, learning, crews(), plan.chunk)
            begun_again = collector.recall(start.record.part("collector"))
            evaluations.recall(start.record.part("evaluations"), jax.eval_shape(run.agents, learning.learner().state))
            quarantined.update(
                {int(lane): (int(at), str(what)) for lane, at, what in start.record.facts["quarantined"]}
            )
            if not quarantined.keys() <= set(range(len(seeds))):
                raise ValueError(f"there are no lanes {sorted(quarantined)}")
        except BAD_RECORD as error:
            raise UserError(f"the checkpoint of step {start.step} does not fit this run: {error}") from error
        log.begun_again(begun_again)
        return collector

    def checkpoint() -> None:
        nonlocal kept, tried
        if step == kept or not plan.checkpoint_every:
            return
        parts = {
            "learning": learning.record(),
            "collector": collector.record(),
            "evaluations": evaluations.record(),
            "quarantined": Record({}, [(lane, *since) for lane, since in quarantined.items()]),
        }
        kept, tried = step if keep(step, joined(parts), learning.rows) else kept, step

    def report(wait: bool = False, all_metrics: bool = False) -> None:
        """What has come in; with `wait`, evaluations under way are waited for until somebody asks to stop."""
        nonlocal metrics
        if metrics and (all_metrics or metrics[0] < step):  # a chunk later the learner has passed it
            at, found = metrics[0], arrays(metrics[1].result())
            metrics = None
            broken = ~np.isfinite(np.stack(list(found.values()))).all(0)
            quarantine(broken, "")
            log.trained(at, found)
        for due, (episodes, diagnoses) in evaluations.finished(lambda: wait and not should_stop()):
            if episodes is not None:
                quarantine(np.array([i in due.lanes and not own for i, own in enumerate(episodes)]), "an action")
                log.evaluated(due.step, episodes)
            if diagnoses is not None:
                log.diagnosed(due.step, diagnoses)

    def quarantine(suspects: np.ndarray, seen: str) -> None:
        """Lanes in which something was not finite, (lane,): if it is the learner's state, or was `seen` in what it
        does, they no longer count. Nothing changes for the others."""
        for lane in np.flatnonzero(suspects).tolist():
            quantity = "" if lane in quarantined else learning.not_finite(lane) or seen
            if not quantity:
                continue
            if plan.on_nan == "stop":
                raise LearnerFault(f"{quantity} is not finite in lane {lane}, seed {seeds[lane]}, by step {step}")
            quarantined[lane] = step, quantity
            collector.silence(lane)
            log.quarantined(lane, step, quantity)
        if len(quarantined) == len(seeds):
            raise LearnerFault(f"by step {step} no lane is left whose numbers are finite")

    collector = recall(start) if start else Collector(algo, learning, crews(), plan.chunk)
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
            quarantine(collector.silent, "an action")

            last = step == plan.steps
            evaluate = last or step % plan.eval_every == 0
            diagnose = plan.diagnose_every > 0 and (last or step % plan.diagnose_every == 0)
            report(wait=evaluate or diagnose)
            if step > plan.warmup and step % plan.log_every == 0:
                metrics = step, learning.probe(collector.episodes)
            if evaluate or diagnose:
                members = evaluate and (last or step % plan.members_every == 0)
                active = [lane for lane in range(len(seeds)) if lane not in quarantined]
                evaluations.begin(Due(step, learning.agents(), evaluate, members, diagnose, active))
            log.stepped(step)
            passed = plan.checkpoint_every and step // plan.checkpoint_every > tried // plan.checkpoint_every
            if passed and step < plan.steps:
                report(all_metrics=True)  # what is logged belongs to the checkpoint
                checkpoint()
        report(wait=True, all_metrics=True)
        checkpoint()
    except (EnvironmentFault, LearnerFault) as error:
        fault = error
    finally:
        one_thread.restore_original_limits()
    if fault:
        with suppress(EnvironmentFault, LearnerFault):  # the first one is the one to tell of
            report(wait=True, all_metrics=True)
    evaluations.close()
    learner = learning.learner()
    learning.close()
    return End(learner, step, fault)
