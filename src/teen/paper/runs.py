"""From needs to programs: what is there is used, what was cut goes on, what is missing trains in as few programs as
the shapes of arrays allow."""

import shutil
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple

from ..config import job as config
from ..disk import lock
from ..errors import EnvironmentFault, InUse, LearnerFault, UserError
from ..training import run as training
from .needs import Need, folder_name
from .store import SET_ASIDE, Store, Variant, place

State = Literal["done", "cut", "under way", "missing"]


class Program(NamedTuple):
    """Lanes that train together: every alpha with every seed."""

    folder: Path
    like: Need  # without alpha, seeds and steps
    alphas: tuple[float, ...]  # none where the algorithm has none
    seeds: tuple[int, ...]
    steps: int
    state: State
    reached: int  # from where it goes on
    resumable: bool = False

    @property
    def lanes(self) -> int:
        return max(len(self.alphas), 1) * len(self.seeds)

    @property
    def left(self) -> int:
        return 0 if self.state == "done" else max(self.steps - self.reached, 0)

    def settings(self) -> dict[str, Any]:
        several = list(self.alphas) if len(self.alphas) > 1 else next(iter(self.alphas), None)
        alpha = {} if several is None else {"alpha": several}
        return {**self.like.settings(), **alpha, "seeds": list(self.seeds), "steps": self.steps}

    def job(self) -> config.Job:
        return config.resolve(self.settings())


def programs(needs: Iterable[Need], out: Path) -> list[Program]:
    return of_store(needs, Store(out))


def of_store(needs: Iterable[Need], store: Store) -> list[Program]:
    """Those that serve all needs, in the order in which they are first needed."""
    steps: dict[tuple[Need, int], int] = {}  # of each lane and seed: the most that anybody needs
    for need in needs:
        for seed in need.seeds:
            steps[need.lane(), seed] = max(need.steps, steps.get((need.lane(), seed), 0))
    there: dict[Path, list[tuple[Variant, Need, int]]] = {}
    missing: dict[Need, dict[float | None, dict[int, int]]] = {}  # by program and alpha: steps of each seed
    order: dict[Path | Need, None] = {}
    for (lane, seed), wanted in steps.items():
        variant = store.find(lane, seed)
        if variant:
            there.setdefault(variant.program, []).append((variant, lane, wanted))
        else:
            missing.setdefault(lane.program(), {}).setdefault(lane.alpha, {})[seed] = wanted
        order.setdefault(variant.program if variant else lane.program())
    found: list[Program] = []
    for key in order:
        found += (
            [_there(key, there[key], store.alphas(key))]
            if isinstance(key, Path)
            else _missing(key, missing[key], store.out)
        )
    return found


def _there(folder: Path, lanes: Sequence[tuple[Variant, Need, int]], alphas: tuple[float, ...]) -> Program:
    variant, like, _ = lanes[0]
    wanted = max(steps for *_, steps in lanes)
    done = all(variant.complete(steps) for variant, _, steps in lanes)
    state: State = "under way" if lock.holder(folder) else "done" if done else "cut"
    seeds = tuple(variant.run.settings["seeds"])
    resumable = variant.checkpoint is not None
    reached = wanted if done else variant.checkpoint or 0
    return Program(folder, like.program(), alphas, seeds, wanted, state, reached, resumable)


def _missing(like: Need, alphas: dict[float | None, dict[int, int]], out: Path) -> Iterator[Program]:
    """Those that miss the same seeds together."""
    groups: dict[tuple[int, ...], list[float | None]] = {}
    for alpha, own_steps in alphas.items():
        groups.setdefault(tuple(own_steps), []).append(alpha)
    for seeds, several in groups.items():
        own = tuple(alpha for alpha in several if alpha is not None)
        folder = out / place(like) / folder_name(like, own, seeds)
        wanted = max(steps for alpha in several for steps in alphas[alpha].values())
        yield Program(folder, like, own, seeds, wanted, "under way" if lock.holder(folder) else "missing", 0)


class Failure(NamedTuple):
    program: Program
    error: Exception


def train(needs: Sequence[Need], out: Path, failures: list[Failure]) -> int | None:
    """Trains what is not done. A program that fails is noted, and the others go on. Returns the signal that ended it
    early. What there is is looked at again before each program: several processes may share the work."""
    tried: set[Path] = set()
    while todo := [p for p in programs(needs, out) if p.state in ("cut", "missing") and p.folder not in tried]:
        program = todo[0]
        tried.add(program.folder)
        print(f"[{len(tried)} of {len(tried) + len(todo) - 1}] {program.folder.name}", flush=True)
        try:
            outcome = _train(program, out)
        except InUse as taken:  # since a moment ago
            print(f"{taken}; this process goes on with the next", flush=True)
        except (UserError, EnvironmentFault, LearnerFault) as error:
            failures.append(Failure(program, error))
            print(f"teen: {program.folder.name}: {error}", file=sys.stderr, flush=True)
        else:
            if outcome.stopped_by is not None:
                return outcome.stopped_by
    return None


def _train(program: Program, out: Path) -> training.Outcome:
    if program.resumable:
        return training.resume(program.folder, steps=program.steps)
    if program.folder.is_dir() and any(path.name != "lock" for path in program.folder.iterdir()):
        why = "has no checkpoint to go on from" if program.state == "cut" else "is no run with these settings"
        kept = _set_aside(program.folder, out / SET_ASIDE)
        print(f"what there was {why}: it is now in {kept}, and the run begins again", flush=True)
    return training.run(program.job(), program.folder)


def _set_aside(folder: Path, to: Path) -> Path:
    """Nothing can go on from there, and nothing is thrown away."""
    if process := lock.holder(folder):
        raise InUse(folder, process)
    to.mkdir(exist_ok=True)
    free = next(p for k in range(1, 10**9) if not (p := to / f"{folder.name}-{k}").exists())
    shutil.move(folder, free)
    return free
