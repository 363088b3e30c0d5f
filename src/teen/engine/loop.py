"""The training loop. It knows lanes, replay and time, and no algorithm.

The host acts and steps the environments, a chunk of steps at a time, while the learner's device stores and learns the
chunk before. What crosses is one packed row per lane and step one way, and the acting members' weights, once a chunk,
the other way. Evaluations and diagnoses run beside both, on the weights of their step.
"""

from collections.abc import Callable, Sequence
from concurrent.futures import Future
from contextlib import suppress
from typing import Any, NamedTuple

import jax
import numpy as np
from jax import Array
from threadpoolctl import threadpool_limits

from ..envs import CompiledEnvs, Envs
from ..errors import NONE_LEFT, EnvironmentFault, LearnerFault
from ..snapshot import Blocks, Snapshot, fitting, joined
from ..spec import AnyAlgorithm, PyTree
from .acting import arrays
from .background import Diagnoser, Due, diagnoses, evaluations
from .best import Best, Kept, of_one_lane
from .collect import Collector, in_crews
from .compiled import CompiledCollector
from .log import Keep, Log
from .plan import Plan
from .program import TrainState, program
from .replay import Layout
from .tally import Tally
from .trainer import Trainer


class Start(NamedTuple):
    """Where a run is resumed: its snapshot at that step."""

    step: int
    snapshot: Snapshot
    rows: Blocks


class End(NamedTuple):
    """What training leaves."""

    train: TrainState
    step: int  # the last one that was learnt
    best: dict[int, Kept]  # of each lane that was evaluated
    fault: EnvironmentFault | LearnerFault | None


