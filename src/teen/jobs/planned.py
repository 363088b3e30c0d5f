"""A job as it is planned, handed from process to process, and reported."""

import math
from collections.abc import Mapping
from typing import Any, Literal, NamedTuple


class PlannedJob(NamedTuple):
    """What one process trains: (algorithm, environment, settings, block of seeds). Plain values only: it is stored as
    JSON, and travels between machines."""

    name: str  # its folder below the place of all jobs, named by what it is; may have several parts, such as runs/x
    settings: Mapping[str, Any]  # flat, as `config.job.resolve` takes them; `seeds` is a list
    study: Mapping[str, Any] | None = None  # the Optuna study to which it reports: see `jobs.trials`

    @property
    def lanes(self) -> int:
        """Every seed with every variant, which are tables or the combinations of lists."""
        listed = [len(value) for name, value in self.settings.items() if isinstance(value, (list, tuple))]
        return math.prod(listed)  # seeds are a list, too


class Result(NamedTuple):
    """How an attempt at a job ended."""

    name: str
    state: Literal["done", "failed", "stopped", "taken"]  # taken: another process trains it
    step: int = 0
    error: str = ""  # of a failed one its last lines, of a taken one by whom
    signal: int | None = None  # of a stopped one


class Resources(NamedTuple):
    """What one job gets of the machine that it runs on."""

    cores: float = 1.0
    gpus: float = 0.0  # below 1: a share of one
    memory: int = 0  # bytes that it takes at least, 0 if unknown
