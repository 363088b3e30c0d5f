"""Where acting happens: on the host with fetched weights, or on the learner's device where they are large.

Acting weights come in slots, leaves (slot, lane, ...): one for the episode that runs and, where episodes are acted by
different members, one for the next, so that an episode may end without waiting for the learner.
"""

from collections.abc import Callable
from typing import Any, Protocol

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from ..snapshot import Record, filled, on_host
from ..spec import Algorithm, PyTree
from .on_numpy import numpy_version
from .program import Program

# A lane's acting weights beyond this stay on the learner's device: fetching them for every chunk would cost more than
# acting there. TEEN's acting member has 0.3 MB; SUNRISE consults all actors and critics, 9 MB.
FETCHED_BYTES = 2**21

Action = tuple[np.ndarray, dict[str, np.ndarray]]  # (lane, action) and extras


class Acting(Protocol):
    """Some lanes' acting."""

    def ask(self, state: PyTree, memos: PyTree) -> Any:
        """The weights of these episodes, from the state of all lanes. Keeps nobody waiting who acts."""
        ...

    def use(self, asked: Any) -> None:
        """Waits for them, and acts with them from now on."""
        ...

    def use_in(self, lanes: np.ndarray, asked: Any) -> None:
        """The same in some lanes only, a mask."""
        ...

    def promote(self, lanes: np.ndarray) -> None:
        """In these lanes, a mask, the next episode has begun."""
        ...

    def act(self, memo: PyTree, obs: np.ndarray, noise: PyTree) -> Action: ...

    def record(self) -> Record: ...

    def recall(self, record: Record) -> bool:
        """Whether these weights could be taken over; those of another kind of acting cannot."""
        ...


def choose(
    run: Program, algo: Algorithm, first: int, state: PyTree, memos: PyTree, obs: np.ndarray, noise: PyTree
) -> Acting:
    """For lanes from `first` on, as many as `obs` has rows. `noise` is an example, leaves (lane, ...)."""
    weights = jax.eval_shape(lambda *args: run.actor(*args, len(obs)), state, first, memos)
    leaves = jax.tree.leaves(weights)
    slots, lanes = leaves[0].shape[:2]
    per_lane = sum(leaf.size * leaf.dtype.itemsize for leaf in leaves) // (slots * lanes)
    elsewhere = jax.tree.leaves(state)[0].device != jax.devices("cpu")[0]
    if (elsewhere and per_lane > FETCHED_BYTES) or any(leaf.dtype != np.float32 for leaf in leaves):
        return Resident(run, first, len(obs))
    one_slot = jax.tree.map(lambda leaf: np.empty(leaf.shape[1:], leaf.dtype), weights)
    memo = jax.tree.map(lambda leaf: leaf[0], memos)
    return Fetched(run, first, weights, numpy_version(jax.vmap(algo.act), one_slot, memo, obs, noise))


class Fetched:
    """On the host. The weights come over as one array, because every transfer has a price of its own."""

    def __init__(self, run: Program, first: int, weights: PyTree, in_numpy: Callable[..., Action] | None):
        self.run, self.first, self.in_numpy = run, first, in_numpy
        leaves, self._structure = jax.tree.flatten(weights)
        self.lanes = leaves[0].shape[1]
        self._shapes = [leaf.shape[1:] for leaf in leaves]
        self._edges = np.cumsum([0, *(int(np.prod(shape[1:])) for shape in self._shapes)]).tolist()
        self._host = jax.devices("cpu")[0]
        self._flat = np.empty(0)  # (slot, lane, number)
        self._now = np.empty(0)  # (lane, number): slot 0, but for episodes begun since
        self._weights: PyTree = None

    def ask(self, state: PyTree, memos: PyTree) -> Array | np.ndarray:
        flat = self.run.flat_actor(state, self.first, memos, self.lanes)
        # From a GPU they are copied here, on the learner's thread: acting would wait for it, 80 µs of a TD3 step with
        # 10 lanes. On the host's CPU there is neither thread nor copy, and whoever uses them waits for the learner.
        return flat if flat.device == self._host else np.asarray(flat)

    def use(self, asked: Array | np.ndarray) -> None:
        self._flat = np.asarray(asked)
        self._act_with(self._flat[0])

    def use_in(self, lanes: np.ndarray, asked: Array | np.ndarray) -> None:
        self._flat = np.where(lanes[None, :, None], np.asarray(asked), self._flat)
        self._change(lanes, 0)

    def promote(self, lanes: np.ndarray) -> None:
        self._change(lanes, -1)

    def act(self, memo: PyTree, obs: np.ndarray, noise: PyTree) -> Action:
        if self.in_numpy:
            return self.in_numpy(self._weights, memo, obs, noise)
        action, extras = arrays(self.run.act(self._weights, memo, obs, noise))
        return action, extras

    def record(self) -> Record:
        return Record({"flat": self._flat, "now": self._now}, "fetched")

    def recall(self, record: Record) -> bool:
        if record.facts != "fetched":
            return False
        remembered = filled({"flat": self._flat, "now": self._now}, record.arrays)
        self._flat = remembered["flat"]
        self._act_with(remembered["now"])
        return True

    def _change(self, lanes: np.ndarray, slot: int) -> None:
        now = self._now.copy()  # what came from the device is read-only
        now[lanes] = self._flat[slot, lanes]
        self._act_with(now)

    def _act_with(self, now: np.ndarray) -> None:
        self._now = now
        edges = zip(self._shapes, self._edges, self._edges[1:], strict=False)
        weights = jax.tree.unflatten(self._structure, [now[:, low:high].reshape(shape) for shape, low, high in edges])
        if not self.in_numpy:
            weights = jax.device_put(jax.tree.map(lambda leaf: leaf[None], weights), self._host)
        self._weights = weights


class Resident:
    """On the learner's device: only observations and actions cross, once a step."""

    def __init__(self, run: Program, first: int, lanes: int):
        self.run, self.first, self.lanes = run, first, lanes
        self._weights: PyTree = None

    def ask(self, state: PyTree, memos: PyTree) -> PyTree:
        return self.run.actor(state, self.first, memos, self.lanes)

    def use(self, asked: PyTree) -> None:
        self._weights = asked

    def use_in(self, lanes: np.ndarray, asked: PyTree) -> None:
        self._weights = _mixed(lanes, asked, self._weights)

    def promote(self, lanes: np.ndarray) -> None:
        self._weights = _mixed(lanes, jax.tree.map(lambda leaf: leaf[-1:], self._weights), self._weights)

    def act(self, memo: PyTree, obs: np.ndarray, noise: PyTree) -> Action:
        action, extras = arrays(self.run.act(self._weights, memo, obs, noise))
        return action, extras

    def record(self) -> Record:
        return Record(on_host(self._weights), "resident")

    def recall(self, record: Record) -> bool:
        if record.facts != "resident":
            return False
        device = jax.tree.leaves(self._weights)[0].device
        self._weights = jax.device_put(filled(self._weights, record.arrays), device)
        return True


@jax.jit
def _mixed(lanes: Array, new: PyTree, old: PyTree) -> PyTree:
    """Leaves (slot, lane, ...): the new ones in the lanes named, the old ones elsewhere."""
    return jax.tree.map(lambda n, o: jnp.where(lanes.reshape(1, -1, *[1] * (n.ndim - 2)), n, o), new, old)


def arrays(tree: PyTree) -> Any:
    """Waits for the device."""
    return jax.tree.map(np.asarray, tree)
