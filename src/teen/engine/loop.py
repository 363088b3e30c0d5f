"""The training loop. It knows lanes, replay and time, and no algorithm.

The host acts and steps the environments, a chunk of steps at a time, while the learner's device stores and learns the
chunk before. What crosses is one packed row per lane and step one way, and the acting members' weights, once a chunk,
the other way. Evaluations run beside both, on the weights of their step.
"""

from collections.abc import Callable, Sequence
from concurrent.futures import Future
from contextlib import suppress
from typing import Any, NamedTuple

import jax
import numpy as np
from jax import Array
from threadpoolctl import threadpool_limits

from ..envs import Envs, Lanes
from ..errors import EnvironmentFault, LearnerFault
from ..snapshot import Blocks, Snapshot, fitting, joined
from ..spec import AnyAlgorithm
from .acting import arrays
from .background import Diagnoser, Due, Evaluator
from .collect import Collector
from .log import Log
from .plan import Plan
from .program import TrainState, program
from .replay import Layout
from .trainer import Trainer


class Start(NamedTuple):
    """Where a run is resumed: its snapshot at that step."""

    step: int
    snapshot: Snapshot
    rows: Blocks


# Keep a checkpoint: the step, all but the replay, and what yields the replay's rows between two steps. Return whether
# it was written.
Keep = Callable[[int, Snapshot, Callable[[int, int], Blocks]], bool]


class End(NamedTuple):
    """What training leaves."""

    train: TrainState
    step: int  # the last one that was learnt
    fault: EnvironmentFault | LearnerFault | None


