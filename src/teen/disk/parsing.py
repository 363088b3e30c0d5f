"""From bytes, which a stranger may have written, to values. Nothing is executed, and every problem is a ValueError."""

import json
from typing import Any

import numpy as np
import safetensors.numpy
from safetensors import SafetensorError


def json_of(data: bytes) -> Any:
    """Return what JSON says. An object that says one thing twice is refused."""
    try:
        return json.loads(data, object_pairs_hook=_object)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    values = dict(pairs)
    if len(values) < len(pairs):
        raise ValueError("it says something twice")
    return values


def whole_number(value: Any, most: int) -> int:
    """Return a number that must be an integer between 0 and `most`; JSON's true is none."""
    if type(value) is not int or not 0 <= value <= most:
        raise ValueError(f"{value!r:.40} is no whole number up to {most:,}")
    return value


def arrays_of(data: bytes) -> dict[str, np.ndarray]:
    """Return the arrays of a safetensors file."""
    try:
        arrays: dict[str, np.ndarray] = safetensors.numpy.load(data)
    except (SafetensorError, ValueError, KeyError, TypeError, AttributeError, OverflowError) as error:
        raise ValueError(f"it holds no arrays: {error}") from None
    return arrays
