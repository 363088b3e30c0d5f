"""What run directories say: settings and learning curves, as arrays."""

import csv
import gzip
import io
import os
import tomllib
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ..errors import UserError

HEADLINE = "mean"  # the policy of the learning curve
BEGINNING = "seed,step,"  # of every log
LARGEST_LOG = 2**30  # bytes
MOST_MEMBERS = 10_000  # a number beyond it is a damaged file
LARGEST_STEP = 2**53  # up to here train.csv's steps, which are read as floats, are exact

NOT_LEARNED_WITH = (  # where and how long a run ran, and what it writes down
    *("seeds", "backend", "steps", "log_every", "members_every", "diagnose_every", "diagnose_episodes"),
    *("checkpoint_every", "env_timeout", "on_nan", "replay"),
)

ADDED_LATER = {"target_entropy": -1.0}  # settings that older runs do not name, and what they had


class Evaluations(NamedTuple):
    """What eval.csv says."""

    seeds: list[int]
    steps: np.ndarray  # (evaluation,)
    returns: np.ndarray  # (seed, evaluation): mean over episodes; NaN where a seed has none, or one is not finite
    episodes: np.ndarray  # (seed, evaluation) how many
    members: dict[int, np.ndarray]  # step: (seed, member) returns, NaN where missing


class Run(NamedTuple):
    """One variant's folder: all its seeds."""

    path: Path
    settings: dict[str, Any]  # of config.toml, flat; without the versions
    versions: dict[str, str]
    seeds: list[int]  # these and the next four as of Evaluations
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
    """The run directories that these are or hold, at any depth, in order and once each. A folder may hold links to
    runs; those deeper inside are not followed."""
    found: dict[Path, Path] = {}  # by where they really are: one may be named in two ways
    for folder in map(Path, folders):
        if not folder.is_dir():
            raise UserError(f"{folder} is not a folder")
        own = sorted(_below(folder, links), key=lambda path: path.parts)
        if not own:
            raise UserError(f"{folder} holds no run: there is no config.toml with an eval.csv beside it")
        for path in own:
            found.setdefault(path.resolve(), path)
    return list(found.values())


def is_run(folder: Path) -> bool:
    return os.path.lexists(folder / "config.toml") and _file(folder, "eval.csv") is not None


def _below(folder: Path, links: bool) -> Iterator[Path]:
    """Passes over folders that vanish meanwhile, and those of checkpoints, as large as they are."""
    for place, inside, _ in os.walk(folder):
        inside[:] = [name for name in inside if name != "checkpoint"]
        if is_run(Path(place)):
            yield Path(place)
        elif links and Path(place) == folder:
            for link in (folder / name for name in inside if (folder / name).is_symlink()):
                yield from _below(link, links=False)


def read(path: Path) -> Run:
    """A run, finished or not. A damaged file is a UserError that names it."""
    try:
        settings = tomllib.loads((path / "config.toml").read_text())
    except (OSError, ValueError, RecursionError) as error:
        raise UserError(f"{path / 'config.toml'} cannot be read: {error}") from None
    versions = settings.pop("versions", {})
    if not isinstance(versions, dict):
        raise UserError(f"{path / 'config.toml'} is damaged: its versions are no table")
    if not isinstance(settings.get("algo"), str) or not isinstance(settings.get("env"), str):
        raise UserError(f"{path / 'config.toml'} names no algo and env")
    own = evaluations(path)
    with log(path, "train.csv") as rows:
        training = _columns(rows)
    return Run(path, settings, dict(versions), *own, training)


def evaluations(path: Path) -> Evaluations:
    scores: dict[tuple[int, int], list[float]] = {}
    members: dict[int, dict[tuple[int, int], float]] = {}
    with log(path, "eval.csv") as rows:
        for row in rows:
            seed, step = whole(row["seed"], LARGEST_STEP), whole(row["step"], LARGEST_STEP)
            if row["policy"] == HEADLINE:
                scores.setdefault((seed, step), []).append(_finite(row["return"]))
            else:
                members.setdefault(step, {})[seed, whole(row["policy"], MOST_MEMBERS)] = _finite(row["return"])
    seeds = sorted({seed for seed, _ in scores})
    steps = np.array(sorted({step for _, step in scores}), int)
    returns = np.array([[np.mean(scores.get((s, t), [np.nan])) for t in steps] for s in seeds])
    episodes = np.array([[len(scores.get((s, t), [])) for t in steps] for s in seeds], int)
    shape = len(seeds), len(steps)
    by_step = {step: _table(own, seeds) for step, own in sorted(members.items())}
    return Evaluations(seeds, steps, returns.reshape(shape), episodes.reshape(shape), by_step)


