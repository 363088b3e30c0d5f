"""A compiled program: a whole chunk of acting, stepping, resetting and packing in some lanes, without Python inside."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax
from jax.extend.core import jaxpr_as_fun

from ..envs import CompiledEnvs
from ..envs.xla import Handles, Stepped
from ..spec import Extras, PyTree
from .replay import Layout


class Carry(NamedTuple):
    """What one step of some lanes hands to the next, and one chunk to the next. Few arrays: each costs the call of a
    program some microseconds under Python's lock."""

    obs: Any  # (lane, obs)
    memo: PyTree  # leaves (lane, ...)
    episodes: Any  # (lane,) int32: finished so far
    silent: Any  # (lane,) bool: lanes that no longer act


class Acting(NamedTuple):
    """What acts during a chunk, of all lanes."""

    flat: Any  # (slot, lane, number): weights
    fresh: PyTree  # memos with which the next episodes begin, leaves (lane, ...)
    since: Any  # (lane,) int32: episodes when the weights were asked for; after a further one the last slot acts
    locked: Any  # (lane,) bool: lanes in which only episodes count that end from now on (`Slots`)
    silenced: Any  # (lane,) bool: lanes that shall no longer act


class Noise(NamedTuple):
    """Noise of acting, or random actions and extras, of all lanes and more steps than a chunk has."""

    drawn: PyTree  # leaves (step, lane, ...)
    first: Any  # int32: the chunk's first step among them


class Group(NamedTuple):
    """Lanes that are collected by one program. `guided` and `unguided` are compiled and run with x64 in force; both
    give the next carry and packed transitions, (step, lane, layout.packed).

    Lanes are written out one by one: under `vmap` a `cond` becomes a select, and both sides run.
    """

    lanes: Sequence[int]
    steps: int  # of a chunk
    envs: CompiledEnvs
    layout: Layout
    act: Callable[..., Any]  # a lane's number, actor, memo, observation and noise -> as `Algorithm.act`
    unflat: Callable[[Array], PyTree]  # (number,) -> an actor
    reward_scale: float

    def guided(self, carry: Carry, acting: Acting, noise: Noise) -> tuple[Carry, Array]:
        actors = [[self.unflat(slot[lane]) for slot in acting.flat] for lane in self.lanes]
        mine = np.array(self.lanes)
        fresh, since, locked, silenced = jax.tree.map(lambda leaf: leaf[mine], acting[1:])
        since = jnp.where(locked, carry.episodes, since)

        def acted(i: int, carry: Carry, noise: PyTree) -> Any:
            def by(actor: PyTree) -> Any:
                return self.act(self.lanes[i], actor, _of(i, carry.memo), carry.obs[i], _of(self.lanes[i], noise))

            first, *last = actors[i]
            spent = carry.episodes[i] > since[i]
            return lax.cond(spent, lambda: by(last[0]), lambda: by(first)) if last else by(first)

        def body(state: tuple[Handles, Carry], noise: PyTree) -> tuple[tuple[Handles, Carry], Array]:
            handles, before = state
            each = (acted(i, before, noise) for i in range(len(self.lanes)))
            actions, extras, memos = map(list, zip(*each, strict=True))
            silent = before.silent | ~jnp.stack([jnp.isfinite(action).all() for action in actions])
            actions = [jnp.where(silent[i], 0, action) for i, action in enumerate(actions)]
            handles, carry, packed = self._step(handles, before._replace(silent=silent), actions, extras)
            ended = carry.episodes > before.episodes
            memo = jax.tree.map(lambda *leaves: jnp.stack(leaves), *memos)
            memo = jax.tree.map(lambda new, now: _where(ended, new, now), fresh, memo)
            return (handles, carry._replace(memo=memo)), packed

        return self._scan(body, carry._replace(silent=carry.silent | silenced), noise)

    def unguided(self, carry: Carry, noise: Noise) -> tuple[Carry, Array]:
        def body(state: tuple[Handles, Carry], drawn: tuple[Array, Extras]) -> tuple[tuple[Handles, Carry], Array]:
            actions, extras = map(list, zip(*(_of(lane, drawn) for lane in self.lanes), strict=True))
            handles, carry, packed = self._step(*state, actions, extras)
            return (handles, carry), packed

        return self._scan(body, carry, noise)

    def _scan(self, body: Callable[..., Any], carry: Carry, noise: Noise) -> tuple[Carry, Array]:
        handles = tuple(self.envs.handle(lane) for lane in self.lanes)
        drawn = jax.tree.map(lambda leaf: lax.dynamic_slice_in_dim(leaf, noise.first, self.steps), noise.drawn)
        (_, carry), packed = lax.scan(body, (handles, carry), drawn)
        return carry, packed

    def _step(
        self, handles: Handles, carry: Carry, actions: list[Array], extras: list[Extras]
    ) -> tuple[Handles, Carry, Array]:
        """Take a step and pack it."""
        handles, stepped = self.envs.step(self.lanes, handles, [action[None] for action in actions])
        handles, obs = self.envs.begin(self.lanes, handles, stepped)
        ended = jnp.stack([out.ended[0] for out in stepped])
        after = carry._replace(obs=jnp.stack(obs), episodes=carry.episodes + ended.astype(jnp.int32))

        def row(i: int, out: Stepped) -> Array:
            columns = [carry.obs[i], actions[i], out.reward * self.reward_scale, out.terminated, out.ended, out.obs[0]]
            columns += [*(extras[i][name] for name, _ in self.layout.extras), after.episodes[i][None], out.reward]
            return jnp.concatenate([column.astype(jnp.float32) for column in columns])

        return handles, after, jnp.stack([row(i, out) for i, out in enumerate(stepped)])


def _of(i: int, tree: PyTree) -> PyTree:
    return jax.tree.map(lambda leaf: leaf[i], tree)


def _where(lanes: Array, new: Array, old: Array) -> Array:
    return jnp.where(lanes.reshape(-1, *[1] * (old.ndim - 1)), new, old)


def traced(function: Callable[..., Any], *example: PyTree) -> Callable[..., Any]:
    """Return the function as it is in single precision, to be called within a program of which x64 is in force.
    `example` may be shapes."""
    jaxpr, out = jax.make_jaxpr(function, return_shape=True)(*example)

    def call(*args: PyTree) -> Any:
        return jax.tree.unflatten(jax.tree.structure(out), jaxpr_as_fun(jaxpr)(*jax.tree.leaves(args)))

    return call


def shaped(shape: tuple[int, ...], dtype: Any = np.float32) -> Any:
    return jax.ShapeDtypeStruct(shape, dtype)  # type: ignore[no-untyped-call]


def inner(tree: PyTree, axes: int = 1) -> PyTree:
    """Return the shapes of a tree's leaves without their first axes."""
    return jax.tree.map(lambda leaf: shaped(leaf.shape[axes:], leaf.dtype), tree)


def unflattener(actors: PyTree) -> Callable[[Array], PyTree]:
    """Return what makes an actor of (number,). `actors` are shapes (slot, lane, ...)."""
    leaves, tree = jax.tree.flatten(actors)
    shapes = [leaf.shape[2:] for leaf in leaves]
    edges = np.cumsum([0, *(int(np.prod(shape)) for shape in shapes)]).tolist()

    def unflat(flat: Array) -> PyTree:
        spans = zip(shapes, edges, edges[1:], strict=False)
        return jax.tree.unflatten(tree, [flat[a:b].reshape(shape) for shape, a, b in spans])

    return unflat
