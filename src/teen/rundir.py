"""What a run leaves on disk: config.toml, eval.csv, train.csv, agent/ and curve.png."""

import csv
import io
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from . import agent, config
from .errors import UserError
from .evaluate import Episode
from .spec import PyTree, Spec

EVAL_COLUMNS = ("seed", "step", "policy", "episode", "return", "length")
REDRAW_SECONDS = 60


def choose(out: Path | None, run: config.Run) -> Path:
    """The output folder: the given one, which must be new or empty, or the next free runs/ALGO-ENV-k."""
    if out is not None:
        if out.exists() and not (out.is_dir() and not any(out.iterdir())):
            raise UserError(f"output folder {out} exists already: choose another --out or remove it")
        return out
    stem = f"{run.algo}-{run.env}".replace("/", "-").replace(":", "-")
    return next(p for k in range(1, 10**9) if not (p := Path("runs") / f"{stem}-{k}").exists())


class RunDir:
    """The folder of one variant. Rows are written whole and flushed, so that a cut run leaves whole lines."""

    def __init__(self, path: Path, run: config.Run, algo_config: Any):
        self.path, self.run, self.algo_config = path, run, algo_config
        self._drawn = time.monotonic()
        try:
            path.mkdir(parents=True, exist_ok=True)
            (path / "config.toml").write_text(config.dump(run, algo_config))
            self._append("eval.csv", [EVAL_COLUMNS])
        except OSError as error:
            raise UserError(f"output folder {path} cannot be written: {error.strerror}") from None

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
        if not (self.path / "train.csv").exists():
            self._append("train.csv", [("seed", "step", *metrics[0][1])])
        self._append("train.csv", [(seed, step, *values.values()) for seed, values in metrics])

    def draw(self) -> None:
        from .report import curve  # matplotlib takes a second to import: not before it is needed

        title = f"{self.run.algo} on {self.run.env}"
        curve.draw(self.path / "eval.csv", self.path / "curve.png", title)
        self._drawn = time.monotonic()

    def save_agent(self, agents: PyTree, spec: Spec, step: int) -> None:
        agent.save(self.path / "agent", agents, self.run, self.algo_config, spec, step)
