"""The folder of one variant: config.toml, its logs, agent/ and curve.png."""

import os
from pathlib import Path
from typing import Any

from ..config import toml
from ..config.run import RunSettings
from ..engine.evaluate import HEADLINE, Episode
from ..errors import InUse, UserError
from ..spec import PyTree, Spec
from . import agent, logs
from .files import write_atomically
from .lock import holder


def choose(out: Path | None, settings: RunSettings) -> Path:
    """Return the output folder: the given one, which must be new or empty, or the next free runs/ALGO-ENV-k."""
    if out is not None:
        if out.exists() and not (out.is_dir() and all(path.name == "lock" for path in out.iterdir())):
            if process := holder(out):
                raise InUse(out, process)
            raise UserError(f"output folder {out} exists already: choose another --out or remove it")
        return out
    stem = f"{settings.algo}-{settings.env}".replace("/", "-").replace(":", "-")
    return next(p for k in range(1, 10**9) if not (p := Path("runs") / f"{stem}-{k}").exists())


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

    def resume(self, positions: dict[str, int], step: int) -> None:
        """Cut the logs back to where a checkpoint knew them. All are checked first."""
        expected = [name for name in logs.APPENDED if name == logs.EVAL or name in positions]
        kept = {name: self._until(name, positions.get(name)) for name in expected}
        self._episodes(kept[logs.EVAL])
        for name in logs.REPLACED:
            logs.remove_after(self.path, name, step)
        for name in logs.APPENDED:
            if name in kept:
                os.truncate(self.path / name, positions[name])
            else:
                (self.path / name).unlink(missing_ok=True)
        self._write_config()

    def _until(self, name: str, position: Any) -> bytes:
        """Return a log's content up to this position."""
        path = self.path / name
        if path.is_symlink() or not path.is_file() or type(position) is not int or path.stat().st_size < position:
            raise UserError(f"{path} is shorter than its checkpoint says: it was changed since")
        data = path.read_bytes()[: max(position, 0)]
        if not data.endswith(b"\n"):
            raise UserError(f"{path} does not end a line where its checkpoint says: it was changed since")
        return data

    def positions(self) -> dict[str, int]:
        """Return how long each log is, once it is on disk."""
        sizes = {}
        for name in logs.APPENDED:
            if (self.path / name).exists():
                with (self.path / name).open("rb") as file:
                    os.fsync(file.fileno())
                    sizes[name] = os.fstat(file.fileno()).st_size
        return sizes

    def log_evaluation(self, episodes: list[Episode]) -> None:
        logs.append(self.path, logs.EVAL, episodes)

    def log_training(self, step: int, metrics: list[tuple[int, dict[str, float]]]) -> None:
        """Write the metrics of each seed."""
        if metrics:
            rows = [(seed, step, *values.values()) for seed, values in metrics]
            logs.append(self.path, logs.TRAIN, rows, (*logs.COLUMNS[logs.TRAIN], *metrics[0][1]))

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

    def save_agent(self, weights: PyTree, spec: Spec, step: int) -> None:
        agent.save(self.path / "agent", weights, self.settings, self.config, spec, step)

    def _write_config(self) -> None:
        write_atomically(self.path / "config.toml", toml.dump(self.settings, self.config).encode())
