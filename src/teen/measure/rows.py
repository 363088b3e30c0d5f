"""One lane's function of rows, over any number of them."""

from collections.abc import Callable
from functools import cache
from typing import Any

import jax
import numpy as np
from jax import Array

from ..spec import PyTree

CHUNK = 1024  # rows of a compiled call


def in_chunks(function: Callable[..., Array], agent: PyTree, *rows: np.ndarray) -> np.ndarray:
    """`function(agent, *rows)`, compiled once, for a number of rows that it was not compiled for."""
    count = len(rows[0])
    calls = []
    for first in range(0, count, CHUNK):
        chunk = [array[first : first + CHUNK] for array in rows]
        gap = CHUNK - len(chunk[0])
        padded = [np.concatenate([array, np.repeat(array[-1:], gap, 0)]) for array in chunk]
        calls.append(np.asarray(_compiled(function)(agent, *padded)))
    return np.concatenate(calls)[:count]


@cache
def _compiled(function: Callable[..., Array]) -> Any:
    return jax.jit(function)
