"""The numbers that ours stand beside: the paper's tables, and what others measured on the same tasks."""

import csv
import re
from functools import cache
from importlib.resources import files
from typing import NamedTuple

STEPS = (500_000, 1_000_000)  # of the paper's tables
LAST, BEST = "mean_last_", "per_seed_best_so_far"  # beginnings of the metrics in others' results that are like ours


class Score(NamedTuple):
    mean: float
    spread: float  # the paper says "mean and variance", and prints what must be a standard deviation


class Reference(NamedTuple):
    """Somebody else's result: two means of the same runs, None where one is not given."""

    source: str
    algo: str
    env: str
    seeds: int
    note: str
    window: str  # of the first mean, such as 50k
    last: Score | None
    best: Score | None


def task(env: str) -> str:
    """Return one name for every version and spelling of a task: `HalfCheetah-v3` -> `halfcheetah`, `cheetah_run` and
    `dm_control/cheetah-run` -> `cheetah-run`."""
    return re.sub(r"-v\d+$", "", env.rpartition("/")[2]).lower().replace("_", "-")


def in_paper(algo: str, env: str, step: int) -> Score | None:
    return _paper().get((algo, task(env), step))


def references(algo: str, env: str, step: int) -> list[Reference]:
    """Return others' results at this step, of any kind of the algorithm and on any version of the task."""
    groups: dict[tuple[str, str, str], dict[str, dict[str, str]]] = {}
    for row in _rows("reference_results.csv"):
        family = row["algo"].partition("(")[0].upper()  # SAC of SAC(auto-T)
        if (family, task(row["env"]), int(row["env_step"])) == (algo.upper(), task(env), step):
            groups.setdefault((row["source"], row["algo"], row["env"]), {})[row["metric"]] = row
    results = []
    for group, metrics in groups.items():
        first = next(iter(metrics.values()))
        last = next((name for name in metrics if name.startswith(LAST)), "")
        scores = _score(metrics.get(last)), _score(metrics.get(BEST))
        results.append(Reference(*group, int(first["n"]), first["note"], last.removeprefix(LAST), *scores))
    return results


def _score(row: dict[str, str] | None) -> Score | None:
    return Score(float(row["mean"]), float(row["std"])) if row else None


@cache
def _paper() -> dict[tuple[str, str, int], Score]:
    return {
        (row["algo"], task(row["env"]), int(row["env_step"])): Score(float(row["mean"]), float(row["spread"]))
        for row in _rows("paper_tables.csv")
    }


@cache
def _rows(name: str) -> list[dict[str, str]]:
    return list(csv.DictReader(files(__package__).joinpath(name).read_text().splitlines()))
