"""The interface of environments that the rest of the project uses, and the lanes that are stepped through it."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Protocol

import numpy as np

from ..errors import CopyFault, EnvironmentFault
from ..snapshot import Snapshot, filled
from ..spec import Spec, Step
from .finite import check_reward
from .state import UnknownState

Results = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]  # next obs, reward, terminated, truncated


class GivenUp(SystemExit):
    """Ends a thread that nobody waits for any more, because its environment hung. Not to be taken for a fault."""


class Watched(Protocol):
    """What is known of environments that some thread or program steps."""

    name: str
    spec: Spec
    in_python: bool  # whether steps are taken under Python's lock

    def __len__(self) -> int: ...

    def busy(self) -> tuple[int | range | None, float] | None:
        """Return which copy is being stepped and since when (clock.awake()); None while none is. A range says that it
        is one of these; that and an unknown copy cannot be interrupted."""
        ...

    def mark_in(self, numbers: np.ndarray) -> None:
        """Keep what `busy` returns in these two numbers from now on, which another process may read."""
        ...

    def close(self) -> None:
        """Free what the copies hold. Raises nothing."""
        ...


class Envs(Watched, Protocol):
    """Several copies of one environment, addressed by number.

    Observations are flat float32. Actions lie in [-1, 1] and are mapped to the environment's bounds. A copy that fails,
    or returns a number that is not finite in float32, raises CopyFault: no NaN gets any further.
    """

    def flatten(self, obs: Any) -> np.ndarray:
        """Flatten an observation as the environment returns it to (obs,)."""
        ...

    def rows(self, obs: Any) -> tuple[np.ndarray, bool]:
        """Return (row, obs) of one observation or of a batch, and whether it was a batch. A UserError names the sizes
        if it is neither."""
        ...

    def scale(self, actions: np.ndarray) -> np.ndarray:
        """Map (row, action) in [-1, 1] to the environment's bounds and shape."""
        ...

    def reset(self, ids: Sequence[int], seeds: Sequence[int] | None = None) -> np.ndarray:
        """Start new episodes and return (id, obs). Without seeds, each copy goes on drawing from its random state."""
        ...

    def send(self, ids: Sequence[int], actions: np.ndarray) -> None:
        """Begin a step with (id, action), in the background where the backend can. Raises nothing."""
        ...

    def receive(self) -> Results:
        """End the step and return its results. No copy is reset."""
        ...

    def capture(self, copy: int) -> Snapshot:
        """Return the state of a copy. An UnknownState says why it cannot be saved."""
        ...

    def restore(self, copy: int, state: Snapshot) -> None:
        """Set a copy, which has been reset, to a saved state. A ValueError says what does not fit."""
        ...


def step(envs: Envs, ids: Sequence[int], actions: np.ndarray) -> Results:
    """Take a whole step: send, then receive."""
    envs.send(ids, actions)
    return envs.receive()


@contextmanager
def naming(envs: Watched, who: Callable[[int], tuple[int, int]], where: str) -> Iterator[None]:
    """Turn a CopyFault into an EnvironmentFault that names environment, lane, seed and step.

    `who` returns the lane and seed of a copy.
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

    Every step is one true transition of every lane: a lane whose episode ends is reset within the same step. These may
    be some of a program's lanes; `first` is the number of the first of them.
    """

    def __init__(self, envs: Envs, seeds: Sequence[int], reward_scale: float = 1.0, first: int = 0, steps: int = 0):
        """Start an episode in every lane.

        In a resumed run, `steps` have been taken before: the new episodes then differ from the run's first ones.
        """
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
            next_obs, own_reward, terminated, truncated = self.envs.receive()
            reward = own_reward
            if self.reward_scale != 1:
                reward = reward * self.reward_scale
                check_reward(reward, self.ids, f", times --reward-scale {self.reward_scale:g},")
            ended = terminated | truncated
            finished = bool(ended.any())
            self.obs = next_obs
            if finished:
                lanes = np.flatnonzero(ended)
                self.obs = next_obs.copy()
                self.obs[lanes] = self.envs.reset(lanes.tolist())
                self.episodes[lanes] += 1
        return Step(next_obs, reward, terminated, truncated, self.obs, finished, own_reward)

    def snapshot(self) -> Snapshot:
        """Return the state of the lanes, with that of their environments where it can be saved."""
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
        return Snapshot(arrays, {"steps": self.steps, "copies": copies})

    def restore(self, snapshot: Snapshot) -> dict[int, str]:
        """Set the lanes to a snapshot. Return a line for every lane whose episode has to begin again, by its number."""
        arrays = {name: array for name, array in snapshot.arrays.items() if not name.startswith("copy/")}
        saved = filled({"obs": self.obs, "episodes": self.episodes}, arrays)
        copies, started, notices = snapshot.facts["copies"], self.obs, dict[int, str]()
        if len(copies) != len(self.ids):
            raise ValueError(f"there should be {len(self.ids)} environments, not {len(copies)}")
        self.obs, self.episodes = saved["obs"].copy(), saved["episodes"].copy()
        self.steps = int(snapshot.facts["steps"])
        for copy, facts in zip(self.ids, copies, strict=True):
            if "unknown" in facts:
                lane = self.first + copy
                self.obs[copy] = started[copy]
                self.episodes[copy] += 1
                notices[lane] = f"lane {lane} begins a new episode: {facts['unknown']}"
            else:
                name = f"copy/{copy}"
                self.envs.restore(copy, Snapshot(snapshot.arrays, {name: facts["facts"]}).part(name))
        return notices


def later_seed(seed: int, steps: int) -> int:
    """Return the seed of an episode that begins in the middle of a run. Some simulators take only 31 bits."""
    return int(np.random.SeedSequence([seed, steps]).generate_state(1)[0] >> 1)
