"""Actions in [-1, 1] and in an environment's own bounds."""

from typing import Any, NamedTuple

import numpy as np
from gymnasium import spaces

from ..errors import UserError


class Bounds(NamedTuple):
    low: np.ndarray  # (action,) float64
    high: np.ndarray
    shape: tuple[int, ...]
    dtype: np.dtype[Any]

    @classmethod
    def of(cls, name: str, space: spaces.Space[Any]) -> "Bounds":
        if not isinstance(space, spaces.Box):
            raise UserError(f"{name} has actions of kind {type(space).__name__}; TEEN needs a Box")
        if not (np.isfinite(space.low).all() and np.isfinite(space.high).all()):
            raise UserError(f"{name} has unbounded actions {space}; bound them with a wrapper")
        low, high = (bound.astype(np.float64).ravel() for bound in (space.low, space.high))
        return cls(low, high, space.shape, np.dtype(space.dtype))

    @property
    def size(self) -> int:
        return self.low.size

    def scale(self, actions: np.ndarray) -> np.ndarray:
        """(row, action) in [-1, 1] -> (row, *shape) in the bounds, affinely and per dimension."""
        clipped = np.minimum(np.maximum(actions, -1), 1).astype(np.float64)
        scaled: np.ndarray = self.low + (clipped + 1) * (0.5 * (self.high - self.low))
        return scaled.reshape(len(actions), *self.shape).astype(self.dtype, copy=False)