class Loop:
    """Trains all lanes until the planned steps are done, somebody asks to stop, or an environment fails.

    `seeds` has one entry per lane, the leaves of `config` are (lane,). `envs` has one copy per lane, in crews that take
    turns. `plan.replay` is resolved: `auto` counts as `device`. A run that is resumed from `start` gives what it would
    have given without a stop.
    """

    def __init__(
        self,
        algo: AnyAlgorithm,
        plan: Plan,
        seeds: Sequence[int],
        config: Any,
        envs: Sequence[Envs],
        eval_envs: Envs,
        log: Log,
        should_stop: Callable[[], bool] = lambda: False,
        reward_scale: float = 1.0,
        start: Start | None = None,
        keep: Keep = lambda step, snapshot, rows: True,
        diagnoser: Diagnoser | None = None,
    ):
        self.plan, self.seeds, self.log, self.should_stop, self.keep = plan, seeds, log, should_stop, keep
        layout = Layout(envs[0].spec, algo.extras(config))
        compiled = program(algo, layout, plan.batch, plan.utd, plan.precision)
        self.trainer = Trainer(compiled, layout, seeds, config, plan.capacity, plan.replay)
        self.evaluator = Evaluator(
            algo, self.trainer.config, eval_envs, seeds, plan.eval_episodes, plan.env_timeout, diagnoser
        )
        self.step = start.step if start else 0
        self._kept = start.step if start else None  # of the newest checkpoint
        self._tried = self.step  # of the last attempt at one
        self.chunk = plan.chunk(self.step)
        self._metrics: tuple[int, Future[dict[str, Array]]] | None = None  # asked for at this step
        self._quarantined: dict[int, tuple[int, str]] = {}  # lane: step, quantity
        firsts = np.cumsum([0, *map(len, envs)]).tolist()
        crews = [
            Lanes(crew, seeds[first : first + len(crew)], reward_scale, first, self.step)
            for crew, first in zip(envs, firsts, strict=False)
        ]
        if start:
            with fitting(f"the checkpoint of step {start.step}"):
                self.trainer.restore(start.snapshot.part("trainer"), start.rows)
        self.collector = Collector(algo, self.trainer, crews, self.chunk)
        if start:
            try:
                self._restore(start)
            except BaseException:
                self.close()  # evaluations that were due have begun again
                raise

    def run(self) -> End:
        fault: EnvironmentFault | LearnerFault | None = None
        # Acting multiplies small matrices: more BLAS threads would only take cores from the learner and environments.
        one_thread = threadpool_limits(1, "blas")
        try:
            while self.step < self.plan.steps and not self.should_stop():
                self._train_chunk()
            self._report(wait=True, all_metrics=True)
            self._checkpoint()
        except (EnvironmentFault, LearnerFault) as error:
            fault = error
            with suppress(EnvironmentFault, LearnerFault):  # the first one is the one to tell of
                self._report(wait=True, all_metrics=True)
        finally:
            one_thread.restore_original_limits()
        end = End(self.trainer.train_state(), self.step, fault)
        self.close()
        return end

    def close(self) -> None:
        """End all threads. A process that exits beside a running one may crash."""
        self.evaluator.close()
        self.trainer.close()

    def _train_chunk(self) -> None:
        """Collect a chunk of steps, hand it to the learner, and do what is due at its end."""
        plan = self.plan
        guided = self.step >= plan.warmup
        packed = self.collector.collect(self.step, guided)
        self.step += self.chunk
        if not guided:
            self.trainer.store(packed)
        else:
            self.trainer.learn(packed)
            if self.chunk == 1:  # the exact interleaving: act on what was learnt from the last step
                self.collector.request()
            self.collector.renew()  # else they are those before this chunk, which is learnt while the next is collected
        self._quarantine(self.collector.silent, "an action")

        last = self.step == plan.steps
        evaluate = last or self.step % plan.eval_every == 0
        diagnose = plan.diagnose_every > 0 and (last or self.step % plan.diagnose_every == 0)
        self._report(wait=evaluate or diagnose)
        if self.step > plan.warmup and self.step % plan.log_every == 0:
            self._metrics = self.step, self.trainer.probe(self.collector.episodes)
        if evaluate or diagnose:
            members = evaluate and (last or self.step % plan.members_every == 0)
            active = [lane for lane in range(len(self.seeds)) if lane not in self._quarantined]
            self.evaluator.begin(Due(self.step, self.trainer.weights(), evaluate, members, diagnose, active))
        self.log.stepped(self.step)
        every = plan.checkpoint_every
        if every and self.step // every > self._tried // every and not last:
            self._report(all_metrics=True)  # what is logged belongs to the checkpoint
            self._checkpoint()

    def _report(self, wait: bool = False, all_metrics: bool = False) -> None:
        """Log what has come in; with `wait`, wait for evaluations under way until somebody asks to stop."""
        if self._metrics and (all_metrics or self._metrics[0] < self.step):  # a chunk later the learner has passed it
            step, metrics = self._metrics[0], arrays(self._metrics[1].result())
            self._metrics = None
            if metrics:  # an algorithm may have none
                self._quarantine(~np.isfinite(np.stack(list(metrics.values()))).all(0), "")
            self.log.trained(step, metrics)
        for due, (episodes, diagnoses) in self.evaluator.finished(lambda: wait and not self.should_stop()):
            if episodes is not None:
                empty = [lane in due.lanes and not rows for lane, rows in enumerate(episodes)]
                self._quarantine(np.array(empty), "an action")
                self.log.evaluated(due.step, episodes)
            if diagnoses is not None:
                self.log.diagnosed(due.step, diagnoses)

    def _quarantine(self, suspects: np.ndarray, seen: str) -> None:
        """Take lanes out of the run in which something was not finite, (lane,): if it is in the learner's state, or was
        `seen` in what it does. Nothing changes for the others."""
        for lane in np.flatnonzero(suspects).tolist():
            quantity = "" if lane in self._quarantined else self.trainer.not_finite(lane) or seen
            if not quantity:
                continue
            if self.plan.on_nan == "stop":
                raise LearnerFault(
                    f"{quantity} is not finite in lane {lane}, seed {self.seeds[lane]}, by step {self.step}"
                )
            self._quarantined[lane] = self.step, quantity
            self.collector.silence(lane)
            self.log.quarantined(lane, self.step, quantity)
        if len(self._quarantined) == len(self.seeds):
            raise LearnerFault(f"by step {self.step} no lane is left whose numbers are finite")

    def _checkpoint(self) -> None:
        if self.step == self._kept or not self.plan.checkpoint_every:
            return
        parts = {
            "trainer": self.trainer.snapshot(),
            "collector": self.collector.snapshot(),
            "evaluator": self.evaluator.snapshot(),
            "quarantined": Snapshot({}, [(lane, *since) for lane, since in self._quarantined.items()]),
        }
        if self.keep(self.step, joined(parts), self.trainer.rows):
            self._kept = self.step
        self._tried = self.step

    def _restore(self, start: Start) -> None:
        with fitting(f"the checkpoint of step {start.step}"):
            restarted = self.collector.restore(start.snapshot.part("collector"))
            weights = jax.eval_shape(self.trainer.program.weights, self.trainer.train_state())
            self.evaluator.restore(start.snapshot.part("evaluator"), weights)
            for lane, step, quantity in start.snapshot.facts["quarantined"]:
                self._quarantined[int(lane)] = int(step), str(quantity)
            if not self._quarantined.keys() <= set(range(len(self.seeds))):
                raise ValueError(f"there are no lanes {sorted(self._quarantined)}")
        self.log.restarted(restarted)
