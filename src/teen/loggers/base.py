"""What a logger is told: a run, and rows of numbers. Anything with these three methods is a logger."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Protocol, runtime_checkable


class Variant(NamedTuple):
    name: str  # such as alpha=0.2; empty if there is only one
    folder: Path  # its run folder
    id: str  # the same after every resume
    settings: dict[str, Any]  # all of them, `seeds` among them


class Run(NamedTuple):
    """What a program trains."""

    folder: Path  # holds the variants' folders; if there is only one, it is that one's
    step: int  # from which it goes on: 0 for a new run
    variants: tuple[Variant, ...]

    def title(self, variant: Variant) -> str:
        """Return a name for people to read. It need not be the only one of its kind."""
        return f"{self.folder.absolute().name} {variant.name}".strip()


class Row(NamedTuple):
    """Numbers of one seed at a step; or of all seeds of a variant: `eval/return` is then their mean, and
    `eval/return_std` their standard deviation (n - 1), which a single seed does not have."""

    variant: str
    seed: int | None  # None: over all seeds
    step: int  # of the environment
    values: Mapping[str, float]


@runtime_checkable
class Logger(Protocol):
    """Takes a run's rows somewhere. All three methods are called by a thread that nothing waits for; what they raise
    ends this logger, and not the run."""

    def begin(self, run: Run) -> None: ...
    def log(self, rows: Sequence[Row]) -> None:
        """Take all rows that have come since the last time, at least one."""

    def close(self) -> None:
        """Called once, at the end; also after an error, even one of `begin`."""


def merged(rows: Iterable[Row]) -> dict[tuple[str, int], dict[str, float]]:
    """Return the values of each variant and step in one: `eval/return` over seeds, `seed/3/eval/return` of seed 3."""
    together: dict[tuple[str, int], dict[str, float]] = {}
    for row in rows:
        prefix = "" if row.seed is None else f"seed/{row.seed}/"
        values = together.setdefault((row.variant, row.step), {})
        values |= {prefix + name: value for name, value in row.values.items()}
    return together
