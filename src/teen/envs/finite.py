"""Numbers that are not finite are the environment's fault. Replay and networks hold them in float32, so that counts."""

import math
from collections.abc import Sequence

import numpy as np

from ..errors import CopyFault

Ids = Sequence[int] | np.ndarray
LARGEST = float(np.finfo(np.float32).max)

# A sum of squares is small unless a number is huge or not finite: one product is cheaper than looking at each, and an
# overflow in it warns nobody.


def check_obs(obs: np.ndarray, ids: Ids, what: str) -> None:
    """Raise CopyFault for a row of (id, obs), float32, that is not finite. `what` returned it: a step or a reset."""
    if np.vdot(obs, obs) < math.inf:
        return
    for copy, row in zip(ids, obs, strict=True):
        if not np.isfinite(row).all():
            value = row[~np.isfinite(row)][0]
            raise CopyFault(int(copy), f"{what} returned an observation that is not finite in float32: {value:g}")


def check_reward(reward: np.ndarray, ids: Ids, times: str = "") -> None:
    """Raise CopyFault for one of (id,) rewards, float64, that is not finite in float32; `times` says what scaled it."""
    if np.vdot(reward, reward) <= LARGEST**2:
        return
    with np.errstate(over="ignore"):
        bad = np.flatnonzero(~np.isfinite(reward.astype(np.float32)))
    if bad.size:
        value = reward[bad[0]]
        raise CopyFault(int(ids[bad[0]]), f"step returned a reward that{times} is not finite in float32: {value:g}")
