"""The numbers that ours stand beside: the paper's tables, and what others measured on the same tasks."""

import csv
import re
from collections.abc import Iterator
from functools import cache
from importlib.resources import files
from typing import NamedTuple

STEPS = (500_000, 1_000_000)  # of the paper's tables
LAST, BEST = "mean_last_", "per_seed_best_so_far"  # how others' metrics begin that are like ours


class Score(NamedTuple):
    mean: float
    spread: float  # the paper says "mean and variance", and prints what must be a standard deviation


class Reference(NamedTuple):
    """Somebody else's result: two means of the same runs, as far as they are known."""

    source: str
    algo: str
    env: str
    seeds: int
    note: str
    window: str  # of the first mean, such as 50k
    last: Score | None
    best: Score | None


def task(env: str) -> str:
    """The same for every version and spelling of a task: `HalfCheetah-v3` -> `halfcheetah`, `cheetah_run` and
    `dm_control/cheetah-run` -> `cheetah-run`."""
    return re.sub(r"-v\d+$", "", env.rpartition("/")[2]).lower().replace("_", "-")


def in_paper(algo: str, env: str, step: int) -> Score | None:
    return _paper().get((algo, task(env), step))


def others(algo: str, env: str, step: int) -> list[Reference]:
    """Of the same algorithm, whatever it is called more exactly, on any version of the task, at that step."""
    groups: dict[tuple[str, str, str], dict[str, dict[str, str]]] = {}
    for row in _references():
        if (_family(row["algo"]), task(row["env"]), int(row["env_step"])) == (algo.upper(), task(env), step):
            groups.setdefault((row["source"], row["algo"], row["env"]), {})[row["metric"]] = row
    return [_reference(metrics) for metrics in groups.values()]


def _reference(metrics: dict[str, dict[str, str]]) -> Reference:
    any_row = next(iter(metrics.values()))
    last = next((name for name in metrics if name.startswith(LAST)), "")
    return Reference(
        any_row["source"],
        any_row["algo"],
        any_row["env"],
        int(any_row["n"]),
        any_row["note"],
        last.removeprefix(LAST),
        _score(metrics.get(last)),
        _score(metrics.get(BEST)),
    )


def _score(row: dict[str, str] | None) -> Score | None:
    return Score(float(row["mean"]), float(row["std"])) if row else None


def _family(name: str) -> str:
    """`SAC(auto-T)` -> `SAC`"""
    return name.partition("(")[0].upper()


@cache
def _paper() -> dict[tuple[str, str, int], Score]:
    return {
        (row["algo"], task(row["env"]), int(row["env_step"])): Score(float(row["mean"]), float(row["spread"]))
        for row in _rows("paper_tables.csv")
    }


@cache
def _references() -> list[dict[str, str]]:
    return list(_rows("reference_results.csv"))


def _rows(name: str) -> Iterator[dict[str, str]]:
    return csv.DictReader(files(__package__).joinpath(name).read_text().splitlines())
