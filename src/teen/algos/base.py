"""What the algorithms share: a learner cut at its target, and the order of an update."""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array, lax

from .. import ops
from ..errors import UserError
from ..settings import leaves
from ..spec import Batch, Clock, PyTree, Spec

Objective = Callable[[Array], Array]  # (batch, action) -> (batch,): what an actor's action is worth
Losses = dict[str, Array]


class Base(NamedTuple):
    """One actor-critic learner, cut at the target y, so that an ensemble can make y for many of them.

    `member` is its state, `h` its per-lane numbers, `agent` what acting and judging need of it.
    """

    init: Callable[[Array, Spec, PyTree], PyTree]  # key, spec, h -> member
    draw: Callable[[Array, int, Spec], PyTree]  # key, batch, spec -> noise of one update
    next_action: Callable[..., tuple[Array, Array]]  # member, h, next_obs, noise -> action, bonus
    target_q: Callable[[PyTree, Array, Array], Array]  # member, obs, action -> (batch,)
    q: Callable[[PyTree, Array, Array], Array]  # member, obs, action -> (batch,): what its actor follows
    fit_critics: Callable[..., tuple[PyTree, Losses]]  # member, h, batch, y, weight -> member, losses
    improve: Callable[..., tuple[PyTree, Losses]]  # member, h, obs, objective, noise, weight -> member, losses
    move_targets: Callable[[PyTree, PyTree], PyTree]  # member, h -> member

    agent: Callable[[PyTree, PyTree], PyTree]  # member, h -> agent
    weights: Callable[[PyTree], PyTree]  # agent -> the part of it that acting needs
    draw_act: Callable[[Array, Spec], PyTree]  # key, spec -> noise of one exploring action
    act: Callable[[PyTree, Array, PyTree], Array]  # weights, obs, noise -> exploring action
    policy: Callable[[PyTree, Array], Array]  # weights, obs -> action without noise
    follow: Callable[[PyTree, Array, PyTree], tuple[Array, Array]]  # agent, obs, noise -> action its Q is about, bonus
    value: Callable[[PyTree, Array, Array], Array]  # agent, obs, action -> (batch,)


class Parts(NamedTuple):
    """An update in three parts. Randomness enters through `draw` alone, so that tests can inject it."""

    draw: Callable[[Array, int, Spec], PyTree]  # key, batch, spec -> noise
    fit: Callable[..., tuple[PyTree, Losses]]  # state, batch, clock, noise: everything but the actors
    improve: Callable[..., tuple[PyTree, Losses]]  # state, batch, clock, noise: actors, then targets
    watch: Callable[[PyTree, Batch], Losses]  # state, batch -> diagnostics
    turn: Callable[[Clock], Array | bool]  # whether `improve` follows; a plain True costs no branch


def update(parts: Parts, state: PyTree, batch: Batch, clock: Clock, noise: PyTree) -> tuple[PyTree, Losses]:
    """One gradient step; `improve` comes only when it is its turn."""
    state, losses = parts.fit(state, batch, clock, noise)
    turn = parts.turn(clock)
    if turn is True:
        return parts.improve(state, batch, clock, noise)[0], losses
    state = lax.cond(
        turn,
        lambda s: parts.improve(s, batch, clock, noise)[0],
        lambda s: s,
        state,
    )
    return state, losses


def probe(parts: Parts, state: PyTree, batch: Batch, clock: Clock, noise: PyTree) -> Losses:
    """The losses of an update that is not applied, and what else is worth watching."""
    fitted, losses = parts.fit(state, batch, clock, noise)
    _, actor_losses = parts.improve(fitted, batch, clock, noise)
    return {**losses, **actor_losses, **parts.watch(state, batch)}


def fit_q(
    critics: Callable[..., Array],
    params: PyTree,
    opt: PyTree,
    lr: Array,
    batch: Batch,
    y: Array,
    weight: Array | float = 1.0,
) -> tuple[PyTree, PyTree, Losses]:
    """Moves every critic towards y: mean of weight · (y − Q)². `critics` gives (critic, batch)."""

    def loss(params: PyTree) -> tuple[Array, Array]:
        q = critics(params, batch.obs, batch.action)
        rows = jnp.broadcast_to(weight, y.shape)
        return (rows[None] * jnp.square(y[None] - q)).mean(1).sum(), q

    (total, q), grads = jax.value_and_grad(loss, has_aux=True)(params)
    params, opt = ops.adam_step(params, grads, opt, lr)
    return params, opt, {"critic_loss": total / len(q), "q": q.mean(), "critic_grad_norm": ops.norm(grads)}


def every(delay: int) -> Callable[[Clock], Array | bool]:
    """The turn of something that happens every `delay` gradient steps."""
    return (lambda clock: True) if delay == 1 else (lambda clock: clock.gradient_step % delay == 0)


def lane_numbers(cfg: Any) -> dict[str, Array]:
    """The config's own per-lane numbers as arrays; those of a config inside it are not included."""
    return {
        leaf.name: jnp.asarray(leaf.value, jnp.float32)
        for leaf in leaves(cfg)
        if leaf.per_lane and hasattr(cfg, leaf.name)
    }


def named(base: str, bases: dict[str, Any]) -> Any:
    """The module of a base learner that an algorithm offers to stand on."""
    if base not in bases:
        raise UserError(f"--base is one of {', '.join(bases)}, not {base!r}")
    return bases[base]


def saturated_share(actions: Array) -> Array:
    """Share of action entries at the edge, where tanh passes almost no gradient."""
    return (jnp.abs(actions) > 0.99).mean()
