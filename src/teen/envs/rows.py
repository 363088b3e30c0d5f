"""Observations as a user holds them, one or a batch, made into rows."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from gymnasium import spaces


def rows(
    space: spaces.Space[Any], keys: Sequence[str] | None, size: int, flatten: Callable[[Any], np.ndarray], obs: Any
) -> tuple[np.ndarray, bool] | None:
    """Return (row, obs) of one observation or of a batch, and whether it was a batch; None where it is neither.

    A batch has one more axis in front, in every part of a dict; numbers that are flat already are welcome, too. `keys`
    are the parts of a dict that count, `size` is how many numbers an observation has.
    """
    if isinstance(space, spaces.Dict) and isinstance(obs, dict):
        return _of_dict(space, list(keys or space.spaces), flatten, obs)
    if space.shape is None and not isinstance(space, spaces.Dict):
        return flatten(obs)[None], False  # a tuple: one at a time
    array = np.asarray(obs)
    if array.shape == space.shape:
        return flatten(obs)[None], False
    if space.shape is not None and array.ndim and array.shape[1:] == space.shape:
        return np.stack([flatten(one) for one in array]), True
    if array.shape == (size,) or array.shape[1:] == (size,):
        return array.reshape(-1, size).astype(np.float32), array.ndim == 2
    return None


def _of_dict(
    space: spaces.Dict, keys: list[str], flatten: Callable[[Any], np.ndarray], obs: dict[str, Any]
) -> tuple[np.ndarray, bool] | None:
    if not set(keys) <= obs.keys():
        return None
    parts = {key: np.asarray(obs[key]) for key in keys}
    one = all(part.size == spaces.flatdim(space[key]) for key, part in parts.items())
    deeper = {part.ndim - len(space[key].shape or ()) for key, part in parts.items()}
    if one and deeper != {1}:
        return flatten(obs)[None], False
    counts = {len(part) if part.ndim else 0 for part in parts.values()}
    if len(counts) > 1 or any(part.size != counts.copy().pop() * spaces.flatdim(space[k]) for k, part in parts.items()):
        return None
    return np.stack([flatten({key: part[i] for key, part in parts.items()}) for i in range(counts.pop())]), True
