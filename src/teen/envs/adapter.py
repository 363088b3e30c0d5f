"""What the rest of the project asks of environments, and the same-step tick on top of it."""

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Protocol

import numpy as np

from ..errors import CopyFault, EnvironmentFault
from ..spec import Spec, Step

Results = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]  # next obs, reward, terminated, truncated


class Envs(Protocol):
    """Several copies of one environment, addressed by number.

    Observations are flat float32, actions lie in [-1, 1] and are mapped to the environment's own bounds. A copy that
    fails raises CopyFault.
    """

    name: str
    spec: Spec

    def __len__(self) -> int: ...

    def flatten(self, obs: Any) -> np.ndarray:
        """An observation as the environment gives it -> (obs,)."""
        ...

    def scale(self, actions: np.ndarray) -> np.ndarray:
        """(row, action) in [-1, 1] -> actions in the environment's own bounds and shape."""
        ...

    def reset(self, ids: Sequence[int], seeds: Sequence[int] | None = None) -> np.ndarray:
        """Starts new episodes: (id, obs). Without seeds the copies' own random streams go on."""
        ...

    def send(self, ids: Sequence[int], actions: np.ndarray) -> None:
        """(id, action): begins a step, in the background where the backend can. Raises nothing."""
        ...

    def receive(self) -> Results:
        """Ends the step: next observations, rewards, terminated, truncated. Nothing resets by itself."""
        ...

    def busy(self) -> tuple[int | None, float] | None:
        """The copy that is being stepped and since when (time.monotonic()); None while none is."""
        ...

    def close(self) -> None: ...


def step(envs: Envs, ids: Sequence[int], actions: np.ndarray) -> Results:
    """A whole step at once."""
    envs.send(ids, actions)
    return received(envs, ids)


def received(envs: Envs, ids: Sequence[int]) -> Results:
    """A step's results, whose numbers are all finite: a NaN never gets any further."""
    results = envs.receive()
    obs, reward = results[0], results[1]
    # One sum is finite unless a number is not, or all are huge: cheaper than looking at each.
    if not math.isfinite(obs.sum() + reward.sum()) and not (np.isfinite(obs).all() and np.isfinite(reward).all()):
        bad = ~np.isfinite(obs).all(1) | ~np.isfinite(reward)
        row = int(np.flatnonzero(bad)[0])
        what = "a reward" if np.isfinite(obs[row]).all() else "an observation"
        raise CopyFault(ids[row], f"step returned {what} that is not finite")
    return results


@contextmanager
def naming(envs: Envs, who: Callable[[int], tuple[int, int]], where: str) -> Iterator[None]:
    """Turns a copy's fault into one that says which environment, lane, seed and step it was.

    `who` tells a copy's lane and seed.
    """
    try:
        yield
    except CopyFault as fault:
        lane, seed = ("unknown", "unknown") if fault.copy is None else who(fault.copy)
        raise EnvironmentFault(
            f"environment {envs.name} failed in lane {lane}, seed {seed}, {where}: {fault.reason}"
        ) from fault.__cause__


class Lanes:
    """One training environment per lane, stepped together.

    Same-step: a tick is one true transition of every lane, and a lane that finished is reset at once. These may be
    some of a program's lanes: `first` is the number of the first of them.
    """

    def __init__(self, envs: Envs, seeds: Sequence[int], reward_scale: float = 1.0, first: int = 0):
        self.envs, self.seeds, self.reward_scale, self.first = envs, seeds, reward_scale, first
        self.ids = range(len(envs))
        self.steps = 0
        with naming(envs, self._who, "step 0"):
            self.obs = envs.reset(self.ids, seeds)
        self.episodes = np.zeros(len(envs), np.int64)  # finished so far, per lane

    def _who(self, copy: int) -> tuple[int, int]:
        return self.first + copy, self.seeds[copy]

    def step(self, actions: np.ndarray) -> Step:
        self.send(actions)
        return self.receive()

    def send(self, actions: np.ndarray) -> None:
        self.steps += 1
        self.envs.send(self.ids, actions)

    def receive(self) -> Step:
        with naming(self.envs, self._who, f"step {self.steps}"):
            next_obs, reward, terminated, truncated = received(self.envs, self.ids)
            ended = terminated | truncated
            finished = bool(ended.any())
            self.obs = next_obs
            if finished:
                lanes = np.flatnonzero(ended)
                self.obs = next_obs.copy()
                self.obs[lanes] = self.envs.reset(lanes.tolist())
                self.episodes[lanes] += 1
        return Step(next_obs, reward * self.reward_scale, terminated, truncated, self.obs, finished)
