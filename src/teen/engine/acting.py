"""Where acting happens: on the host with fetched weights, or on the learner's device where they are large.

Acting weights come in slots, leaves (slot, lane, ...): one for the episode that runs and, where episodes are acted by
different members, one for the next, so that an episode may end without waiting for the learner.
"""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from ..snapshot import Snapshot, filled, on_host
from ..spec import AnyAlgorithm, PyTree
from .on_numpy import numpy_version
from .program import Program, TrainState

# A lane's acting weights beyond this stay on the learner's device: fetching them for every chunk would cost more than
# acting there. TEEN's acting member has 0.3 MB; SUNRISE consults all actors and critics, 9 MB.
FETCHED_BYTES = 2**21

Action = tuple[np.ndarray, dict[str, np.ndarray]]  # (lane, action) and extras


def choose(
    program: Program,
    algo: AnyAlgorithm,
    config: Any,
    first: int,
    train: TrainState,
    memos: PyTree,
    obs: np.ndarray,
    noise: PyTree,
) -> "OnHost | OnDevice":
    """Return the acting of lanes from `first` on, as many as `obs` has rows.

    `config` is that of these lanes, on the host; `noise` is an example, leaves (lane, ...).
    """
    actors = jax.eval_shape(lambda *args: program.actor(*args, len(obs)), train, first, memos)
    leaves = jax.tree.leaves(actors)
    slots, lanes = leaves[0].shape[:2]
    per_lane = sum(leaf.size * leaf.dtype.itemsize for leaf in leaves) // (slots * lanes)
    elsewhere = train.env_step.device != jax.devices("cpu")[0]
    if (elsewhere and per_lane > FETCHED_BYTES) or any(leaf.dtype != np.float32 for leaf in leaves):
        return OnDevice(program, config, first, len(obs), train.env_step.device)
    one_slot = jax.tree.map(lambda leaf: np.empty(leaf.shape[1:], leaf.dtype), actors)
    memo = jax.tree.map(lambda leaf: leaf[0], memos)
    numbers = arrays(config)

    def act(actor: PyTree, memo: PyTree, obs: Array, noise: PyTree) -> tuple[Array, dict[str, Array]]:
        return jax.vmap(algo.act)(numbers, actor, memo, obs, noise)

    return OnHost(program, config, first, actors, numpy_version(act, one_slot, memo, obs, noise))


class OnHost:
    """Acts on the host. The weights come over as one array, because every transfer has a price of its own."""

    def __init__(
        self, program: Program, config: Any, first: int, actors: PyTree, in_numpy: Callable[..., Action] | None
    ):
        self.program, self.config, self.first, self.in_numpy = program, config, first, in_numpy
        leaves, self._structure = jax.tree.flatten(actors)
        self.lanes = leaves[0].shape[1]
        self._shapes = [leaf.shape[1:] for leaf in leaves]
        self._edges = np.cumsum([0, *(int(np.prod(shape[1:])) for shape in self._shapes)]).tolist()
        self._host = jax.devices("cpu")[0]
        self._flat = np.empty(0)  # (slot, lane, number)
        self._now = np.empty(0)  # (lane, number): slot 0, but for episodes begun since
        self._actors: PyTree = None

    def ask(self, train: TrainState, memos: PyTree) -> Array | np.ndarray:
        """Ask for the acting weights of these episodes. Nobody who acts waits for them."""
        flat = self.program.flat_actor(train, self.first, memos, self.lanes)
        # From a GPU they are copied here, on the learner's thread: acting would wait for it, 80 µs of a TD3 step with
        # 10 lanes. On the host's CPU there is neither thread nor copy, and whoever uses them waits for the learner.
        return flat if flat.device == self._host else np.asarray(flat)

    def use(self, asked: Array | np.ndarray) -> None:
        """Wait for the weights, and act with them from now on."""
        self._flat = np.asarray(asked)
        self._act_with(self._flat[0])

    def use_in(self, lanes: np.ndarray, asked: Array | np.ndarray) -> None:
        """Do the same in some lanes only, a mask."""
        self._flat = np.where(lanes[None, :, None], np.asarray(asked), self._flat)
        self._change(lanes, 0)

    def promote(self, lanes: np.ndarray) -> None:
        """Begin the next episode in these lanes, a mask."""
        self._change(lanes, -1)

    def act(self, memo: PyTree, obs: np.ndarray, noise: PyTree) -> Action:
        if self.in_numpy:
            return self.in_numpy(self._actors, memo, obs, noise)
        action, extras = arrays(self.program.act(self.config, self._actors, memo, obs, noise))
        return action, extras

    def snapshot(self) -> Snapshot:
        return Snapshot({"flat": self._flat, "now": self._now}, "host")

    def restore(self, snapshot: Snapshot) -> bool:
        """Take over saved weights. Return False if they are of the other kind of acting, which cannot be taken over."""
        if snapshot.facts != "host":
            return False
        restored = filled({"flat": self._flat, "now": self._now}, snapshot.arrays)
        self._flat = restored["flat"]
        self._act_with(restored["now"])
        return True

    def _change(self, lanes: np.ndarray, slot: int) -> None:
        now = self._now.copy()  # what came from the device is read-only
        now[lanes] = self._flat[slot, lanes]
        self._act_with(now)

    def _act_with(self, now: np.ndarray) -> None:
        self._now = now
        edges = zip(self._shapes, self._edges, self._edges[1:], strict=False)
        actors = jax.tree.unflatten(self._structure, [now[:, low:high].reshape(shape) for shape, low, high in edges])
        if not self.in_numpy:
            actors = jax.device_put(jax.tree.map(lambda leaf: leaf[None], actors), self._host)
        self._actors = actors


class OnDevice:
    """Acts on the learner's device: only observations and actions cross, once a step. The methods are those of
    `OnHost`."""

    def __init__(self, program: Program, config: Any, first: int, lanes: int, device: Any):
        self.program, self.first, self.lanes, self.device = program, first, lanes, device
        self.config = jax.device_put(config, device)
        self._actors: PyTree = None

    def ask(self, train: TrainState, memos: PyTree) -> PyTree:
        return self.program.actor(train, self.first, memos, self.lanes)

    def use(self, asked: PyTree) -> None:
        self._actors = asked

    def use_in(self, lanes: np.ndarray, asked: PyTree) -> None:
        self._actors = _mixed(lanes, asked, self._actors)

    def promote(self, lanes: np.ndarray) -> None:
        self._actors = _mixed(lanes, jax.tree.map(lambda leaf: leaf[-1:], self._actors), self._actors)

    def act(self, memo: PyTree, obs: np.ndarray, noise: PyTree) -> Action:
        action, extras = arrays(self.program.act(self.config, self._actors, memo, obs, noise))
        return action, extras

    def snapshot(self) -> Snapshot:
        return Snapshot(on_host(self._actors), "device")

    def restore(self, snapshot: Snapshot) -> bool:
        if snapshot.facts != "device":
            return False
        self._actors = jax.device_put(filled(self._actors, snapshot.arrays), self.device)
        return True


@jax.jit
def _mixed(lanes: Array, new: PyTree, old: PyTree) -> PyTree:
    """Leaves (slot, lane, ...): take the new ones in the lanes of the mask, the old ones elsewhere."""
    return jax.tree.map(lambda n, o: jnp.where(lanes.reshape(1, -1, *[1] * (n.ndim - 2)), n, o), new, old)


def arrays(tree: PyTree) -> Any:
    """Return NumPy arrays. Waits for the device."""
    return jax.tree.map(np.asarray, tree)