class Loop:
    """Trains all lanes until the planned steps are done, somebody asks to stop, or an environment fails.

    `seeds` has one entry per lane, the leaves of `config` are (lane,). `envs` has one copy per lane: to be stepped in a
    compiled program, or in crews that take turns. `plan.replay` is resolved: `auto` counts as `device`. A run that is
    resumed from `start` gives what it would have given without a stop. `weights` are those of a `Trainer`.
    """

    def __init__(
        self,
        algo: AnyAlgorithm,
        plan: Plan,
        seeds: Sequence[int],
        config: Any,
        envs: Sequence[Envs] | CompiledEnvs,
        eval_envs: Envs | CompiledEnvs,
        log: Log,
        should_stop: Callable[[], bool] = lambda: False,
        reward_scale: float = 1.0,
        start: Start | None = None,
        keep: Keep | None = None,
        diagnoser: Diagnoser | None = None,
        weights: PyTree = None,
    ):
        self.plan, self.seeds, self.log, self.should_stop, self.keep = plan, seeds, log, should_stop, keep
        spec = envs.spec if isinstance(envs, CompiledEnvs) else envs[0].spec
        layout = Layout(spec, algo.extras(config))
        compiled = program(algo, layout, plan.batch, plan.utd, plan.precision, plan.n_step)
        self.trainer = Trainer(compiled, layout, seeds, config, plan.capacity, plan.replay, weights)
        known = self.trainer.config
        self.best = Best()
        self.evaluator = evaluations(algo, known, eval_envs, seeds, plan.eval_episodes, plan.env_timeout, self.best)
        self.diagnoser = diagnoses(diagnoser, known, seeds, plan.env_timeout) if diagnoser else None
        self.step = start.step if start else 0
        self._tried = self.step  # of the last attempt at a checkpoint
        self.chunk = plan.chunk(self.step)
        self.tally = Tally(layout, len(seeds))
        # Asked for at this step, with the means of the episodes up to it.
        self._metrics: tuple[int, dict[str, np.ndarray], Future[dict[str, Array]]] | None = None
        self._quarantined: dict[int, tuple[int, str]] = {}  # lane: step, quantity
        self._closed = False
        if start:
            with fitting(f"the checkpoint of step {start.step}"):
                self.trainer.restore(start.snapshot.part("trainer"), start.rows)
        self.collector: Collector | CompiledCollector
        if isinstance(envs, CompiledEnvs):
            self.collector = CompiledCollector(algo, self.trainer, envs, seeds, reward_scale, self.chunk, self.step)
        else:
            self.collector = Collector(algo, self.trainer, in_crews(envs, seeds, reward_scale, self.step), self.chunk)
        if start:
            try:
                self._restore(start)
            except BaseException:
                self.close()  # evaluations that were due have begun again
                raise
        if max(self.step, plan.warmup) < plan.steps:  # else nothing is left to learn
            self.trainer.compile_ahead(self.chunk, metrics=plan.log_every <= plan.steps)

    def run(self) -> End:
        fault: EnvironmentFault | LearnerFault | None = None
        # Acting multiplies small matrices: more BLAS threads would only take cores from the learner and environments.
        one_thread = threadpool_limits(1, "blas")
        try:
            if self.step and self.step % self.plan.eval_every == 0:  # stopped before the evaluation due here was told
                self._report(evaluate=True)
                self._settle(self.step)
            while self.step < self.plan.steps and not self.should_stop() and not self.log.may_end():
                self._train_chunk()
            self._report(evaluate=True, diagnose=True, all_metrics=True)
            if self.step == self.plan.steps or self.log.may_end():  # else it goes on, and tells when it is due
                self._settle(self.step + 1)
            self._checkpoint()
            self.log.ended(self.step)
        except (EnvironmentFault, LearnerFault) as error:
            fault = error
            with suppress(EnvironmentFault, LearnerFault):  # the first one is the one to tell of
                self._report(evaluate=True, diagnose=True, all_metrics=True)
        finally:
            one_thread.restore_original_limits()
        end = End(self.trainer.train_state(), self.step, self.best.lanes, fault)
        self.close()
        return end

    def close(self) -> None:
        """End all threads. A process that exits beside a running one may crash."""
        if self._closed:
            return
        self._closed = True
        self.evaluator.close()
        if self.diagnoser:
            self.diagnoser.close()
        self.collector.close()
        self.trainer.close()

    def _train_chunk(self) -> None:
        """Collect a chunk of steps, hand it to the learner, and do what is due at its end."""
        plan = self.plan
        guided = self.step >= plan.warmup
        after = self.step + self.chunk
        then = after >= plan.warmup if after < plan.steps else None
        packed = self.collector.collect(self.step, guided, then)
        self.step = after
        self.tally.add(packed)
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
        self._report(evaluate, diagnose)
        if evaluate:
            self._settle(self.step)
        if self.step > plan.warmup and self.step % plan.log_every == 0:
            self._metrics = self.step, self.tally.take(), self.trainer.probe(self.collector.episodes)
        silent = self.log.silent()
        active = [lane for lane in range(len(self.seeds)) if lane not in self._quarantined and lane not in silent]
        if active and (evaluate or diagnose):
            due = Due(self.step, self.trainer.weights(), active)
            if evaluate:
                self.evaluator.begin(due._replace(members=last or self.step % plan.members_every == 0))
            if diagnose and self.diagnoser:
                self.diagnoser.begin(due)
        self.log.stepped(self.step)
        every = plan.checkpoint_every
        if every and self.step // every > self._tried // every and not last:
            self._report(all_metrics=True)  # what is logged belongs to the checkpoint
            if not self.log.may_end():  # else the end has one, in which all has been told
                self._checkpoint()

    def _report(self, evaluate: bool = False, diagnose: bool = False, all_metrics: bool = False) -> None:
        """Log what has come in. Before the next evaluation or diagnosis, wait for those of its kind that are under way,
        until somebody asks to stop."""
        if self._metrics and (all_metrics or self._metrics[0] < self.step):  # a chunk later the learner has passed it
            (step, played, asked), self._metrics = self._metrics, None
            metrics = arrays(asked.result())
            if metrics:  # an algorithm may have none
                self._quarantine(~np.isfinite(np.stack(list(metrics.values()))).all(0), "")
            self.log.trained(step, {**played, **metrics})
        for due, (episodes, better) in self.evaluator.finished(lambda: evaluate and not self.should_stop()):
            silent = self.log.silent()  # a stop may have come between the evaluation and the silence
            self.best.take({lane: kept for lane, kept in better.items() if lane not in silent})
            empty = [lane in due.lanes and not rows for lane, rows in enumerate(episodes)]
            self._quarantine(np.array(empty), "an action")
            self.log.evaluated(due.step, episodes)
        if self.diagnoser:
            for due, tables in self.diagnoser.finished(lambda: diagnose and not self.should_stop()):
                self.log.diagnosed(due.step, tables)

    def _settle(self, step: int) -> None:
        """Say that all evaluations before this step have been told, unless a stop cut the wait for them."""
        if not self.evaluator.owes(step):
            self.log.settled(step)

    def _quarantine(self, suspects: np.ndarray, seen: str) -> None:
        """Take lanes out of the run in which something was not finite, (lane,): if it is in the learner's state, or was
        `seen` in what it does. Nothing changes for the others."""
        silent = self.log.silent()
        for lane in np.flatnonzero(suspects).tolist():
            quantity = "" if lane in self._quarantined or lane in silent else self.trainer.not_finite(lane) or seen
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
            raise LearnerFault(f"by step {self.step} {NONE_LEFT}")

    def _checkpoint(self) -> None:
        if not self.keep or not self.plan.checkpoint_every or self.keep.written() == self.step:
            return
        parts = {
            "trainer": self.trainer.snapshot(),
            "collector": self.collector.snapshot(),
            "tally": self.tally.snapshot(),
            "evaluator": self.evaluator.snapshot(),
            "diagnoser": self.diagnoser.snapshot() if self.diagnoser else Snapshot({}, {}),
            "best": self.best.snapshot(),
            "quarantined": Snapshot({}, [(lane, *since) for lane, since in self._quarantined.items()]),
        }
        self.keep(self.step, joined(parts), self.trainer.rows)
        self._tried = self.step

    def _restore(self, start: Start) -> None:
        with fitting(f"the checkpoint of step {start.step}"):
            restarted = self.collector.restore(start.snapshot.part("collector"))
            tally = start.snapshot.part("tally") if "tally" in start.snapshot.facts else None
            self.tally.restore(tally, self.collector.episodes)
            self.trainer.cut(start.step, list(restarted))
            weights = jax.eval_shape(self.trainer.program.weights, self.trainer.train_state())
            best = start.snapshot.part("best") if "best" in start.snapshot.facts else Snapshot({}, {})
            self.best.restore(best, of_one_lane(weights), len(self.seeds))
            self.evaluator.restore(start.snapshot.part("evaluator"), weights)
            if self.diagnoser:
                self.diagnoser.restore(start.snapshot.part("diagnoser"), weights)
            for lane, step, quantity in start.snapshot.facts["quarantined"]:
                self._quarantined[int(lane)] = int(step), str(quantity)
            if not self._quarantined.keys() <= set(range(len(self.seeds))):
                raise ValueError(f"there are no lanes {sorted(self._quarantined)}")
        self.log.restarted(list(restarted.values()))
