"""The runs that are in the output folder, found by their settings: a run that somebody trained by hand counts as well.

OUT/runs/PROGRAM/[alpha=0.2/]      curves, which may go on to more steps
OUT/agents/PROGRAM/[alpha=0.2/]    runs that ended in the middle of training, for the agent they had there
"""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ..disk import checkpoint
from ..disk.agent import saved_step
from ..errors import UserError
from ..report import runs as reading
from ..report.runs import ADDED_LATER, Run
from .needs import Entry, Need, learned_with, ranges

RUNS, AGENTS, SET_ASIDE = "runs", "agents", "set-aside"


class Variant(NamedTuple):
    """A variant's folder, and the program that it is of."""

    program: Path  # holds the checkpoints of all its variants
    run: Run
    checkpoint: int | None  # the newest one's step
    agent: int | None  # the saved one's step

    @property
    def reached(self) -> int:
        return int(self.run.steps[-1]) if self.run.steps.size else 0

    def complete(self, steps: int) -> bool:
        """Evaluated up to there, and not cut just then, before its agent was saved."""
        saved = self.agent is not None and self.agent >= steps
        return self.reached >= steps and (saved or self.checkpoint is None or self.checkpoint > steps)

    def serves(self, lane: Need) -> bool:
        had = {**ADDED_LATER, **self.run.settings}
        alike = all(had.get(name) == value for name, value in learned_with(lane).items())
        return alike and (not lane.agent or self.run.settings.get("steps") == lane.steps)


class Trained(NamedTuple):
    """An entry with what there is of it."""

    entry: Entry
    runs: list[Run]  # the needed seeds and steps, of one run or of several
    lacking: str  # what is not there; empty where all is

    @property
    def need(self) -> Need:
        return self.entry.need


class Store:
    def __init__(self, out: Path):
        self.out = out
        self._variants = {place: [*_variants(out / place)] for place in (RUNS, AGENTS)}

    def find(self, lane: Need, seed: int) -> Variant | None:
        """The one that came furthest."""
        able = [
            variant for variant in self._variants[place(lane)] if seed in _seeds(variant.run) and variant.serves(lane)
        ]
        return max(able, key=lambda variant: variant.reached, default=None)

    def alphas(self, program: Path) -> tuple[float, ...]:
        """Of all variants of a program, needed or not."""
        own = [variant for several in self._variants.values() for variant in several if variant.program == program]
        return tuple(v.run.settings["alpha"] for v in own if "alpha" in v.run.settings)

    def trained(self, entry: Entry) -> Trained:
        need, parts = entry.need, dict[Path, tuple[Variant, list[int]]]()
        missing, short, wrong = list[int](), dict[int, list[int]](), dict[int, list[int]]()
        for seed in need.seeds:
            variant = self.find(need.lane(), seed)
            if variant is None:
                missing.append(seed)
                continue
            parts.setdefault(variant.run.path, (variant, []))[1].append(seed)
            if (end := _end(variant.run, seed)) < min(variant.reached, need.steps):
                wrong.setdefault(end, []).append(seed)
            elif not variant.complete(need.steps):
                short.setdefault(variant.reached, []).append(seed)
        lacks = [_words(missing)] if missing else []
        lacks += [f"{_words(own)} after step {step:,}" for step, own in short.items()]
        lacks += [f"{_words(own)}, quarantined after step {step:,}" for step, own in wrong.items()]
        found = [only(variant.run, seeds, need.steps) for variant, seeds in parts.values() if variant.run.steps.size]
        return Trained(entry, found, "; ".join(lacks))


def _words(seeds: list[int]) -> str:
    return f"seed{'s' if len(seeds) > 1 else ''} {ranges(tuple(seeds))}"


def _end(run: Run, seed: int) -> int:
    """A seed's last evaluation: one that is quarantined ends before its run."""
    known = ~np.isnan(run.returns[run.seeds.index(seed)]) if seed in run.seeds else []
    return max(run.steps[known].tolist(), default=0)


def place(lane: Need) -> str:
    return AGENTS if lane.agent else RUNS


def only(run: Run, seeds: Sequence[int], steps: int) -> Run:
    """A run as if it had these of its seeds alone, and had ended with the first evaluation at or after this step."""
    kept = [i for i, seed in enumerate(run.seeds) if seed in seeds]
    until = slice(np.searchsorted(run.steps, steps) + 1)
    end = run.steps[until][-1]
    rows = np.isin(run.training["seed"], seeds) & (run.training["step"] <= end) if run.training else slice(None)
    return run._replace(
        settings={**run.settings, "seeds": list(seeds)},
        seeds=[run.seeds[i] for i in kept],
        steps=run.steps[until],
        returns=run.returns[kept, until],
        episodes=run.episodes[kept, until],
        members={step: table[kept] for step, table in run.members.items() if step <= end},
        training={name: column[rows] for name, column in run.training.items()},
    )


def _seeds(run: Run) -> list[int]:
    asked = run.settings.get("seeds")
    return asked if isinstance(asked, list) else run.seeds


def _variants(folder: Path) -> Iterable[Variant]:
    for program in sorted(folder.iterdir()) if folder.is_dir() else ():
        inside = [program, *sorted(path for path in program.iterdir() if path.is_dir())] if program.is_dir() else []
        for path in [folder for folder in inside if _is_run(folder)]:
            yield Variant(program, reading.read(path), checkpoint.latest(program / "checkpoint"), _agent_step(path))


def _is_run(folder: Path) -> bool:
    logs = (folder / "eval.csv", folder / "eval.csv.gz")
    return (folder / "config.toml").is_file() and any(log.is_file() for log in logs)


def _agent_step(run: Path) -> int | None:
    """A damaged agent is as good as none: a run that ended with a checkpoint saves it again."""
    try:
        return saved_step(run / "agent")
    except UserError:
        return None
