"""Runs of Trackio: one for each variant, which a resume continues. They lie in TRACKIO_DIR."""

from collections.abc import Sequence
from contextvars import Context
from importlib import import_module
from typing import Any

from .base import Row, Run, merged

PROJECT = "teen"


class Trackio:
    def __init__(self) -> None:
        self._runs: dict[str, Any] = {}

    def begin(self, run: Run) -> None:
        trackio: Any = import_module("trackio")
        for variant in run.variants:
            stem = f"{variant.settings['algo']} {variant.settings['env']} {variant.name}".strip()
            # A context has one run, and a second `init` would finish it.
            self._runs[variant.name] = Context().run(
                trackio.init,
                PROJECT,
                name=f"{stem} {variant.id}",  # by which it is found again, also where its folder was moved to
                group=run.folder.absolute().name,
                config=variant.settings,
                resume="allow",
                embed=False,
                auto_log_cpu=False,
                auto_log_gpu=False,
            )

    def log(self, rows: Sequence[Row]) -> None:
        for (variant, step), values in merged(rows).items():
            self._runs[variant].log(values, step=step)

    def close(self) -> None:
        for told in self._runs.values():
            told.finish()
