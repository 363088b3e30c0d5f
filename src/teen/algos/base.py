"""A learner cut at its target, the steps that learners share, and an algorithm made of one learner."""

from collections.abc import Callable
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

import jax
import jax.numpy as jnp
import optax
from jax import Array, lax, random, vmap

from .. import nets, ops
from ..errors import UserError
from ..spec import Acted, Algorithm, Batch, C, Clock, Insight, Metrics, N, PyTree, S, Spec

Objective = Callable[[Array], Array]  # (batch, action) -> (batch,): what an actor's action is worth

# Limits of settings. No experiment comes near them; a typing error or a forged file may.
MOST_UNITS = 100_000  # in a layer
MOST_LAYERS = 100  # of a network; tracing takes time for each
MOST_MEMBERS = 10_000  # of an ensemble, or critics of a learner
LONGEST = 2_000_000_000  # steps, which a device counts in 32 bits


class ActorCritic(Protocol):
    """The weights of a learner; further fields are its own."""

    @property
    def actor(self) -> nets.MLP: ...
    @property
    def critics(self) -> nets.MLP: ...  # leaves (critic, ...)


class CriticSettings(Protocol):
    @property
    def lr(self) -> float: ...
    @property
    def critic_norm(self) -> nets.Norm: ...


W = TypeVar("W", bound=ActorCritic)
T = TypeVar("T")


def target_q(cfg: CriticSettings, state: Any, obs: Array, action: Array) -> Array:
    """Return the smallest of the target critics' Q: (batch,)."""
    return nets.critics(state.target_critics, obs, action, cfg.critic_norm).min(0)


def fit_critics(
    cfg: CriticSettings, state: S, batch: Batch, y: Array, weight: Array | float = 1.0
) -> tuple[S, Metrics]:
    """Move every critic towards y: minimise the mean of weight · (y − Q)². Changes `critics` and `critic_opt`."""
    s: Any = state

    def loss(critics: nets.MLP) -> tuple[Array, Array]:
        q = nets.critics(critics, batch.obs, batch.action, cfg.critic_norm)  # (critic, batch)
        rows = jnp.broadcast_to(weight, y.shape)
        return (rows[None] * jnp.square(y[None] - q)).mean(1).sum(), q

    (total, q), grads = jax.value_and_grad(loss, has_aux=True)(s.critics)
    critics, opt = ops.adam_step(s.critics, grads, s.critic_opt, cfg.lr)
    losses = {"critic_loss": total / len(q), "q": q.mean(), "critic_grad_norm": optax.tree.norm(grads)}
    return s._replace(critics=critics, critic_opt=opt), losses


def mean_q(cfg: CriticSettings, weights: ActorCritic, obs: Array, action: Array) -> Array:
    return nets.critics(weights.critics, obs, action, cfg.critic_norm).mean(0)


def adopt_networks(cfg: Any, state: S, weights: ActorCritic) -> S:
    """Return a fresh state with these networks. The targets are copies of them; Adam begins anew."""
    s: Any = state
    return s._replace(actor=weights.actor, critics=weights.critics, target_critics=weights.critics)  # type: ignore[no-any-return]


class Learner(NamedTuple, Generic[C, S, N, W]):
    """One actor-critic learner, cut at the target y, so that an ensemble can make y for many of them.

    The defaults serve learners whose state has `critics`, `target_critics` and `critic_opt`.
    """

    Config: type[C]
    init: Callable[[C, Array, Spec], S]  # cfg, key, spec -> state
    draw: Callable[[C, Array, int, Spec], N]  # cfg, key, batch, spec -> noise of an update
    next_action: Callable[[C, S, Array, N], tuple[Array, Array]]  # cfg, state, next obs, noise -> action, bonus
    q: Callable[[C, S, Array, Array], Array]  # cfg, state, obs, action -> (batch,): what its actor follows
    improve: Callable[[C, S, Array, Objective, N, Array | float], tuple[S, Metrics]]  # … obs, objective, noise, weight
    move_targets: Callable[[C, S], S]
    weights: Callable[[C, S], W]
    explore: Callable[[C, nets.MLP, Array, Array], Array]  # cfg, actor, obs, noise -> exploring action
    policy: Callable[[C, nets.MLP, Array], Array]  # cfg, actor, obs -> action without noise

    target_q: Callable[[C, S, Array, Array], Array] = target_q  # cfg, state, obs, action
    fit_critics: Callable[[C, S, Batch, Array, Array | float], tuple[S, Metrics]] = fit_critics
    value: Callable[[C, W, Array, Array], Array] = mean_q  # type: ignore[assignment]  # cfg, weights, obs, action
    # cfg, weights, obs, noise -> the action that its Q is about, and its bonus; without it, `policy` and no bonus
    soft_action: Callable[[C, W, Array, Array], tuple[Array, Array]] | None = None
    adopt: Callable[[C, S, W], S] = (
        adopt_networks  # cfg, fresh state, weights -> the state that begins with these weights
    )

    def follow(self, cfg: C, weights: W, obs: Array, noise: Array) -> tuple[Array, Array]:
        if self.soft_action is None:
            return self.policy(cfg, weights.actor, obs), jnp.zeros(())
        return self.soft_action(cfg, weights, obs, noise)


