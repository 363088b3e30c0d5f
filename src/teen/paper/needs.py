"""What an experiment needs: a variant of an algorithm trained on a task, for some seeds and steps."""

from functools import cache
from typing import Any, NamedTuple

from ..config import job as config
from ..report.runs import NOT_LEARNED_WITH
from ..settings import flat
from . import scale

PRESET = "paper"


class Need(NamedTuple):
    algo: str
    env: str
    alpha: float | None  # the number that lanes of one program may differ in; none where the algorithm has none
    changes: tuple[tuple[str, Any], ...]  # settings beside the preset's
    seeds: tuple[int, ...]
    steps: int
    smoke: bool = False
    agent: bool = False  # the agent of exactly this step, not the curve up to it: its run ends there

    def settings(self) -> dict[str, Any]:
        own = {"preset": PRESET, "algo": self.algo, "env": self.env, **scale.settings(self.algo, self.smoke)}
        return {**own, **dict(self.changes), **({} if self.alpha is None else {"alpha": self.alpha})}

    def lane(self) -> "Need":
        """Whose seeds may come from several runs, of which the longest serves all."""
        return self._replace(seeds=(), steps=self.steps if self.agent else 0)

    def program(self) -> "Need":
        """What one compiled program can train together."""
        return self.lane()._replace(alpha=None)


class Entry(NamedTuple):
    """A need as an experiment shows it."""

    label: str
    need: Need
    group: str = ""  # curves of different groups go into different panels
    paper: str = ""  # its name in the paper's tables

    @property
    def name(self) -> str:
        return ", ".join(filter(None, (self.label, self.group)))

    @property
    def panel(self) -> str:
        return " ".join(filter(None, (self.need.env, self.group.replace("α", "alpha"))))  # names files as well


@cache
def learned_with(lane: Need) -> dict[str, Any]:
    """The settings that a run must have to be what is needed."""
    job = config.resolve(lane.settings())
    every = {**flat(job.run), **flat(job.variants[0].config)}
    return {name: value for name, value in every.items() if name not in NOT_LEARNED_WITH}


@cache
def preset_alpha(env: str) -> float:
    """The paper's for the suite of this task."""
    job = config.resolve({"preset": PRESET, "algo": "teen", "env": env})
    return float(job.variants[0].config.alpha)


def folder_name(program: Need, alphas: tuple[float, ...], seeds: tuple[int, ...]) -> str:
    """Says everything in which runs that are needed differ, the number of steps aside: that may grow."""
    parts = [
        f"{program.algo}-{program.env}".replace("/", "-").replace(":", "-"),
        *(f"{name}={value:g}" for name, value in program.changes),
        *([f"alpha={'+'.join(f'{alpha:g}' for alpha in alphas)}"] if alphas else []),
        f"seeds={ranges(seeds)}",
        *([f"steps={program.steps}"] if program.agent else []),
    ]
    return ("smoke-" if program.smoke else "") + ",".join(parts)


def ranges(seeds: tuple[int, ...]) -> str:
    """0-4+7"""
    found: list[list[int]] = []
    for seed in sorted(seeds):
        if found and seed == found[-1][-1] + 1:
            found[-1].append(seed)
        else:
            found.append([seed])
    return "+".join(f"{run[0]}-{run[-1]}" if len(run) > 1 else str(run[0]) for run in found)
