"""What both backends have in common: flat observations, and actions in [-1, 1]."""

from typing import Any

import numpy as np
from gymnasium import spaces

from ..errors import UserError
from ..spec import Spec
from . import names


class FlatEnvs:
    def __init__(self, name: str, observations: spaces.Space[Any], actions: spaces.Space[Any]):
        """Take the spaces of one copy. A UserError says why TEEN cannot use them."""
        parts = observations.spaces if isinstance(observations, spaces.Dict) else {"": observations}
        for part in parts.values():
            if isinstance(part, spaces.Box) and part.dtype == np.uint8 and len(part.shape) >= 2:
                raise UserError(f"{name} has image observations {part.shape}; TEEN needs numbers, not pixels")
        if not observations.is_np_flattenable:
            raise UserError(f"{name} has observations of kind {type(observations).__name__}, which cannot be flattened")
        if not isinstance(actions, spaces.Box):
            raise UserError(f"{name} has actions of kind {type(actions).__name__}; TEEN needs a Box")
        if not (np.isfinite(actions.low).all() and np.isfinite(actions.high).all()):
            raise UserError(f"{name} has unbounded actions {actions}; bound them with a wrapper")
        self.name, self._observations = name, observations
        # Kept apart from the space, whose properties would be looked up in every step.
        self._action_shape, self._action_dtype = actions.shape, np.dtype(actions.dtype)
        self._low, self._high = (bound.astype(np.float64).ravel() for bound in (actions.low, actions.high))
        self._keys = names.observation_keys(name)
        self.spec = Spec(sum(spaces.flatdim(parts[key]) for key in self._keys or parts), self._low.size)

    def flatten(self, obs: Any) -> np.ndarray:
        if self._keys:  # in the suite's order; Gymnasium sorts a dict by key
            return np.concatenate([np.ravel(obs[key]) for key in self._keys], dtype=np.float32)
        return np.asarray(spaces.flatten(self._observations, obs), np.float32)

    def scale(self, actions: np.ndarray) -> np.ndarray:
        """Map (row, action) in [-1, 1] to the bounds, affinely and per dimension."""
        clipped = np.minimum(np.maximum(actions, -1), 1).astype(np.float64)
        scaled: np.ndarray = self._low + (clipped + 1) * (0.5 * (self._high - self._low))
        return scaled.reshape(len(actions), *self._action_shape).astype(self._action_dtype, copy=False)
