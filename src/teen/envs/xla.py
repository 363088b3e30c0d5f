"""EnvPool inside a compiled program: steps are calls that XLA makes, without Python in between.

Each lane has a pool of its own, so that lanes need not wait for each other. A pool gives the same stream for the same
seed, however many copies it has.

EnvPool's calls take and give float64. They are traced and run with `jax.enable_x64(True)` in force: without it their
output buffers are too small, and memory is corrupted. Which pool a call is for is part of the program, so every lane
has programs of its own.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from ..errors import CopyFault, UserError, one_line
from . import clock, names, pool
from .finite import check_obs
from .flat import FlatEnvs

Handles = tuple[Array, ...]  # one per lane


class Stepped(NamedTuple):
    """The results of one lane, a row per copy."""

    obs: Array  # (copy, obs) float32: where the action led
    reward: Array  # (copy,) float64
    terminated: Array  # (copy,) bool
    ended: Array  # (copy,) bool: terminated, or the clock ran out


class CompiledEnvs(FlatEnvs):
    """`copies` of a task of EnvPool for each lane, to be stepped inside compiled programs."""

    in_python = False

    def __init__(self, name: str, lanes: int, copies: int = 1, action_repeat: int = 1, threads: int = 1):
        """The simulators are made at the first reset, with their seeds. `threads` step those of a lane."""
        if reason := pool.lacks(name):
            raise UserError(reason)
        import envpool

        spec = envpool.make_spec(names.envpool_id(name))
        super().__init__(name, spec.gymnasium_observation_space, spec.gymnasium_action_space)
        self.lanes, self.copies, self.action_repeat, self.threads = lanes, copies, action_repeat, threads
        self._pools: list[Any] = [None] * lanes
        self._calls: list[Any] = [None] * lanes  # handle, send and receive of each lane
        self._running: dict[int, tuple[range, float]] = {}  # programs by their first lane: lanes, and when they began

    def __len__(self) -> int:
        return self.lanes * self.copies

    def reset(self, lane: int, seeds: Sequence[int]) -> np.ndarray:
        """Start an episode in every copy of a lane: (copy, obs). Seeds have an effect only the first time. Raises
        CopyFault."""
        try:
            if self._pools[lane] is None:
                self._make(lane, seeds)
            with self.running([lane]):
                obs, info = self._pools[lane].reset()
        except RuntimeError as error:
            raise CopyFault(lane * self.copies, f"reset raised {one_line(error)}") from error
        with np.errstate(over="ignore"):  # infinity is reported as such
            rows = np.asarray(self._flat(obs, np)[np.argsort(info["env_id"])], np.float32)
        check_obs(rows, range(lane * self.copies, (lane + 1) * self.copies), "reset")
        return rows

    def _make(self, lane: int, seeds: Sequence[int]) -> None:
        import envpool

        size = {"num_envs": self.copies, "num_threads": self.threads}
        made = envpool.make(names.envpool_id(self.name), env_type="gymnasium", seed=list(map(int, seeds)), **size)
        with jax.enable_x64(True):
            handle, receive, send, _ = made.xla()
        self._pools[lane], self._calls[lane] = made, (handle, send, receive)

    @contextmanager
    def running(self, lanes: Sequence[int]) -> Iterator[None]:
        """Say that a program steps these lanes, from now until the block ends."""
        copies = range(lanes[0] * self.copies, (lanes[-1] + 1) * self.copies)
        self._running[lanes[0]] = copies, clock.awake()
        try:
            yield
        finally:
            del self._running[lanes[0]]

    def busy(self) -> tuple[int | range | None, float] | None:
        """As of other environments: of all programs, the one that has been running for longest."""
        return min(tuple(self._running.values()), key=lambda program: program[1], default=None)

    def mark_in(self, numbers: np.ndarray) -> None:
        """Nothing is stepped under Python's lock."""

    def close(self) -> None:
        for made in () if self._running else self._pools:  # it would wait for a simulator that hangs
            if made is not None:
                made.close()

    # To be traced, with x64 in force. A handle orders the calls of a lane: each one gives a new one. All lanes are sent
    # before any is received, so that their simulators run side by side.

    def handle(self, lane: int) -> Array:
        return jnp.asarray(self._calls[lane][0])

    def step(self, lanes: Sequence[int], handles: Handles, actions: Sequence[Array]) -> tuple[Handles, list[Stepped]]:
        """Take a step in every copy of these lanes, each (copy, action) in [-1, 1]. A copy whose episode had ended is
        reset by it."""
        scaled = [self._scaled(action) for action in actions]
        begun = [self._send(lane, h, a) for lane, h, a in zip(lanes, handles, scaled, strict=True)]
        now = [self._receive(lane, h) for lane, h in zip(lanes, begun, strict=True)]
        for _ in range(self.action_repeat - 1):
            more = [~stepped.ended.all() for _, stepped in now]
            begun = [
                lax.cond(m, partial(self._send, lane, action=a), lambda h: h, h)
                for lane, m, (h, _), a in zip(lanes, more, now, scaled, strict=True)
            ]
            now = [
                lax.cond(m, partial(self._receive_again, lane), lambda *same: same, h, stepped)
                for lane, m, h, (_, stepped) in zip(lanes, more, begun, now, strict=True)
            ]
        return tuple(h for h, _ in now), [stepped for _, stepped in now]

    def begin(self, lanes: Sequence[int], handles: Handles, stepped: Sequence[Stepped]) -> tuple[Handles, list[Array]]:
        """Reset lanes of one copy whose episode has ended. Return the observations to act from, (obs,) each."""
        idle = self._scaled(jnp.zeros((1, self.spec.action)))
        ended = [each.ended[0] for each in stepped]
        begun = [
            lax.cond(over, partial(self._send, lane, action=idle), lambda h: h, h)
            for lane, over, h in zip(lanes, ended, handles, strict=True)
        ]

        def receive(lane: int, handle: Array, _: Array) -> tuple[Array, Array]:
            handle, after = self._receive(lane, handle)
            return handle, after.obs[0]

        now = [
            lax.cond(over, partial(receive, lane), lambda *same: same, h, each.obs[0])
            for lane, over, h, each in zip(lanes, ended, begun, stepped, strict=True)
        ]
        return tuple(h for h, _ in now), [obs for _, obs in now]

    def _send(self, lane: int, handle: Array, action: Array) -> Array:
        sent: Array = self._calls[lane][1](handle, action)
        return sent

    def _receive(self, lane: int, handle: Array) -> tuple[Array, Stepped]:
        handle, (obs, reward, terminated, truncated, info) = self._calls[lane][2](handle)
        results = self._flat(obs, jnp).astype(jnp.float32), reward.astype(jnp.float64), terminated & ~truncated
        stepped = Stepped(*results, terminated | truncated)
        if self.copies > 1:
            order = jnp.argsort(info["env_id"])
            stepped = Stepped(*(column[order] for column in stepped))
        return handle, stepped

    def _receive_again(self, lane: int, handle: Array, before: Stepped) -> tuple[Array, Stepped]:
        """Receive the results of a repeated action. It counts where the episode had not ended."""
        handle, after = self._receive(lane, handle)
        over = before.ended
        obs = jnp.where(over[:, None], before.obs, after.obs)
        reward = before.reward + jnp.where(over, 0, after.reward)
        terminated = jnp.where(over, before.terminated, after.terminated)
        return handle, Stepped(obs, reward, terminated, over | after.ended)

    def _flat(self, obs: Any, numpy: Any) -> Any:
        """Return observations as (copy, obs), in the suite's order."""
        concatenate: Callable[..., Any] = numpy.concatenate
        columns = [obs[key] for key in self._keys] if self._keys else [obs]
        return concatenate([column.reshape(self.copies, -1) for column in columns], 1)

    def _scaled(self, action: Array) -> Array:
        """(copy, action) in [-1, 1] -> (copy, ...) in the task's bounds, as `scale` does for other environments."""
        clipped = jnp.clip(action, -1, 1).astype(jnp.float64)
        scaled = jnp.asarray(self._low)[None] + (clipped + 1) * (0.5 * (self._high - self._low))[None]
        return scaled.reshape(self.copies, *self._action_shape)
