"""Apply one lane's function of rows to any number of them."""

from collections.abc import Callable
from functools import cache
from typing import Any

import jax
import numpy as np
from jax import Array

from ..algos.insight import insight_of
from ..spec import AnyAlgorithm, PyTree

CHUNK = 1024  # rows of a compiled call


def in_chunks(function: Callable[..., Array], cfg: Any, weights: PyTree, *rows: np.ndarray) -> np.ndarray:
    """Return `function(cfg, weights, *rows)`, compiled once for any number of rows."""
    count = len(rows[0])
    results = []
    for first in range(0, count, CHUNK):
        chunk = [array[first : first + CHUNK] for array in rows]
        gap = CHUNK - len(chunk[0])
        padded = [np.concatenate([array, np.repeat(array[-1:], gap, 0)]) for array in chunk]
        results.append(np.asarray(_compiled(function)(cfg, weights, *padded)))
    return np.concatenate(results)[:count]


@cache
def insight_function(algo: AnyAlgorithm, name: str) -> Callable[..., Array]:
    """Return a function of the algorithm's insight, the same object for all lanes, so that it is compiled once."""

    def function(cfg: Any, weights: PyTree, *rows: Array) -> Array:
        result: Array = getattr(insight_of(algo, cfg), name)(cfg, weights, *rows)
        return result

    return function


@cache
def _compiled(function: Callable[..., Array]) -> Any:
    return jax.jit(function)
