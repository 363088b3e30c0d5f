"""Read run folders: settings and learning curves, as arrays."""

import os
import tomllib
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ..config.facts import BOOKKEEPING, values_before
from ..disk.logs import EVAL, LARGEST_STEP, MOST_MEMBERS, TRAIN, Row, bounded, find_log, read_log
from ..errors import UserError

HEADLINE = "mean"  # the policy of the learning curve


class Evaluations(NamedTuple):
    """The content of eval.csv."""

    seeds: list[int]
    steps: np.ndarray  # (evaluation,)
    returns: np.ndarray  # (seed, evaluation): mean over episodes; NaN where a seed has none, or one is not finite
    episodes: np.ndarray  # (seed, evaluation) how many
    members: dict[int, np.ndarray]  # step: (seed, member) returns, NaN where missing


class Run(NamedTuple):
    """One variant's run folder: all its seeds."""

    path: Path
    settings: dict[str, Any]  # of config.toml, flat; without the versions
    versions: dict[str, str]
    seeds: list[int]  # these and the next four as in Evaluations
    steps: np.ndarray
    returns: np.ndarray
    episodes: np.ndarray
    members: dict[int, np.ndarray]
    training: dict[str, np.ndarray]  # train.csv by column, "seed" and "step" among them; empty if there is none

    @property
    def algo(self) -> str:
        return str(self.settings["algo"])

    @property
    def env(self) -> str:
        return str(self.settings["env"])


def find(folders: Sequence[str | Path], links: bool = True) -> list[Path]:
    """Return the run folders that these are or contain, at any depth, in order and once each. Links directly in one of
    these folders are followed, deeper ones are not."""
    paths: dict[Path, Path] = {}  # by resolved path: a folder may be named in two ways
    for folder in map(Path, folders):
        if not folder.is_dir():
            raise UserError(f"{folder} is not a folder")
        inside = sorted(_below(folder, links), key=lambda path: path.parts)
        if not inside:
            raise UserError(f"{folder} holds no run: there is no config.toml with an eval.csv beside it")
        for path in inside:
            paths.setdefault(path.resolve(), path)
    return list(paths.values())


def is_run(folder: Path) -> bool:
    return os.path.lexists(folder / "config.toml") and find_log(folder, EVAL) is not None


def _below(folder: Path, links: bool) -> Iterator[Path]:
    """Yield run folders. Skip folders that vanish meanwhile, and checkpoints, which are large."""
    for place, inside, _ in os.walk(folder):
        inside[:] = [name for name in inside if name != "checkpoint"]
        if is_run(Path(place)):
            yield Path(place)
        elif links and Path(place) == folder:
            for link in (folder / name for name in inside if (folder / name).is_symlink()):
                yield from _below(link, links=False)


def read(path: Path) -> Run:
    """Read a run, finished or not. A damaged file is a UserError that names it."""
    try:
        settings = tomllib.loads((path / "config.toml").read_text())
    except (OSError, ValueError, RecursionError) as error:
        raise UserError(f"{path / 'config.toml'} cannot be read: {error}") from None
    versions = settings.pop("versions", {})
    if not isinstance(versions, dict):
        raise UserError(f"{path / 'config.toml'} is damaged: its versions are no table")
    if not isinstance(settings.get("algo"), str) or not isinstance(settings.get("env"), str):
        raise UserError(f"{path / 'config.toml'} names no algo and env")
    evaluated = evaluations(path)
    with read_log(path, TRAIN) as rows:
        training = _columns(rows)
    return Run(path, settings, dict(versions), *evaluated, training)


def evaluations(path: Path) -> Evaluations:
    """Read the eval.csv of a run folder."""
    with read_log(path, EVAL) as rows:
        evaluated = evaluations_of(map(_episode, rows))
    return evaluated


def _episode(row: Row) -> tuple[int, int, str, float]:
    seed, step = (bounded(row[name], LARGEST_STEP) for name in ("seed", "step"))
    return seed, step, row["policy"], float(row["return"])


def evaluations_of(episodes: Iterable[tuple[int, int, str, float]]) -> Evaluations:
    """Return the evaluations that consist of these episodes: (seed, step, policy, return). The policy is "mean" or the
    number of a member; another one is a ValueError. A return that is not finite counts as missing."""
    scores: dict[tuple[int, int], list[float]] = {}  # by seed and step
    members: dict[int, dict[tuple[int, int], float]] = {}  # by step, then by seed and member
    for seed, step, policy, score in episodes:
        score = score if np.isfinite(score) else np.nan
        if policy == HEADLINE:
            scores.setdefault((seed, step), []).append(score)
        else:
            members.setdefault(step, {})[seed, bounded(policy, MOST_MEMBERS)] = score
    seeds = sorted({seed for seed, _ in scores})
    steps = np.array(sorted({step for _, step in scores}), int)
    shape = len(seeds), len(steps)
    returns = np.array([np.mean(scores.get((seed, step), [np.nan])) for seed in seeds for step in steps])
    counts = np.array([len(scores.get((seed, step), [])) for seed in seeds for step in steps], int)
    tables = {}  # by step: (seed, member) returns
    for step, values in sorted(members.items()):
        size = 1 + max(member for _, member in values)
        rows = [[values.get((seed, member), np.nan) for member in range(size)] for seed in seeds]
        tables[step] = np.array(rows, float).reshape(len(seeds), size)
    return Evaluations(seeds, steps, returns.reshape(shape), counts.reshape(shape), tables)


def labels(runs: Sequence[Run]) -> list[str]:
    """Return a short name for each run: the algorithm, its base learner, and the settings in which runs of the same
    algorithm, base and task differ. A setting that differs within one task is named in all tasks."""
    shown: dict[str, set[str]] = {}  # settings to name, by algorithm
    for run in runs:
        peers = [other.settings for other in runs if (other.algo, other.env) == (run.algo, run.env)]
        same_base = [peer for peer in peers if peer.get("base") == run.settings.get("base")]
        bases = [{"base": peer["base"]} for peer in peers if "base" in peer]
        shown.setdefault(run.algo, set()).update(_differing(bases), _differing(same_base))
    names = []
    for run in runs:
        parts = [f"{name}={_short(run.settings[name])}" for name in run.settings if name in shown[run.algo] - {"base"}]
        base = run.settings.get("base")
        if base is not None and ("base" in shown[run.algo] or base != "td3"):
            parts.insert(0, f"base={base}")
        names.append(" ".join([run.algo, *parts]))
    return names


def _differing(runs: Sequence[dict[str, Any]]) -> set[str]:
    """Return the settings that do not have one value in all runs. An older run may lack some."""
    names = {name for settings in runs for name in settings} - BOOKKEEPING
    complete = runs
    if any(names - settings.keys() for settings in runs):  # only then, since it imports JAX
        before = {name: value for name, value in values_before().items() if name in names}
        complete = [{**before, **settings} for settings in runs]
    values = {name: [settings[name] for settings in complete if name in settings] for name in names}
    return {name for name, (first, *others) in values.items() if any(other != first for other in others)}


def _short(value: Any) -> str:
    """Return a text that is different for different values."""
    return f"{value:g}" if isinstance(value, float) and float(f"{value:g}") == value else str(value)


def _columns(rows: list[Row]) -> dict[str, np.ndarray]:
    if not rows:
        return {}
    columns = {name: np.array([float(row[name]) for row in rows]) for name in rows[0]}
    for name in ("seed", "step"):
        if not ((columns[name] >= 0) & (columns[name] <= LARGEST_STEP)).all():
            raise ValueError(f"a {name} is out of range")
    return columns
