"""A ring buffer of packed rows, (lane, capacity, width).

Every lane stores one transition per step, so position and size are single numbers, an insert is one
slice, and a batch is one gather. The buffer itself is a plain array on the learner's device, or, where it does not
fit there, a `HostReplay`; `Layout` says what a row holds.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from ..spec import Batch, Spec


class Rows(NamedTuple):
    """Sampled rows, before their columns are split."""

    rows: Any  # (..., batch, width), of NumPy or JAX
    age: Any  # (..., batch) environment steps since a row was stored


class Layout(NamedTuple):
    """The columns of a row: obs, action, reward, terminated, ended, next_obs, then the algorithm's extras. `ended` also
    counts a time limit: it says where an episode ends among the rows."""

    spec: Spec
    extras: tuple[tuple[str, int], ...]

    @property
    def widths(self) -> list[int]:
        obs, action = self.spec
        return [obs, action, 1, 1, 1, obs, *(width for _, width in self.extras)]

    @property
    def width(self) -> int:
        return sum(self.widths)

    @property
    def ended(self) -> int:
        """The column that says where an episode ends."""
        return self.spec.obs + self.spec.action + 2

    # A collector hands over two columns more, which are not kept.

    @property
    def episodes(self) -> int:
        """The column that counts a lane's finished episodes."""
        return self.width

    @property
    def own_reward(self) -> int:
        """The column of the environment's own reward, before `--reward-scale`."""
        return self.width + 1

    @property
    def packed(self) -> int:
        return self.width + 2

    def bytes(self, lanes: int, capacity: int) -> int:
        return 4 * lanes * capacity * self.width

    def pack(
        self,
        rows: np.ndarray,
        obs: np.ndarray,
        action: np.ndarray,
        reward: np.ndarray,
        terminated: np.ndarray,
        ended: np.ndarray,
        next_obs: np.ndarray,
        extras: Mapping[str, np.ndarray],
    ) -> None:
        """Write one row per lane, (lane, width or more) float32. Runs on the host, once per step."""
        columns = [obs, action, reward[:, None], terminated[:, None], ended[:, None], next_obs]
        columns += [extras[name] for name, _ in self.extras]
        np.concatenate(columns, axis=1, out=rows[:, : self.width], casting="unsafe")

    def unpack(self, rows: Array, age: Array) -> Batch:
        """(batch, width) -> Batch."""
        edges = np.cumsum(self.widths)[:-1].tolist()
        obs, action, reward, terminated, _, next_obs, *extras = jnp.split(rows, edges, axis=-1)
        names = (name for name, _ in self.extras)
        return Batch(obs, action, reward[:, 0], terminated[:, 0], next_obs, dict(zip(names, extras, strict=True)), age)


def insert(buffer: Array, row: Array, stored: Array) -> Array:
    """Write each lane's row after `stored` earlier ones, over the oldest when the buffer is full."""
    position = stored % buffer.shape[1]
    return lax.dynamic_update_slice(buffer, row[:, None], (0, position, 0))


def sample(layout: Layout, buffer: Array, stored: Array, bits: Array) -> Batch:
    """Return a uniform batch of one lane's (capacity, width) rows, with replacement, from (batch,) random bits.

    The remainder of 32 bits favours some rows over others by less than 0.03 % at a million rows.
    """
    capacity = len(buffer)
    index = (bits % jnp.minimum(stored, capacity).astype(jnp.uint32)).astype(jnp.int32)
    newest = (stored - 1) % capacity
    return layout.unpack(buffer[index], (newest - index) % capacity)


class HostReplay:
    """The same buffer in host memory, for one that the learner's device cannot hold.

    Only sampled rows cross. They are gathered while the device still learns the chunk before, so that it need not wait.
    """

    def __init__(self, lanes: int, capacity: int, width: int):
        self.buffer = np.zeros((lanes, capacity, width), np.float32)
        self.stored = 0

    def insert(self, row: np.ndarray) -> None:
        """(lane, width)"""
        self.buffer[:, self.stored % self.buffer.shape[1]] = row
        self.stored += 1

    def rows(self, first: int, steps: int) -> np.ndarray:
        """(lane, step, width)"""
        return self.buffer[:, (first + np.arange(steps)) % self.buffer.shape[1]]

    def put(self, block: np.ndarray, first: int) -> None:
        """Write the rows of these steps as `rows` returned them."""
        self.buffer[:, (first + np.arange(block.shape[1])) % self.buffer.shape[1]] = block

    def sample(self, bits: np.ndarray) -> Rows:
        """Return the rows that `sample` above takes for these random bits, (..., lane, batch)."""
        lanes, capacity, _ = self.buffer.shape
        index = (bits % np.uint32(min(self.stored, capacity))).astype(np.int32)
        newest = (self.stored - 1) % capacity
        return Rows(self.buffer[np.arange(lanes)[:, None], index], (newest - index) % capacity)
