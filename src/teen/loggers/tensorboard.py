"""Files for TensorBoard: RUN/tensorboard/mean, and RUN/tensorboard/seed-3 for seed 3."""

import io
import os
import time
from collections.abc import Iterable, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from ..disk import files
from .base import Row, Run, Variant

FOLDER, MEAN = "tensorboard", "mean"


class TensorBoard:
    """Writes events as TensorBoard's own package encodes them, without TensorFlow. Files are opened to append to them,
    and closed again: with one per seed, there may be more than a process may keep open."""

    def __init__(self) -> None:
        self._paths: dict[tuple[str, int | None], Path] = {}

    def begin(self, run: Run) -> None:
        self._events = import_module("tensorboard.compat.proto.event_pb2")
        self._summaries = import_module("tensorboard.compat.proto.summary_pb2")
        self._hparams = import_module("tensorboard.plugins.hparams.summary_v2")
        self._records = import_module("tensorboard.summary.writer.record_writer")
        for variant in run.variants:
            files.make_folder(variant.folder / FOLDER)
            for seed in (None, *variant.settings["seeds"]):
                folder = variant.folder / FOLDER / (MEAN if seed is None else f"seed-{seed}")
                files.make_folder(folder)
                self._paths[variant.name, seed] = path = folder / f"events.out.tfevents.{time.time_ns():020}"
                path.touch(exist_ok=False)
                self._append(path, self._first(run, variant, seed))

    def log(self, rows: Sequence[Row]) -> None:
        files_of: dict[Path, list[Any]] = {}
        for row in rows:
            values = [self._summaries.Summary.Value(tag=name, simple_value=x) for name, x in row.values.items()]
            event = self._event(step=row.step, summary=self._summaries.Summary(value=values))
            files_of.setdefault(self._paths[row.variant, row.seed], []).append(event)
        for path, events in files_of.items():
            self._append(path, events)

    def close(self) -> None:
        """Do nothing: all is in the files."""

    def _first(self, run: Run, variant: Variant, seed: int | None) -> list[Any]:
        """Return what a file begins with: the format; where a run goes on, that later steps of earlier files no longer
        count; and the settings, beside the mean."""
        events = [self._event(file_version="brain.Event:2")]
        if run.step:
            start = self._events.SessionLog(status=self._events.SessionLog.START)
            events.append(self._event(step=run.step + 1, session_log=start))
        if seed is None:
            plain = {name: x if isinstance(x, bool | int | float) else str(x) for name, x in variant.settings.items()}
            trial = f"{run.title(variant)} {variant.id}"
            events.append(self._event(summary=self._hparams.hparams_pb(plain, trial_id=trial)))
        return events

    def _event(self, **parts: Any) -> Any:
        return self._events.Event(wall_time=time.time(), **parts)

    def _append(self, path: Path, events: Iterable[Any]) -> None:
        data = io.BytesIO()
        writer = self._records.RecordWriter(data)
        for event in events:
            writer.write(event.SerializeToString())
        # It is not made again: where it is missing, the folder is no longer the one of this run.
        with open(path, "ab", opener=lambda name, flags: files.regular(name, flags & ~os.O_CREAT)) as file:
            file.write(data.getbuffer())
