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
from ..spec import Acted, AnyAlgorithm, PyTree, Spec
from .on_numpy import numpy_version
from .program import Program, TrainState

# A lane's acting weights beyond this stay on the learner's device: fetching them for every chunk would cost more than
# acting there. TEEN's acting member has 0.3 MB; SUNRISE consults all actors and critics, 9 MB.
FETCHED_BYTES = 2**21

Action = tuple[np.ndarray, dict[str, np.ndarray], PyTree]  # (lane, action), extras and memos


def actor_shapes(algo: AnyAlgorithm, config: Any, spec: Spec) -> list[Any]:
    """Return the shapes of what acts in a lane. `config` is that of one lane."""

    def actor(key: Array) -> PyTree:
        return algo.actor(config, algo.weights(config, algo.init(config, key, spec)), algo.begin(config, key, spec))

    return jax.tree.leaves(jax.eval_shape(actor, jax.random.key(0)))


def are_float(shapes: list[Any]) -> bool:
    """Return whether weights can be handed over as one array."""
    return all(leaf.dtype == np.float32 for leaf in shapes)


def are_fetched(shapes: list[Any], device: Any) -> bool:
    """Return whether weights are fetched for acting, from the learner's device."""
    size = sum(leaf.size * leaf.dtype.itemsize for leaf in shapes)
    return are_float(shapes) and (device == jax.devices("cpu")[0] or size <= FETCHED_BYTES)


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
    one_lane = jax.tree.leaves(jax.eval_shape(lambda actors: jax.tree.map(lambda leaf: leaf[0, 0], actors), actors))
    if not are_fetched(one_lane, device := train.env_step.device):
        return OnDevice(program, config, first, len(obs), device)
    one_slot = jax.tree.map(lambda leaf: np.empty(leaf.shape[1:], leaf.dtype), actors)
    memo = jax.tree.map(lambda leaf: leaf[0], memos)
    numbers = arrays(config)

    def act(actor: PyTree, memo: PyTree, obs: Array, noise: PyTree) -> Acted:
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

    def promote(self, lanes: np.ndarray) -> None:
        """Begin the next episode in these lanes, a mask."""
        now = self._now.copy()  # what came from the device is read-only
        now[lanes] = self._flat[-1, lanes]
        self._act_with(now)

    def act(self, memo: PyTree, obs: np.ndarray, noise: PyTree) -> Action:
        if self.in_numpy:
            return self.in_numpy(self._actors, memo, obs, noise)
        acted: Action = arrays(self.program.act(self.config, self._actors, memo, obs, noise))
        return acted

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

    def promote(self, lanes: np.ndarray) -> None:
        self._actors = _mixed(lanes, jax.tree.map(lambda leaf: leaf[-1:], self._actors), self._actors)

    def act(self, memo: PyTree, obs: np.ndarray, noise: PyTree) -> Action:
        acted: Action = arrays(self.program.act(self.config, self._actors, memo, obs, noise))
        return acted

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