def labels(runs: Sequence[Run]) -> list[str]:
    """A short name for each: the algorithm, its base learner, and the settings in which runs of the same algorithm,
    base and task differ. What tells runs apart in one task is said in all, so that a name means one thing."""
    shown: dict[str, set[str]] = {}
    for run in runs:
        peers = [other.settings for other in runs if (other.algo, other.env) == (run.algo, run.env)]
        alike = [peer for peer in peers if peer.get("base") == run.settings.get("base")]  # others have other settings
        shown.setdefault(run.algo, set()).update(_differing(peers) & {"base"}, _differing(alike))
    names = []
    for run in runs:
        own = [f"{name}={_short(run.settings[name])}" for name in run.settings if name in shown[run.algo] - {"base"}]
        base = run.settings.get("base")
        if base is not None and ("base" in shown[run.algo] or base != "td3"):
            own.insert(0, f"base={base}")
        names.append(" ".join([run.algo, *own]))
    return names


def _differing(settings: Sequence[dict[str, Any]]) -> set[str]:
    """The settings that do not have one value throughout. An older run may lack some."""
    names = {name for own in settings for name in own if name not in NOT_LEARNED_WITH}
    known = [{**{name: ADDED_LATER[name] for name in names & ADDED_LATER.keys()}, **own} for own in settings]
    values = {name: [own[name] for own in known if name in own] for name in names}
    return {name for name, found in values.items() if any(value != found[0] for value in found)}


def _short(value: Any) -> str:
    """Different values stay different."""
    return f"{value:g}" if isinstance(value, float) and float(f"{value:g}") == value else str(value)


@contextmanager
def log(folder: Path, name: str) -> Iterator[list[dict[str, str]]]:
    """The rows of a log; none where there is no such file. What goes wrong inside is its damage."""
    path = _file(folder, name)
    try:
        yield _rows(path) if path else []
    except UserError:
        raise
    except KeyError as error:
        raise UserError(f"{path} is damaged: it has no column {error}") from None
    except (ValueError, csv.Error) as error:
        raise UserError(f"{path} is damaged: {error}") from None


def _file(folder: Path, name: str) -> Path | None:
    """A log, compressed or not."""
    for path in (folder / name, folder / f"{name}.gz"):
        if os.path.isfile(path):  # False also where it may not be looked at
            return path
    return None


def _rows(path: Path) -> list[dict[str, str]]:
    try:
        with gzip.open(path, "rb") if path.suffix == ".gz" else path.open("rb") as file:
            data = file.read(LARGEST_LOG + 1)
    except (OSError, EOFError, zlib.error) as error:
        raise UserError(f"{path} cannot be read: {error}") from None
    if len(data) > LARGEST_LOG:
        raise UserError(f"{path} is absurdly large")
    text = data.decode(errors="replace")
    whole = text[: text.rfind("\n") + 1]  # a run that is writing just now may have a line half done
    if not whole and not BEGINNING.startswith(text[: len(BEGINNING)]):
        raise ValueError(f"it does not begin with {BEGINNING}")
    rows = list(csv.DictReader(io.StringIO(whole)))
    for number, row in enumerate(rows, 2):
        if None in row or None in row.values():
            raise ValueError(f"line {number} has too {'many' if None in row else 'few'} columns")
    return rows


def whole(text: str, most: int) -> int:
    number = int(text)
    if not 0 <= number <= most:
        raise ValueError(f"{text} is out of range")
    return number


def _finite(text: str) -> float:
    """An infinite return tells no more than none."""
    number = float(text)
    return number if np.isfinite(number) else np.nan


def _columns(rows: list[dict[str, str]]) -> dict[str, np.ndarray]:
    if not rows:
        return {}
    columns = {name: np.array([float(row[name]) for row in rows]) for name in rows[0]}
    for name in ("seed", "step"):
        if not ((columns[name] >= 0) & (columns[name] <= LARGEST_STEP)).all():
            raise ValueError(f"a {name} is out of range")
    return columns


def _table(values: dict[tuple[int, int], float], seeds: list[int]) -> np.ndarray:
    size = 1 + max(member for _, member in values)
    rows = [[values.get((seed, member), np.nan) for member in range(size)] for seed in seeds]
    return np.array(rows, float).reshape(len(seeds), size)
