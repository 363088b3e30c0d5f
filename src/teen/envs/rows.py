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
    one, batch = array.shape == space.shape, array.ndim > 0 and array.shape[1:] == space.shape
    if (one or batch) and not isinstance(space, spaces.Box):
        return np.stack([flatten(part) for part in ([obs] if one else array)]), batch
    if not (one or batch):  # flat already
        one, batch = array.shape == (size,), array.shape[1:] == (size,)
    return (array.reshape(-1, size).astype(np.float32), batch) if one or batch else None


def _of_dict(
    space: spaces.Dict, keys: list[str], flatten: Callable[[Any], np.ndarray], obs: dict[str, Any]
) -> tuple[np.ndarray, bool] | None:
    if not set(keys) <= obs.keys():
        return None
    parts = {key: np.asarray(obs[key]) for key in keys}
    sizes = {key: spaces.flatdim(space[key]) for key in keys}
    deeper = {part.ndim - len(space[key].shape or ()) for key, part in parts.items()}
    if deeper != {1} and all(part.size == sizes[key] for key, part in parts.items()):
        return flatten(obs)[None], False
    count = min(len(part) if part.ndim else 0 for part in parts.values())
    if any(part.size != count * sizes[key] for key, part in parts.items()):
        return None
    return np.stack([flatten({key: part[i] for key, part in parts.items()}) for i in range(count)]), True
