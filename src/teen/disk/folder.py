"""What a run leaves on disk: config.toml, eval.csv, train.csv, agent/ and curve.png; quarantine.csv where a lane went
wrong."""

import csv
import io
import os
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from ..config import job as config
from ..engine.evaluate import Episode
from ..errors import InUse, UserError
from ..spec import PyTree, Spec
from . import agent, diagnostics
from .files import write_atomically
from .lock import holder

EVAL_COLUMNS = ("seed", "step", "policy", "episode", "return", "length")
LOGS = ("eval.csv", "train.csv", "quarantine.csv")
REDRAW_SECONDS = 60


def choose(out: Path | None, run: config.Run) -> Path:
    """The output folder: the given one, which must be new or empty, or the next free runs/ALGO-ENV-k."""
    if out is not None:
        if out.exists() and not (out.is_dir() and not any(path.name != "lock" for path in out.iterdir())):
            if process := holder(out):
                raise InUse(out, process)
            raise UserError(f"output folder {out} exists already: choose another --out or remove it")
        return out
    stem = f"{run.algo}-{run.env}".replace("/", "-").replace(":", "-")
    return next(p for k in range(1, 10**9) if not (p := Path("runs") / f"{stem}-{k}").exists())


class RunDir:
    """The folder of one variant. Rows are written whole and flushed, so that a cut run leaves whole lines."""

    def __init__(self, path: Path, run: config.Run, algo_config: Any):
        self.path, self.run, self.algo_config = path, run, algo_config
        self._drawn = time.monotonic()

    def begin(self) -> None:
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            self._write_config()
            self._append("eval.csv", [EVAL_COLUMNS])
        except OSError as error:
            raise UserError(f"output folder {self.path} cannot be written: {error.strerror}") from None

    def go_on(self, positions: dict[str, int], step: int) -> None:
        """From where the logs were: what was written since is written again. Checks all of them first."""
        kept = {name: self._until(name, positions[name]) for name in LOGS if name in positions}
        _episodes(self.path / "eval.csv", kept.get("eval.csv", ""))
        diagnostics.forget(self.path, step)
        for name in LOGS:
            if name in kept:
                os.truncate(self.path / name, positions[name])
            else:
                (self.path / name).unlink(missing_ok=True)
        self._write_config()

    def _until(self, name: str, position: Any) -> str:
        """A log's text up to where it was."""
        path = self.path / name
        if path.is_symlink() or not path.is_file() or type(position) is not int or path.stat().st_size < position:
            raise UserError(f"{path} is shorter than its checkpoint remembers: it was changed since")
        data = path.read_bytes()[: max(position, 0)]
        if not data.endswith(b"\n"):
            raise UserError(f"{path} does not end a line where its checkpoint remembers: it was changed since")
        return data.decode(errors="replace")

    def positions(self) -> dict[str, int]:
        """How long each log is. They are on disk by then."""
        found = {}
        for name in LOGS:
            if (self.path / name).exists():
                with (self.path / name).open("rb") as file:
                    os.fsync(file.fileno())
                    found[name] = os.fstat(file.fileno()).st_size
        return found

    def _write_config(self) -> None:
        write_atomically(self.path / "config.toml", config.dump(self.run, self.algo_config).encode())

    def _append(self, name: str, rows: Iterable[Sequence[Any]]) -> None:
        text = io.StringIO()
        csv.writer(text, lineterminator="\n").writerows(rows)
        with (self.path / name).open("a") as file:
            file.write(text.getvalue())

    def log_evaluation(self, episodes: list[Episode]) -> None:
        self._append("eval.csv", episodes)
        if time.monotonic() - self._drawn > REDRAW_SECONDS:
            self.draw()

    def log_training(self, step: int, metrics: list[tuple[int, dict[str, float]]]) -> None:
        """Metrics of each seed."""
        if not metrics:
            return
        if not (self.path / "train.csv").exists():
            self._append("train.csv", [("seed", "step", *metrics[0][1])])
        self._append("train.csv", [(seed, step, *values.values()) for seed, values in metrics])

    def log_quarantine(self, seed: int, step: int, quantity: str) -> None:
        if not (self.path / "quarantine.csv").exists():
            self._append("quarantine.csv", [("seed", "step", "quantity")])
        self._append("quarantine.csv", [(seed, step, quantity)])

    def last_evaluation(self) -> list[Episode]:
        """As the log has it."""
        episodes = _episodes(self.path / "eval.csv", (self.path / "eval.csv").read_text())
        return [episode for episode in episodes if episode.step == episodes[-1].step]

    def draw(self) -> None:
        from ..report import curve  # matplotlib takes a second to import: not before it is needed

        title = f"{self.run.algo} on {self.run.env}"
        curve.draw(self.path / "eval.csv", self.path / "curve.png", title)
        self._drawn = time.monotonic()

    def save_agent(self, agents: PyTree, spec: Spec, step: int) -> None:
        agent.save(self.path / "agent", agents, self.run, self.algo_config, spec, step)


def _episodes(path: Path, text: str) -> list[Episode]:
    header, *rows = list(csv.reader(io.StringIO(text))) or [[]]
    try:
        if tuple(header) != EVAL_COLUMNS:
            raise ValueError
        return [Episode(int(s), int(t), policy, int(e), float(r), int(n)) for s, t, policy, e, r, n in rows]
    except ValueError:
        raise UserError(f"{path} is no log of evaluations: it was changed since") from None
