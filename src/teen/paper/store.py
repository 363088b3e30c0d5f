"""The runs in the output folder, found by their settings: a run that somebody trained by hand counts as well.

OUT/runs/PROGRAM/[alpha=0.2/]      curves, which may go on to more steps
OUT/agents/PROGRAM/[alpha=0.2/]    runs that ended in the middle of training, for the agent they had there
"""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ..config.facts import JUDGING, values_before
from ..config.job import ranges
from ..disk import checkpoint
from ..disk.saved import saved_step
from ..errors import UserError
from ..report.runs import Run, is_run, read
from .needs import Entry, Need, learning_settings

RUNS, AGENTS = "runs", "agents"


class StoredRun(NamedTuple):
    """One variant's run folder, and how far it came."""

    program_folder: Path  # holds the checkpoints of all variants of the program
    run: Run
    checkpoint: int | None  # step of the newest
    agent: int | None  # step of the saved one

    @property
    def reached(self) -> int:
        return int(self.run.steps[-1]) if self.run.steps.size else 0

    @property
    def episodes_per_step(self) -> float:
        every, episodes = evaluation_of(self.run)
        return episodes / every if every else 0.0

    def complete(self, steps: int) -> bool:
        """Return whether it was evaluated up to this step, and not cut there before its agent was saved."""
        saved = self.agent is not None and self.agent >= steps
        return self.reached >= steps and (saved or self.checkpoint is None or self.checkpoint > steps)

    def serves(self, variant: Need) -> bool:
        had = {**values_before(), **self.run.settings}
        alike = all(had.get(name) == value for name, value in learning_settings(variant).items())
        return alike and (not variant.agent or self.run.settings.get("steps") == variant.steps)


class Trained(NamedTuple):
    """An entry with the runs that are there for it."""

    entry: Entry
    runs: list[Run]  # the needed seeds and steps, which may come from several folders
    lacking: str  # what is not there; empty where all is

    @property
    def need(self) -> Need:
        return self.entry.need


class Store:
    def __init__(self, out: Path):
        self.out = out
        self._runs = {place: list(_stored_runs(out / place)) for place in (RUNS, AGENTS)}

    def find(self, variant: Need, seed: int) -> StoredRun | None:
        """Return the run of this variant and seed that came furthest, the most closely evaluated of several."""
        matches = [run for run in self._runs[place(variant)] if seed in _seeds(run.run) and run.serves(variant)]
        return max(matches, key=lambda run: (run.reached, run.episodes_per_step), default=None)

    def alphas(self, program_folder: Path) -> tuple[float, ...]:
        """Return the alphas of all variants of a program, needed or not."""
        stored = [run for runs in self._runs.values() for run in runs if run.program_folder == program_folder]
        return tuple(run.run.settings["alpha"] for run in stored if "alpha" in run.run.settings)

    def trained(self, entry: Entry) -> Trained:
        need, parts = entry.need, dict[Path, tuple[StoredRun, list[int]]]()
        missing, short, quarantined = list[int](), dict[int, list[int]](), dict[int, list[int]]()
        for seed in need.seeds:
            stored = self.find(need.variant(), seed)
            if stored is None:
                missing.append(seed)
                continue
            parts.setdefault(stored.run.path, (stored, []))[1].append(seed)
            if (end := _last_evaluation(stored.run, seed)) < min(stored.reached, need.steps):
                quarantined.setdefault(end, []).append(seed)
            elif not stored.complete(need.steps):
                short.setdefault(stored.reached, []).append(seed)
        lacks = [_words(missing)] if missing else []
        lacks += [f"{_words(seeds)} after step {step:,}" for step, seeds in short.items()]
        lacks += [f"{_words(seeds)}, quarantined after step {step:,}" for step, seeds in quarantined.items()]
        runs = [cut(stored.run, seeds, need.steps) for stored, seeds in parts.values() if stored.run.steps.size]
        return Trained(entry, runs, "; ".join(lacks))


def _words(seeds: list[int]) -> str:
    return f"seed{'s' if len(seeds) > 1 else ''} {ranges(tuple(seeds))}"


def _last_evaluation(run: Run, seed: int) -> int:
    """Return the step of a seed's last evaluation. A quarantined seed ends before its run."""
    evaluated = ~np.isnan(run.returns[run.seeds.index(seed)]) if seed in run.seeds else []
    return max(run.steps[evaluated].tolist(), default=0)


def evaluation_of(run: Run) -> tuple[int, int]:
    """Return the steps between a run's evaluations, and their episodes. What a file says may be nonsense: then 0."""
    said = [run.settings.get(name) for name in JUDGING]
    every, episodes = (value if isinstance(value, int) and value > 0 else 0 for value in said)
    return every, episodes


def place(need: Need) -> str:
    return AGENTS if need.agent else RUNS


def cut(run: Run, seeds: Sequence[int], steps: int) -> Run:
    """Return a run as if it had only these seeds and had ended with the first evaluation at or after this step."""
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


def _stored_runs(folder: Path) -> Iterable[StoredRun]:
    for program in sorted(folder.iterdir()) if folder.is_dir() else ():
        variants = sorted(path for path in program.iterdir() if path.is_dir()) if program.is_dir() else []
        for path in filter(is_run, [program, *variants]):
            yield StoredRun(program, read(path), checkpoint.latest(program / "checkpoint"), _agent_step(path))


def _agent_step(run: Path) -> int | None:
    """Return the step of the saved agent. A damaged one counts as none: a run that goes on saves it again."""
    try:
        return saved_step(run / "agent")
    except UserError:
        return None
