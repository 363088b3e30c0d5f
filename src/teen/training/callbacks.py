"""What a user's function is told while training goes on, and how it ends training early."""

from collections.abc import Callable, Iterable
from typing import Any, Literal, NamedTuple

import numpy as np

from ..engine.evaluate import HEADLINE
from ..errors import UserError


class Event(NamedTuple):
    """Rows that a run has logged: those of eval.csv, or of train.csv.

    An evaluation runs beside training. It is told at the step of the next one, however fast it was, so that a run which
    is ended by what it shows ends at the same step every time.
    """

    kind: Literal["evaluation", "log"]
    step: int  # at which it was evaluated or logged
    rows: list[dict[str, Any]]  # with the columns of the file, and `variant`: empty if there is only one

    def returns(self) -> dict[tuple[str, int], float]:
        """Return the mean return of the evaluated policy, by variant and seed."""
        scores: dict[tuple[str, int], list[float]] = {}
        for row in self.rows:
            if row.get("policy") == HEADLINE:
                scores.setdefault((row["variant"], row["seed"]), []).append(row["return"])
        return {lane: float(np.mean(values)) for lane, values in scores.items()}


class Silence(NamedTuple):
    """An answer: of these variants, nobody wants to hear any more. They are no longer evaluated or logged, and training
    ends once all are silent. They take their share of the program until then."""

    variants: frozenset[str]


Callback = Callable[[Event], bool | Silence | None]  # False ends training
Callbacks = Callback | Iterable[Callback] | None


def listed(callback: Callbacks) -> list[Callback]:
    """Return a user's callbacks as a list."""
    several = [callback] if callable(callback) else list(callback or ())
    for one in several:
        if not callable(one):
            raise UserError(f"a callback is a function of an event, and not {one!r:.60}")
    return several


def stop_at_return(target: float) -> Callback:
    """Return a callback that ends training once the mean return over seeds, of every variant, is `target` or more.

    Examples:
        >>> teen.train("td3", "Pendulum-v1", seeds=3, steps=20_000, warmup=1_000, callback=teen.stop_at_return(-200))
    """

    def reached(event: Event) -> bool:
        if event.kind != "evaluation":
            return True
        variants: dict[str, list[float]] = {}
        for (variant, _), score in event.returns().items():
            variants.setdefault(variant, []).append(score)
        return not variants or min(float(np.mean(scores)) for scores in variants.values()) < target

    return reached
