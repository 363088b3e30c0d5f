"""Evaluations and diagnoses, each in a thread of their own, while training goes on."""

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from typing import Any, Generic, NamedTuple, TypeVar

import jax

from ..envs import CompiledEnvs, Envs, awake
from ..errors import EnvironmentFault
from ..snapshot import Snapshot, filled, joined, on_host
from ..spec import AnyAlgorithm, PyTree, Tables
from .best import Best, Kept
from .episodes import CompiledEpisodes
from .evaluate import Episode, evaluate
from .work import Work

T = TypeVar("T")


class Due(NamedTuple):
    """An evaluation that was asked for, or a diagnosis."""

    step: int
    weights: Future[PyTree]
    lanes: list[int]
    members: bool = False  # whether each member is evaluated by itself, too


class Diagnoser(NamedTuple):
    """What else is measured on the same weights, in environments of its own."""

    envs: Envs
    diagnose: Callable[..., list[Tables]]  # config, weights, envs, seeds, step; lanes=, wanted= -> per lane


class Background(Generic[T]):
    """Measures weights in a thread of its own while training goes on, one request at a time and in order.

    No result depends on when it is measured. The environments spend their time outside Python's lock, so that the
    thread takes spare cores where there are any.
    """

    def __init__(
        self,
        what: str,
        envs: Envs | CompiledEnvs,
        seeds: Sequence[int],
        timeout: float,
        measure: Callable[[Due, PyTree, Callable[[], bool]], T],
        end: Callable[[float], None] = lambda timeout: None,
    ):
        """`measure` gets what is due, its weights on the host, and what says whether it is still wanted; `end` ends the
        threads that it uses."""
        self.what, self.envs, self.seeds, self.timeout = what, envs, seeds, timeout
        self.measure, self.end = measure, end
        self._due: deque[Due] = deque()  # the first of them is under way
        self._thread: Work[T] | None = None
        self._closed = self._left_behind = False

    def begin(self, due: Due) -> None:
        """Measure at once, or after what is due already."""
        self._due.append(due)
        self._proceed()

    def finished(self, patient: Callable[[], bool] = lambda: False) -> Iterator[tuple[Due, T]]:
        """Yield what has finished since the last call; and the rest too, as long as `patient` says to wait."""
        while self._thread:
            while self._thread.is_alive():
                self._check_hanging()
                if not patient():
                    return
                self._thread.join(0.2)
            done, due, self._thread = self._thread, self._due.popleft(), None
            result = done.result()
            self._proceed()
            yield due, result

    def owes(self, step: int) -> bool:
        """Return whether something that was asked for before this step is not finished."""
        return any(due.step < step for due in self._due)

    def snapshot(self) -> Snapshot:
        """Return what is due. What is under way will begin again, and give the same results."""
        facts = [{"step": due.step, "lanes": due.lanes, "members": due.members} for due in self._due]
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
                raise ValueError(f"there cannot be {self.what} of lanes {lanes} at step {step}")
            self.begin(Due(step, restored, lanes, bool(part.facts["members"])))

    def close(self) -> None:
        """Abandon what is under way, at its next step."""
        self._closed = True
        if self._thread:
            self._thread.join(self.timeout)
            self._thread = None
        self.end(0 if self._left_behind else self.timeout)

    def _proceed(self) -> None:
        if self._due and not self._thread:
            due = self._due[0]
            self._thread = Work(f"{self.what} at step {due.step}", lambda: self._work(due), daemon=True)

    def _work(self, due: Due) -> T:
        weights = jax.device_put(due.weights.result(), jax.devices("cpu")[0])
        return self.measure(due, weights, lambda: not self._closed)

    def _check_hanging(self) -> None:
        busy = self.envs.busy()
        if busy is None or awake() - busy[1] <= self.timeout:
            return
        copy, _ = busy
        copy = copy[0] if isinstance(copy, range) else copy  # all of one lane
        lane = "unknown" if copy is None else copy * len(self.seeds) // len(self.envs)
        seed = "unknown" if copy is None else self.seeds[int(lane)]
        self._thread, self._left_behind = None, True  # there is no way to end it
        self._due.clear()
        raise EnvironmentFault(
            f"environment {self.envs.name} failed in lane {lane}, seed {seed}, in {self.what}: "
            f"did not return within {self.timeout:g} s (--env-timeout)"
        )


class Evaluation(NamedTuple):
    episodes: list[list[Episode]]  # each lane's rows
    better: dict[int, Kept]  # lanes that were never better


def evaluations(
    algo: AnyAlgorithm,
    config: Any,
    envs: Envs | CompiledEnvs,
    seeds: Sequence[int],
    episodes: int,
    timeout: float,
    best: Best,
) -> Background[Evaluation]:
    """Return what evaluates, and compares with the best so far."""
    played = CompiledEpisodes(envs, seeds) if isinstance(envs, CompiledEnvs) else envs

    def measure(due: Due, weights: PyTree, wanted: Callable[[], bool]) -> Evaluation:
        asked = due.step, episodes, due.members, due.lanes
        rows = evaluate(algo, config, weights, played, seeds, *asked, wanted=wanted)
        return Evaluation(rows, best.better(due.step, weights, rows))

    end = [played.close] if isinstance(played, CompiledEpisodes) else []
    return Background("an evaluation", envs, seeds, timeout, measure, *end)


def diagnoses(diagnoser: Diagnoser, config: Any, seeds: Sequence[int], timeout: float) -> Background[list[Tables]]:
    """Return what diagnoses: each lane's tables."""

    def measure(due: Due, weights: PyTree, wanted: Callable[[], bool]) -> list[Tables]:
        envs, diagnose = diagnoser
        return diagnose(config, weights, envs, seeds, due.step, lanes=due.lanes, wanted=wanted)

    return Background("a diagnosis", diagnoser.envs, seeds, timeout, measure)
