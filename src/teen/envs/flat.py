"""What both backends have in common: flat observations, actions in [-1, 1], and a mark while a copy is busy."""

from typing import Any

import numpy as np
from gymnasium import spaces

from ..errors import UserError
from ..spec import Spec
from . import clock, names, rows

IDLE, UNKNOWN = 0.0, -1.0  # marks: no copy is busy; one is, but not which


class FlatEnvs:
    def __init__(self, name: str, observations: spaces.Space[Any], actions: spaces.Space[Any]):
        """Take the spaces of one copy. A UserError says why TEEN cannot use them."""
        for space, kind in ((observations, "observation"), (actions, "action")):
            if not isinstance(space, spaces.Space):
                raise UserError(f"{name} has no {kind} space, but {space!r:.100}")
        parts = observations.spaces if isinstance(observations, spaces.Dict) else {"": observations}
        for part in parts.values():
            if isinstance(part, spaces.Box) and part.dtype == np.uint8 and len(part.shape) >= 2:
                raise UserError(f"{name} has image observations {part.shape}; TEEN needs numbers, not pixels")
        if not observations.is_np_flattenable:
            raise UserError(f"{name} has observations of kind {type(observations).__name__}, which cannot be flattened")
        if not isinstance(actions, spaces.Box):
            raise UserError(f"{name} has actions of kind {type(actions).__name__}; TEEN needs a Box")
        # Kept apart from the space, whose properties would be looked up in every step.
        self._action_shape, self._action_dtype = actions.shape, np.dtype(actions.dtype)
        self._low, self._high = (bound.astype(np.float64).ravel() for bound in (actions.low, actions.high))
        with np.errstate(over="ignore", invalid="ignore"):
            bounded = np.isfinite(self._high - self._low).all()
        if not bounded:
            raise UserError(f"{name} has unbounded actions {actions}; bound them with a wrapper")
        self.name, self._observations = name, observations
        self._keys = names.observation_keys(name)
        self.spec = Spec(sum(spaces.flatdim(parts[key]) for key in self._keys or parts), self._low.size)
        for size, kind in zip(self.spec, ("observation", "action"), strict=True):
            if not size:
                raise UserError(f"{name} has an empty {kind} space: there is nothing to learn from")
        self._mark = np.array([IDLE, UNKNOWN])

    def busy(self) -> tuple[int | range | None, float] | None:
        since, copy = self._mark.tolist()
        return None if since == IDLE else (None if copy == UNKNOWN else int(copy), since)

    def mark_in(self, numbers: np.ndarray) -> None:
        numbers[:] = IDLE, UNKNOWN
        self._mark = numbers

    def _begin(self, copy: float = UNKNOWN) -> np.ndarray:
        """Mark a copy as busy; return the mark, whose first number is to be set to IDLE."""
        mark = self._mark
        mark[1] = copy
        mark[0] = clock.awake()  # last, since others look at this
        return mark

    def flatten(self, obs: Any) -> np.ndarray:
        if self._keys:  # in the suite's order; Gymnasium sorts a dict by key
            return np.concatenate([np.ravel(obs[key]) for key in self._keys], dtype=np.float32)
        return np.asarray(spaces.flatten(self._observations, obs), np.float32)

    def rows(self, obs: Any) -> tuple[np.ndarray, bool]:
        try:
            found = rows.rows(self._observations, self._keys, self.spec.obs, self.flatten, obs)
        except (TypeError, ValueError, IndexError):  # no numbers, or lists of unequal length
            found = None
        if found is None or found[0].shape[1] != self.spec.obs:
            shape = f"the shape {obs.shape}" if isinstance(obs, np.ndarray) else " ".join(f"{obs!r:.60}".split())
            raise UserError(
                f"an observation of {self.name} has {self.spec.obs} numbers, and a batch of them an axis more in "
                f"front: {shape} is neither"
            )
        return found

    def scale(self, actions: np.ndarray) -> np.ndarray:
        """Map (row, action) in [-1, 1] to the bounds, affinely and per dimension."""
        clipped = np.minimum(np.maximum(actions, -1), 1).astype(np.float64)
        scaled: np.ndarray = self._low + (clipped + 1) * (0.5 * (self._high - self._low))
        return scaled.reshape(len(actions), *self._action_shape).astype(self._action_dtype, copy=False)
