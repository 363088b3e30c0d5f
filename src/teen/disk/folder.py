"""The folder of one variant: config.toml, its logs, agent/ and curve.png."""

import os
import re
from contextlib import suppress
from pathlib import Path
from typing import Any

from ..config import toml
from ..config.run import RunSettings
from ..engine.evaluate import HEADLINE, Episode
from ..errors import InUse, UserError
from ..spec import Spec
from . import files, logs, saved
from .agent import Agent
from .aside import holds_leftovers
from .files import write_atomically
from .lock import holder

LONGEST_STEM = 60  # characters: file systems take names of 255 bytes


def check_free(out: Path, locked: bool = False) -> None:
    """Raise a UserError unless this folder is new or empty. `locked` says that this process holds its lock."""
    try:
        free = not os.path.lexists(out) or (out.is_dir() and not holds_leftovers(out))
    except OSError as error:
        raise UserError(f"output folder {out} cannot be used: {error.strerror}") from None
    if not free:
        if not locked and (process := holder(out)):
            raise InUse(out, process)
        raise UserError(f"output folder {out} exists already: choose another --out or remove it")


def claim(settings: RunSettings) -> Path:
    """Make the next free folder runs/ALGO-ENV-k and return it. Of several processes, each gets another one."""
    stem = re.sub(r"[/:\x00]", "-", f"{settings.algo}-{settings.env}")[:LONGEST_STEM]
    runs = Path("runs")
    try:
        runs.mkdir(exist_ok=True)
        for k in range(1, 10**9):
            with suppress(FileExistsError):
                (runs / f"{stem}-{k}").mkdir()
                return runs / f"{stem}-{k}"
    except OSError as error:
        raise UserError(
            f"output folder {runs / stem}-k cannot be made: {error.strerror}; give one with --out"
        ) from None
    raise UserError(f"there is no free folder {runs / stem}-k: give one with --out")


class RunFolder:
    """Writes the files of one variant."""

    def __init__(self, path: Path, settings: RunSettings, config: Any):
        self.path, self.settings, self.config = path, settings, config

    def begin(self) -> None:
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            self._write_config()
            logs.append(self.path, logs.EVAL, [])
        except OSError as error:
            raise UserError(f"output folder {self.path} cannot be written: {error.strerror}") from None

    def check(self, positions: dict[str, int]) -> None:
        """Compare the logs with what a checkpoint knew of them: how long each was. Changes nothing."""
        for name in (*logs.APPENDED, *logs.REPLACED, "config.toml", saved.LAST, saved.BEST):
            if (self.path / name).is_symlink():
                raise UserError(f"{self.path / name} is a link: links in a run folder are not followed")
        expected = [name for name in logs.APPENDED if name == logs.EVAL or name in positions]
        kept = {name: self._until(name, positions.get(name)) for name in expected}
        self._episodes(kept[logs.EVAL])
        for name in logs.REPLACED:
            logs.read_whole(self.path, name)

    def cut(self, positions: dict[str, int], step: int) -> None:
        """Cut the logs back to where a checkpoint knew them. They have been checked."""
        for name in logs.REPLACED:
            logs.remove_after(self.path, name, step)
        for name in logs.APPENDED:
            if name in positions:
                os.truncate(self.path / name, positions[name])
            else:
                (self.path / name).unlink(missing_ok=True)
        self._write_config()

    def _until(self, name: str, position: Any) -> bytes:
        """Return a log's content up to this position."""
        path = self.path / name
        try:
            with files.opened(self.path, name) as file:
                size = os.fstat(file.fileno()).st_size
                data = file.read(position) if type(position) is int and 0 <= position <= size else b""
        except OSError as error:
            raise UserError(f"{path} cannot be read: {error.strerror}") from None
        if type(position) is not int or len(data) != position:
            raise UserError(f"{path} is shorter than its checkpoint says: it was changed since")
        if not data.endswith(b"\n"):
            raise UserError(f"{path} does not end a line where its checkpoint says: it was changed since")
        return data

    def positions(self) -> dict[str, int]:
        """Return how long each log is."""
        return {name: (self.path / name).stat().st_size for name in logs.APPENDED if (self.path / name).exists()}

    def sync(self) -> None:
        """Wait until the logs are on disk."""
        for name in logs.APPENDED:
            if (self.path / name).exists():
                with (self.path / name).open("rb") as file:
                    os.fsync(file.fileno())

    def log_evaluation(self, episodes: list[Episode]) -> None:
        logs.append(self.path, logs.EVAL, episodes)

    def log_training(self, step: int, metrics: list[tuple[int, dict[str, float | None]]]) -> None:
        """Write the metrics of each seed; None is an empty cell. A log keeps the columns that it began with: a later
        version, or an author's change, may have other metrics."""
        if metrics:
            first = logs.COLUMNS[logs.TRAIN]
            names = logs.header(self.path, logs.TRAIN)[len(first) :] or list(metrics[0][1])
            rows = [(seed, step, *(values.get(name) for name in names)) for seed, values in metrics]
            logs.append(self.path, logs.TRAIN, rows, (*first, *names))

    def log_quarantine(self, seed: int, step: int, quantity: str) -> None:
        logs.append(self.path, logs.QUARANTINE, [(seed, step, quantity)])

    def episodes(self) -> list[Episode]:
        """Return all evaluation episodes so far."""
        return self._episodes((self.path / logs.EVAL).read_bytes())

    def _episodes(self, data: bytes) -> list[Episode]:
        with logs.naming_damage(self.path / logs.EVAL):
            rows = logs.parse_whole(data, logs.COLUMNS[logs.EVAL])
            for policy in {row[2] for row in rows} - {HEADLINE}:
                logs.bounded(policy, logs.MOST_MEMBERS)
            return [Episode(int(s), int(t), policy, int(e), float(r), int(n)) for s, t, policy, e, r, n in rows]

    def save_agent(self, agent: Agent, spec: Spec, name: str = saved.LAST) -> None:
        saved.save(self.path / name, agent, spec)

    def _write_config(self) -> None:
        write_atomically(self.path / "config.toml", toml.dump(self.settings, self.config).encode())
