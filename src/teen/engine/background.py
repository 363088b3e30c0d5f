"""Evaluations and diagnoses in a thread, while training goes on."""

import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from typing import Any, NamedTuple

import jax

from ..envs import Envs, awake
from ..errors import EnvironmentFault
from ..snapshot import Snapshot, filled, joined, on_host
from ..spec import AnyAlgorithm, PyTree, Tables
from .evaluate import Episode, evaluate


class Due(NamedTuple):
    """An evaluation that was asked for, a diagnosis, or both."""

    step: int
    weights: Future[PyTree]
    evaluate: bool
    members: bool
    diagnose: bool
    lanes: list[int]


class Evaluated(NamedTuple):
    """The results, per lane; None where they were not asked for."""

    episodes: list[list[Episode]] | None
    diagnoses: list[Tables] | None


class Diagnoser(NamedTuple):
    """What else is measured on the same weights, in environments of its own."""

    envs: Envs
    diagnose: Callable[..., list[Tables]]  # config, weights, envs, seeds, step; lanes=, wanted= -> per lane


class Evaluator:
    """Evaluates weights in a thread of its own while training goes on, one request at a time and in order.

    Nothing in an evaluation depends on when it runs. Its environments spend their time outside Python's lock, so
    that it takes spare cores where there are any.
    """

    def __init__(
        self,
        algo: AnyAlgorithm,
        config: Any,
        envs: Envs,
        seeds: Sequence[int],
        episodes: int,
        timeout: float,
        diagnoser: Diagnoser | None = None,
    ):
        self.algo, self.config, self.envs, self.seeds, self.episodes = algo, config, envs, seeds, episodes
        self.timeout, self.diagnoser = timeout, diagnoser
        self._due: deque[Due] = deque()  # the first of them is under way
        self._thread: _Thread | None = None
        self._closed = False

    def begin(self, due: Due) -> None:
        """Evaluate at once, or after what is due already."""
        self._due.append(due)
        self._proceed()

    def finished(self, patient: Callable[[], bool] = lambda: False) -> Iterator[tuple[Due, Evaluated]]:
        """Yield what has finished since the last call; and the rest too, as long as `patient` says to wait."""
        while self._thread:
            while self._thread.is_alive():
                self._check_hanging()
                if not patient():
                    return
                self._thread.join(0.2)
            done, due, self._thread = self._thread, self._due.popleft(), None
            evaluated = done.result()
            self._proceed()
            yield due, evaluated

    def snapshot(self) -> Snapshot:
        """Return what is due. What is under way will begin again, and give the same results."""
        facts = [{name: fact for name, fact in due._asdict().items() if name != "weights"} for due in self._due]
        weights = [on_host(due.weights.result()) for due in self._due]
        return joined({str(i): Snapshot(*part) for i, part in enumerate(zip(weights, facts, strict=True))})

    def restore(self, snapshot: Snapshot, weights: PyTree) -> None:
        """`weights` has the form of those that were saved."""
        for i in range(len(snapshot.facts)):
            part = snapshot.part(str(i))
            restored: Future[PyTree] = Future()
            restored.set_result(filled(weights, part.arrays))
            step, lanes = int(part.facts["step"]), [int(lane) for lane in part.facts["lanes"]]
            if step < 0 or not lanes or not set(lanes) <= set(range(len(self.seeds))):
                raise ValueError(f"there is no evaluation of lanes {lanes} at step {step}")
            asked = {name: bool(part.facts[name]) for name in ("evaluate", "members", "diagnose")}
            self.begin(Due(step=step, weights=restored, lanes=lanes, **asked))

    def close(self) -> None:
        """Abandon what is under way, at its next step."""
        self._closed = True
        if self._thread:
            self._thread.join(self.timeout)
            self._thread = None

    def _proceed(self) -> None:
        if self._due and not self._thread:
            due = self._due[0]
            self._thread = _Thread(due.step, lambda: self._work(due))

    def _wanted(self) -> bool:
        return not self._closed

    def _work(self, due: Due) -> Evaluated:
        weights = jax.device_put(due.weights.result(), jax.devices("cpu")[0])
        episodes, diagnoses = None, None
        if due.evaluate:
            asked = due.step, self.episodes, due.members, due.lanes
            episodes = evaluate(self.algo, self.config, weights, self.envs, self.seeds, *asked, wanted=self._wanted)
        if due.diagnose and self.diagnoser:
            envs, diagnose = self.diagnoser
            options = {"lanes": due.lanes, "wanted": self._wanted}
            diagnoses = diagnose(self.config, weights, envs, self.seeds, due.step, **options)
        return Evaluated(episodes, diagnoses)

    def _check_hanging(self) -> None:
        for envs in (self.envs, self.diagnoser.envs) if self.diagnoser else (self.envs,):
            busy = envs.busy()
            if busy is None or awake() - busy[1] <= self.timeout:
                continue
            copy, _ = busy
            lane = "unknown" if copy is None else copy * len(self.seeds) // len(envs)
            seed = "unknown" if copy is None else self.seeds[int(lane)]
            self._thread = None  # it is left behind: there is no way to end it
            self._due.clear()
            raise EnvironmentFault(
                f"environment {envs.name} failed in lane {lane}, seed {seed}, in an evaluation: "
                f"did not return within {self.timeout:g} s (--env-timeout)"
            )


class _Thread(threading.Thread):
    def __init__(self, step: int, work: Callable[[], Evaluated]):
        super().__init__(daemon=True, name=f"evaluation at step {step}")
        self._work = work
        self._evaluated: Evaluated | None = None
        self._error: BaseException | None = None
        self.start()

    def run(self) -> None:
        try:
            self._evaluated = self._work()
        except BaseException as error:  # handed to the thread that asks for the result
            self._error = error

    def result(self) -> Evaluated:
        if self._error:
            raise self._error
        assert self._evaluated is not None
        return self._evaluated