def single(
    learner: Learner[C, S, N, W],
    update: Callable[[C, S, Batch, Clock, N], tuple[S, Metrics]],
    metrics: Callable[[C, S, Batch], Metrics],
) -> Algorithm[C, S, N, W]:
    """Make an algorithm of one learner: `update` makes its target and puts its steps in order."""

    def act(cfg: C, actor: PyTree, memo: PyTree, obs: Array, noise: PyTree) -> Acted:
        return learner.explore(cfg, actor, obs, noise), {}, memo

    insight = Insight(
        explore=lambda cfg, weights, member, obs, noise: learner.explore(cfg, weights.actor, obs, noise),
        follow=lambda cfg, weights, member, obs, noise: learner.follow(cfg, weights, obs, noise),
        reward=lambda cfg, weights, reward, next_obs: reward,
    )
    return Algorithm(
        Config=learner.Config,
        init=learner.init,
        draw=learner.draw,
        update=update,
        weights=learner.weights,
        draw_act=normal_noise,
        act=act,
        policy=lambda cfg, weights, memo, obs: learner.policy(cfg, weights.actor, obs),
        value=learner.value,
        metrics=metrics,
        actor=lambda cfg, weights, memo: weights.actor,
        insight=lambda cfg: insight,
        adopt=learner.adopt,
    )


def normal_noise(cfg: Any, key: Array, spec: Spec) -> Array:
    """Draw the noise of one exploring action: standard normal, one number per action dimension."""
    return random.normal(key, (spec.action,))


def every(delay: int, clock: Clock) -> Array | bool:
    """Tell whether something that happens every `delay` gradient steps happens in this one."""
    return delay == 1 or clock.gradient_step % delay == 0


def when(turn: Array | bool, step: Callable[[S], tuple[S, Metrics]], state: S) -> tuple[S, Metrics]:
    """Take a step where it is its turn.

    Its losses are returned only where its turn is certain: where it is not delayed, and where metrics are computed.
    """
    if turn is True:
        return step(state)
    return lax.cond(turn, lambda s: step(s)[0], lambda s: s, state), {}


def chosen(base: str, bases: dict[str, T]) -> T:
    """Return the learner or algorithm of this name that an algorithm offers to stand on."""
    if base not in bases:
        raise UserError(f"--base is one of {', '.join(bases)}, not {base!r}")
    return bases[base]


def saturated_share(actions: Array) -> Array:
    """Return the share of action entries at the edge, where tanh passes almost no gradient."""
    return (jnp.abs(actions) > 0.99).mean()


def pull(worth: Callable[[Array, Array], Array], actions: Array) -> Array:
    """Return how strongly a term moves actions, (..., action), where the rest of their worth has strength 1: the mean
    length of its gradient over that of the rest's; 0 where it has none. `worth` takes the actions and whether the
    term counts, 0 or 1."""
    gradient = jax.grad(lambda actions, counts: worth(actions, counts).sum())
    rest, whole = vmap(gradient, (None, 0))(actions, jnp.arange(2.0))
    of_term, of_rest = (jnp.sqrt(jnp.square(part).sum(-1)).mean() for part in (whole - rest, rest))
    return jnp.where(of_term == 0, 0.0, of_term / of_rest)
