"""Read run folders: settings and learning curves, as arrays. They may be a stranger's: all that is read is bounded."""

import os
from array import array
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ..config.toml import CONFIG
from ..disk.jobs import CHECKPOINTS, SET_ASIDE
from ..disk.logs import EVAL, LARGEST_STEP, TRAIN, Columns, TooLarge, find_log, read_columns, whole_numbers
from ..errors import UserError
from .evaluations import Evaluations, Piece, as_columns, check_size, tabulated
from .settings import read_settings

MOST_NUMBERS = 16_000_000  # in train.csv; ten seeds of a million steps have 150,000
MOST_TOGETHER = 100_000_000  # numbers of runs that are read at once
DEEPEST = 100  # folders inside each other


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

    @property
    def numbers(self) -> int:
        """How many it holds in memory."""
        arrays = (self.returns, self.episodes, *self.members.values(), *self.training.values())
        return sum(values.size for values in arrays)


def find(folders: Sequence[str | Path], links: bool = True) -> list[Path]:
    """Return the run folders that these are or contain, at any depth, in order and once each. Links directly in one of
    these folders are followed, deeper ones are not."""
    paths: dict[Path, Path] = {}  # by resolved path: a folder may be named in two ways
    for folder in map(Path, folders):
        if not os.path.isdir(folder):  # also False where the name is too long
            raise UserError(f"{folder} is not a folder")
        inside = sorted(_below(folder, links), key=lambda path: path.parts)
        if not inside:
            raise UserError(f"{folder} holds no run: there is no config.toml with an eval.csv beside it")
        for path in inside:
            paths.setdefault(Path(os.path.realpath(path)), path)
    return list(paths.values())


def is_run(folder: Path) -> bool:
    return os.path.lexists(folder / CONFIG) and find_log(folder, EVAL) is not None


def _below(folder: Path, links: bool) -> Iterator[Path]:
    """Yield run folders. Skip folders that vanish meanwhile, checkpoints, which are large, and what was set aside."""
    for place, inside, _ in os.walk(folder):
        deep = len(Path(place).parts) - len(folder.parts) >= DEEPEST
        inside[:] = [name for name in inside if name not in (CHECKPOINTS, SET_ASIDE) and not deep]
        if is_run(Path(place)):
            yield Path(place)
        elif links and Path(place) == folder:
            for link in (folder / name for name in inside if (folder / name).is_symlink()):
                yield from _below(link, links=False)


def read_all(paths: Sequence[Path]) -> list[Run]:
    """Read runs that are shown beside each other."""
    runs, numbers = [], 0
    for path in paths:
        runs.append(read(path))
        numbers += runs[-1].numbers
        if numbers > MOST_TOGETHER:
            raise UserError(f"these runs are too large to be read together, from {path} on: name fewer of them")
    return runs


def read(path: Path) -> Run:
    """Read a run, finished or not. A damaged file is a UserError that names it."""
    settings, versions = read_settings(path)
    evaluated = evaluations(path)
    with read_columns(path, TRAIN) as pieces:
        training = _columns(pieces)
    return Run(path, settings, versions, *evaluated, training)


def evaluations(path: Path) -> Evaluations:
    """Read the eval.csv of a run folder."""
    with read_columns(path, EVAL) as pieces:
        episodes = as_columns(map(_episodes, pieces))
        check_size(episodes)
    return tabulated(episodes)


def _episodes(piece: Columns) -> Piece:
    seeds, steps = (whole_numbers(piece[name], LARGEST_STEP) for name in ("seed", "step"))
    return seeds, steps, piece["policy"], map(float, piece["return"])


def evaluations_of(episodes: Iterable[tuple[int, int, str, float]]) -> Evaluations:
    """Return the evaluations that consist of these episodes: (seed, step, policy, return)."""
    return tabulated(as_columns(([seed], [step], [policy], [score]) for seed, step, policy, score in episodes))


def _columns(pieces: Iterable[Columns]) -> dict[str, np.ndarray]:
    columns: dict[str, array[float]] = {}
    for piece in pieces:
        for name, texts in piece.items():
            filled = [text or "nan" for text in texts] if "" in texts else texts  # no episode ended there
            columns.setdefault(name, array("d")).extend(map(float, filled))
        if sum(map(len, columns.values())) > MOST_NUMBERS:
            raise TooLarge(f"it has more than {MOST_NUMBERS:,} numbers")
    table = {name: np.array(column) for name, column in columns.items()}
    for name in ("seed", "step") if table else ():
        if not ((table[name] >= 0) & (table[name] <= LARGEST_STEP)).all():
            raise ValueError(f"a {name} is out of range")
    return table
