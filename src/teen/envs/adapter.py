"""What the rest of the project asks of environments, and the same-step tick on top of it."""

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Protocol

import numpy as np

from ..errors import CopyFault, EnvironmentFault
from ..snapshot import Record, filled
from ..spec import Spec, Step
from .state import EnvState, UnknownState

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

    def capture(self, copy: int) -> EnvState:
        """All that a copy goes on from. An UnknownState says why that cannot be had."""
        ...

    def restore(self, copy: int, state: EnvState) -> None:
        """The copy, which has been reset, goes on from there. A ValueError says what does not fit."""
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

    def __init__(self, envs: Envs, seeds: Sequence[int], reward_scale: float = 1.0, first: int = 0, steps: int = 0):
        """`steps` have been taken before, in a run that goes on: episodes that must begin again then do not repeat its
        first ones."""
        self.envs, self.seeds, self.reward_scale, self.first = envs, seeds, reward_scale, first
        self.ids = range(len(envs))
        self.steps = steps
        with naming(envs, self._who, f"step {steps}"):
            self.obs = envs.reset(self.ids, [later_seed(seed, steps) for seed in seeds] if steps else seeds)
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

    def record(self) -> Record:
        """What the lanes go on from, their environments included where that is possible."""
        arrays = {"obs": self.obs, "episodes": self.episodes}
        copies: list[dict[str, Any]] = []
        for copy in self.ids:
            try:
                state = self.envs.capture(copy)
            except UnknownState as reason:
                copies.append({"unknown": str(reason)})
            else:
                arrays |= {f"copy/{copy}/{path}": array for path, array in state.arrays.items()}
                copies.append({"facts": state.facts})
        return Record(arrays, {"steps": self.steps, "copies": copies})

    def recall(self, record: Record) -> list[str]:
        """A line for every lane whose episode had to begin again."""
        own = {name: array for name, array in record.arrays.items() if not name.startswith("copy/")}
        own = filled({"obs": self.obs, "episodes": self.episodes}, own)
        copies, fresh, begun_again = record.facts["copies"], self.obs, []
        self.obs, self.episodes, self.steps = own["obs"].copy(), own["episodes"].copy(), int(record.facts["steps"])
        if len(copies) != len(self.ids):
            raise ValueError(f"there should be {len(self.ids)} environments, not {len(copies)}")
        for copy, facts in zip(self.ids, copies, strict=True):
            if "unknown" in facts:
                self.obs[copy] = fresh[copy]
                self.episodes[copy] += 1
                begun_again.append(f"lane {self.first + copy} begins a new episode: {facts['unknown']}")
            else:
                self.envs.restore(copy, EnvState(_below(f"copy/{copy}/", record.arrays), facts["facts"]))
        return begun_again


def _below(prefix: str, arrays: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    return {name.removeprefix(prefix): array for name, array in arrays.items() if name.startswith(prefix)}


def later_seed(seed: int, steps: int) -> int:
    """Of an episode that begins in the middle of a run. Some simulators take 31 bits only."""
    return int(np.random.SeedSequence([seed, steps]).generate_state(1)[0] >> 1)
