"""What an experiment needs: a variant of an algorithm trained on a task, for some seeds and steps."""

from functools import cache
from typing import Any, NamedTuple

from ..config.facts import BOOKKEEPING, JUDGING
from ..config.job import ranges, resolve
from ..settings import number_text
from . import scale


class Need(NamedTuple):
    algo: str
    env: str
    alpha: float | None  # may differ between the lanes of a program; None where the algorithm has no alpha
    changes: tuple[tuple[str, Any], ...]  # settings beside the preset's
    seeds: tuple[int, ...]
    steps: int
    smoke: bool = False
    preset: str = scale.PRESET
    agent: bool = False  # needs the agent of exactly this step, so its run ends there

    def settings(self) -> dict[str, Any]:
        common = {"preset": self.preset, "algo": self.algo, "env": self.env, **scale.settings(self.algo, self.smoke)}
        return {**common, **dict(self.changes), **({} if self.alpha is None else {"alpha": self.alpha})}

    def variant(self) -> "Need":
        """Return what tells variants apart. Seeds may come from several runs, and the longest run serves all needs."""
        return self._replace(seeds=(), steps=self.steps if self.agent else 0)

    def program(self) -> "Need":
        """Return what all lanes of one compiled program have in common."""
        return self.variant()._replace(alpha=None)


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
def learning_settings(variant: Need) -> dict[str, Any]:
    """Return the settings that a run must share to serve this need. It may be evaluated more or less often: the page
    says so."""
    settings = resolve(variant.settings()).flat()
    return {name: value for name, value in settings.items() if name not in BOOKKEEPING and name not in JUDGING}


def needed(
    algo: str, env: str, alpha: float | None, changes: tuple[tuple[str, Any], ...], extent: scale.Extent
) -> Need:
    """Return a need of this preset, or of the paper's where both have the same settings: one run serves both."""
    need = Need(algo, env, alpha, changes, *extent)
    papers = need._replace(preset=scale.PRESET)
    return papers if learning_settings(papers.variant()) == learning_settings(need.variant()) else need


@cache
def wanted_evaluation(variant: Need) -> tuple[int, int]:
    """Return the steps between the preset's evaluations, and their episodes."""
    plan = resolve(variant.settings()).settings.plan
    return plan.eval_every, plan.eval_episodes


@cache
def preset_alpha(env: str, preset: str) -> float:
    """Return this preset's alpha for the suite of this task."""
    job = resolve({"preset": preset, "algo": "teen", "env": env})
    return float(job.variants[0].config.alpha)


def folder_name(program: Need, alphas: tuple[float, ...], seeds: tuple[int, ...]) -> str:
    """Return a name that says everything in which planned runs differ, except the number of steps, which may grow."""
    parts = [
        f"{program.algo}-{program.env}".replace("/", "-").replace(":", "-"),
        *(f"{name}={number_text(value)}" for name, value in program.changes),
        *([f"alpha={'+'.join(number_text(alpha) for alpha in alphas)}"] if alphas else []),
        f"seeds={ranges(seeds)}",
        *([f"steps={program.steps}"] if program.agent else []),
    ]
    marks = ["smoke"] * program.smoke + [program.preset] * (program.preset != scale.PRESET)
    return "-".join([*marks, ",".join(parts)])
