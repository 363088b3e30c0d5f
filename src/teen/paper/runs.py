"""From needs to runs: what is there is used, what was cut goes on, and what is missing trains in as few programs as
the shapes of arrays allow."""

import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple

from ..config.job import Job, resolve
from ..disk import lock
from ..disk.aside import holds_leftovers, set_aside
from ..disk.jobs import SET_ASIDE
from ..errors import EnvironmentFault, InUse, LearnerFault, UserError, printable
from ..training import run as training
from ..training.machine import PYTHON
from ..training.outcome import Outcome
from .needs import Need, folder_name
from .store import Store, StoredRun, place

State = Literal["done", "cut", "under way", "missing"]


class PlannedRun(NamedTuple):
    """A program whose lanes, every alpha with every seed, train together."""

    folder: Path
    program: Need  # without alpha, seeds and steps
    alphas: tuple[float, ...]  # empty where the algorithm has no alpha
    seeds: tuple[int, ...]
    steps: int
    state: State
    reached: int  # the step from which it goes on
    resumable: bool = False

    @property
    def lanes(self) -> int:
        return max(len(self.alphas), 1) * len(self.seeds)

    @property
    def left(self) -> int:
        return 0 if self.state == "done" else max(self.steps - self.reached, 0)

    def settings(self) -> dict[str, Any]:
        alpha = list(self.alphas) if len(self.alphas) > 1 else next(iter(self.alphas), None)
        varied = {} if alpha is None else {"alpha": alpha}
        return {**self.program.settings(), **varied, "seeds": list(self.seeds), "steps": self.steps}

    def job(self) -> Job:
        return resolve(self.settings())


class NeededLane(NamedTuple):
    variant: Need
    seed: int
    steps: int  # the most that any experiment needs
    stored: StoredRun | None


def planned_runs(needs: Iterable[Need], out: Path) -> list[PlannedRun]:
    return plan(needs, Store(out))


def plan(needs: Iterable[Need], store: Store) -> list[PlannedRun]:
    """Return the runs that serve all needs, in the order in which they are first needed."""
    steps: dict[tuple[Need, int], int] = {}  # by variant and seed
    for need in needs:
        for seed in need.seeds:
            steps[need.variant(), seed] = max(need.steps, steps.get((need.variant(), seed), 0))
    groups: dict[Path | Need, list[NeededLane]] = {}  # by the folder of a stored program, or by a missing program
    for (variant, seed), most in steps.items():
        stored = store.find(variant, seed)
        key = stored.program_folder if stored else variant.program()
        groups.setdefault(key, []).append(NeededLane(variant, seed, most, stored))
    runs: list[PlannedRun] = []
    for key, lanes in groups.items():
        runs += [_stored(key, lanes, store.alphas(key))] if isinstance(key, Path) else _missing(key, lanes, store.out)
    return runs


def _stored(folder: Path, lanes: Sequence[NeededLane], alphas: tuple[float, ...]) -> PlannedRun:
    runs = [(lane.stored, lane.steps) for lane in lanes if lane.stored]  # all lanes: they are grouped so
    most = max(steps for _, steps in runs)
    done = all(run.complete(steps) for run, steps in runs)
    state: State = "under way" if lock.holder(folder) else "done" if done else "cut"
    first, _ = runs[0]
    if not done and first.checkpoint is not None:
        most = max(most, first.run.settings.get("steps", 0))  # a run that goes on is not made shorter
    seeds = tuple(first.run.settings["seeds"])
    reached = most if done else first.checkpoint or 0
    program = lanes[0].variant.program()
    return PlannedRun(folder, program, alphas, seeds, most, state, reached, first.checkpoint is not None)


def _missing(program: Need, lanes: Sequence[NeededLane], out: Path) -> Iterator[PlannedRun]:
    """Yield one run for all alphas that miss the same seeds."""
    seeds_of: dict[float | None, list[int]] = {}
    for lane in lanes:
        seeds_of.setdefault(lane.variant.alpha, []).append(lane.seed)
    for seeds in dict.fromkeys(map(tuple, seeds_of.values())):
        alphas = [alpha for alpha, missing in seeds_of.items() if tuple(missing) == seeds]
        numbers = tuple(alpha for alpha in alphas if alpha is not None)
        folder = out / place(program) / folder_name(program, numbers, seeds)
        steps = max(lane.steps for lane in lanes if lane.variant.alpha in alphas)
        state: State = "under way" if lock.holder(folder) else "missing"
        yield PlannedRun(folder, program, numbers, seeds, steps, state, 0)


class Failure(NamedTuple):
    planned: PlannedRun
    error: Exception


def train(needs: Sequence[Need], out: Path, command: str = PYTHON) -> tuple[int | None, list[Failure]]:
    """Train what is not done, and return the signal that ended it early and the runs that failed. A failure does not
    keep other runs from training. The plan is made anew before each run: several processes may share the work."""
    failures: list[Failure] = []
    tried: set[Path] = set()
    while todo := [p for p in planned_runs(needs, out) if p.state in ("cut", "missing") and p.folder not in tried]:
        planned = todo[0]
        tried.add(planned.folder)
        print(f"[{len(tried)} of {len(tried) + len(todo) - 1}] {planned.folder.name}", flush=True)
        try:
            outcome = _train(planned, out, command)
        except InUse as taken:  # another process was faster
            print(printable(f"{taken}; this process goes on with the next"), flush=True)
        except (UserError, EnvironmentFault, LearnerFault) as error:
            failures.append(Failure(planned, error))
            print(printable(f"teen: {planned.folder.name}: {error}"), file=sys.stderr, flush=True)
        else:
            if outcome.stopped_by is not None:
                return outcome.stopped_by, failures
    return None, failures


def _train(planned: PlannedRun, out: Path, command: str) -> Outcome:
    if planned.resumable:
        return training.resume(planned.folder, steps=planned.steps, command=command)
    if holds_leftovers(planned.folder):
        why = "has no checkpoint to go on from" if planned.state == "cut" else "is no run with these settings"
        kept = set_aside(planned.folder, out / SET_ASIDE)
        print(f"what there was {why}: it is now in {kept}, and the run begins again", flush=True)
    return training.train_job(planned.job(), planned.folder, command=command)
