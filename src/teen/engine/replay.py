"""A ring buffer of packed rows, (lane, capacity, width).

Every lane stores one transition per step, so position and size are single numbers, an insert is one
slice, and a batch is one gather. The buffer itself is a plain array on the learner's device, or, where it does not
fit there, a `HostReplay`; `Layout` says what a row holds.
"""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from ..spec import Batch, Spec


class Ahead(NamedTuple):
    """What follows sampled rows within n steps, in the same episode and as far as it is stored."""

    rewards: Any  # (..., batch, n), from the sampled row's own on; 0 after the last one that counts
    steps: Any  # (..., batch) how many count: m, from 1 to n
    terminated: Any  # (..., batch) of the last one
    next_obs: Any  # (..., batch, obs) of the last one


class Rows(NamedTuple):
    """Sampled rows, before their columns are split."""

    rows: Any  # (..., batch, width), of NumPy or JAX
    age: Any  # (..., batch) environment steps since a row was stored
    ahead: Ahead | None = None  # where returns are of more than one step


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
    def reward(self) -> int:
        """The reward's column; terminated, ended and next_obs follow."""
        return sum(self.spec)

    @property
    def ended(self) -> int:
        """The column that says where an episode ends."""
        return self.reward + 2

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

    def unpack(self, sampled: Rows, gamma: Array | float) -> Batch:
        """Return the batch of one lane's rows, (batch, ...)."""
        edges = np.cumsum(self.widths)[:-1].tolist()
        obs, action, reward, terminated, _, next_obs, *extras = jnp.split(sampled.rows, edges, axis=-1)
        reward, terminated, power = reward[:, 0], terminated[:, 0], gamma
        if sampled.ahead:
            rewards, steps, terminated, next_obs = sampled.ahead
            reward = (rewards * gamma ** jnp.arange(rewards.shape[-1])[None]).sum(-1)
            power = gamma**steps
        names = (name for name, _ in self.extras)
        beside = dict(zip(names, extras, strict=True)), sampled.age
        return Batch(obs, action, reward, power * (1 - terminated), next_obs, *beside)


def insert(buffer: Array, row: Array, stored: Array) -> Array:
    """Write each lane's row after `stored` earlier ones, over the oldest when the buffer is full."""
    position = stored % buffer.shape[1]
    return lax.dynamic_update_slice(buffer, row[:, None], (0, position, 0))


def sample(layout: Layout, n_step: int, buffer: Array, stored: Array, bits: Array) -> Rows:
    """Return uniformly drawn ones of a lane's (capacity, width) rows, with replacement, from (batch,) random bits.

    The remainder of 32 bits favours some rows over others by less than 0.03 % at a million rows.
    """
    capacity = len(buffer)
    index = (bits % jnp.minimum(stored, capacity).astype(jnp.uint32)).astype(jnp.int32)
    newest = (stored - 1) % capacity
    return _read(layout, n_step, capacity, index, (newest - index) % capacity, lambda at, columns: buffer[at, columns])


def _read(layout: Layout, n_step: int, capacity: int, index: Any, age: Any, read: Callable[[Any, slice], Any]) -> Rows:
    """Return the rows at `index`, (..., batch), of NumPy or JAX, and what follows them. `read` takes places in the
    buffer and columns."""
    rows = read(index, slice(None))
    if n_step == 1:
        return Rows(rows, age)
    later, first = np.arange(n_step, dtype=np.int32).reshape(*[1] * index.ndim, -1), layout.reward
    window = read((index[..., None] + later) % capacity, slice(first, layout.ended + 1))  # (..., batch, n, 3)
    rewards, ended = window[..., 0], window[..., 2]
    # `age` rows are newer; behind them in the ring lie the oldest ones, or none. An episode's last row counts.
    counts = (later <= age[..., None]) & (ended.cumsum(-1) == ended)
    steps = counts.sum(-1)
    last = read((index + steps - 1) % capacity, slice(first + 1, first + 3 + layout.spec.obs))
    return Rows(rows, age, Ahead(rewards * counts, steps, last[..., 0], last[..., 2:]))


class HostReplay:
    """The same buffer in host memory, for one that the learner's device cannot hold.

    Only sampled rows cross. They are gathered while the device still learns the chunk before, so that it need not wait.
    """

    def __init__(self, lanes: int, capacity: int, layout: Layout, n_step: int = 1):
        self.layout, self.n_step = layout, n_step
        self.buffer = np.zeros((lanes, capacity, layout.width), np.float32)
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

        def read(at: np.ndarray, columns: slice) -> np.ndarray:
            own = np.arange(lanes).reshape(-1, *[1] * (1 + at.ndim - index.ndim))
            return self.buffer[own, at, columns]

        return _read(self.layout, self.n_step, capacity, index, (newest - index) % capacity, read)
