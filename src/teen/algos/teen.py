"""TEEN: "Keep Various Trajectories: Promoting Exploration of Ensemble Policies in Continuous Control",
NeurIPS 2023. docs/algos/teen.md sets every equation beside its line here, and says where we deviate.
"""

from dataclasses import dataclass, field
from functools import partial
from typing import Any, Literal, NamedTuple

import jax
import jax.numpy as jnp
import optax
from jax import Array, random, vmap

from .. import nets, ops
from ..errors import UserError
from ..settings import Facts, config, per_lane, setting
from ..spec import Acted, Batch, Clock, Extras, Metrics, PyTree, Spec
from . import sac, td3
from .base import LONGEST, MOST_MEMBERS, Learner, Objective, chosen, every, pull, saturated_share, when
from .ensemble import Stack, ensemble

LEARNERS: dict[str, Learner[Any, Any, Any, Any]] = {"td3": td3.LEARNER, "sac": sac.LEARNER}


@config
@dataclass(frozen=True)
class Config:
    n: int = setting(10, "sub-policies in the ensemble", "TEEN §6", low=1, high=MOST_MEMBERS)
    m: int = setting(2, "critics whose minimum makes the target", "TEEN App. B.2", low=1, high=MOST_MEMBERS)
    alpha: float = per_lane(0.2, "weight of being recognisable", "TEEN §6, MuJoCo")
    alpha_scale: Literal["absolute", "q"] = setting(
        "absolute",
        "alpha itself is the weight, or alpha times the batch mean of |Q|",
        "TEEN §4.2",
        Facts(before="absolute"),
    )
    epsilon: float = per_lane(0.1, "q is clipped to [epsilon, 1 - epsilon]", "TEEN §4.2", above=0)
    period: int = setting(50_000, "how long one member stays regularised", "TEEN App. B.2", low=1, high=LONGEST)
    period_unit: Literal["steps", "episodes"] = setting(
        "steps", "what the period counts: environment steps or episodes", "TEEN §4.2, Algorithm 1"
    )
    regularise: Literal["selected", "all", "round-robin"] = setting(
        "selected", "who is rewarded: one drawn each period, all, or each in turn", "TEEN §4.2"
    )
    actors: Literal["all", "selected-only"] = setting(
        "all", "who follows its Q: all, or only the regularised (Algorithm 1 to the letter)", "ours"
    )
    actor_q: Literal["own", "mean"] = setting("own", "the Q an actor follows", "ours; REDQ: mean")
    discriminator_window: int = setting(
        0, "train the discriminator on the newest steps only; 0: on all", "ours", low=0, high=LONGEST
    )
    evaluate: Literal["mean", "mixture", "vote"] = setting(
        "mean", "evaluated policy: mean action, a member per episode, or best mean Q", "ours"
    )
    base: Literal["td3", "sac"] = setting("td3", "what a sub-policy is", "TEEN §6")
    member: td3.Config | sac.Config = field(default_factory=lambda: td3.Config(critics=1))

    def __post_init__(self) -> None:
        if self.m > self.n:
            raise UserError(f"--m {self.m} is more than --n {self.n}: the target draws m of n critics")
        if self.epsilon >= 0.5:
            raise UserError(f"--epsilon must be below 0.5, not {self.epsilon:g}: nothing is left inside")

    def notices(self) -> list[str]:
        own = (self.n, self.epsilon) == (Config.n, Config.epsilon)  # the paper's, 1/n itself: not the user's choice
        if self.n > 1 and self.epsilon >= 1 / self.n and not own:
            return [
                f"epsilon {self.epsilon:g} is not below 1/n = {1 / self.n:g}: a member that is recognised "
                f"no better than by chance gets no push; --epsilon {0.5 / self.n:g} gives it one"
            ]
        return []


class State(NamedTuple):
    members: PyTree  # leaves (member, ...)
    discriminator: nets.MLP
    discriminator_opt: PyTree
    lottery: Array  # key data: which member is regularised in which period


class Noise(NamedTuple):
    """All the randomness of one update."""

    members: PyTree  # leaves (member, ...): one part for each learner
    critics: Array  # (m,) distinct members whose critics make the target


class Weights(NamedTuple):
    members: PyTree  # leaves (member, ...)
    discriminator: nets.MLP


def stack(cfg: Config) -> Stack:
    return Stack(LEARNERS[cfg.base], cfg.member, cfg.n)


def update(cfg: Config, state: State, batch: Batch, clock: Clock, noise: Noise) -> tuple[State, Metrics]:
    """Take one gradient step (Algorithm 1): critics, discriminator, and every `delay` steps actors and targets."""
    y = target(cfg, state, batch, noise)
    members, critic_losses = stack(cfg).fit_critics(state.members, batch, y)
    state, discriminator_losses = fit_discriminator(cfg, state._replace(members=members), batch)

    def improve_actors(state: State) -> tuple[State, Metrics]:
        selected = regularised(cfg, state, clock)
        worth = partial(objective, cfg, state, batch.obs)
        members, losses = stack(cfg).improve(
            state.members, batch.obs, worth, noise.members, each=(jnp.arange(cfg.n), selected)
        )
        if cfg.actors == "selected-only":
            members = where(selected > 0, members, state.members)
        return state._replace(members=stack(cfg).move_targets(members)), losses

    state, actor_losses = when(every(cfg.member.delay, clock), improve_actors, state)
    return state, {**critic_losses, "target": y.mean(), **discriminator_losses, **actor_losses}


def target(cfg: Config, state: State, batch: Batch, noise: Noise) -> Array:
    """Return y = r + γ (1 − terminated) min over m critics of the mean over all members' next actions  (Eq. 16).

    With s' and target networks θ', where the paper prints s and θ.
    """
    next_action, bonus = stack(cfg).next_action(state.members, batch.next_obs, noise.members)
    judges = jax.tree.map(lambda leaf: leaf[noise.critics], state.members)
    next_q = stack(cfg).target_q(judges, batch.next_obs, next_action)  # (judge, member, batch)
    next_q = (next_q + bonus[None]).mean(1).min(0)  # Eq. 16: (batch,)
    return ops.bellman(batch.reward, batch.discount, next_q)


def fit_discriminator(cfg: Config, state: State, batch: Batch) -> tuple[State, Metrics]:
    """Descend the cross-entropy of z given (s, a), over the rows that a sub-policy produced  (Eq. 12)."""
    z = batch.extras["z"][:, 0].astype(int)  # (batch,); -1: a warm-up step, of no sub-policy
    labelled = z >= 0
    if cfg.discriminator_window:
        labelled &= batch.age < cfg.discriminator_window

    def loss(discriminator: nets.MLP) -> tuple[Array, Array]:
        log_q = nets.discriminator(discriminator, batch.obs, batch.action)
        log_q_z = jnp.take_along_axis(log_q, jnp.maximum(z, 0)[:, None], axis=1)[:, 0]
        return -ops.masked_mean(log_q_z, labelled), ops.masked_mean(log_q.argmax(1) == z, labelled)

    (value, accuracy), grads = jax.value_and_grad(loss, has_aux=True)(state.discriminator)
    discriminator, opt = ops.adam_step(state.discriminator, grads, state.discriminator_opt, cfg.member.lr)
    losses = {
        "discriminator_loss": value,
        "discriminator_accuracy": accuracy,
        "diversity_bound": jnp.log(cfg.n) - value,  # Eq. 11: I(z; s, a) ≥ log N + E log q(z | s, a)
        "discriminator_grad_norm": optax.tree.norm(grads),
    }
    return state._replace(discriminator=discriminator, discriminator_opt=opt), losses


def objective(cfg: Config, state: State, obs: Array, member: PyTree, k: Array, selected: Array) -> Objective:
    """Return what member k's actor climbs: Q, and where it is selected, being recognised  (Eqs. 14 and 15)."""

    def worth(action: Array) -> Array:
        if cfg.actor_q == "mean":
            q = stack(cfg).q(state.members, obs, action).mean(0)
        else:
            q = stack(cfg).learner.q(cfg.member, member, obs, action)
        log_q = nets.discriminator(state.discriminator, obs, action)[:, k]
        return q + selected * scaled_alpha(cfg, q) * ops.clipped_log(log_q, cfg.epsilon)  # Eq. 14's sign

    return worth


def scaled_alpha(cfg: Config, q: Array) -> Array | float:
    """Return α, or α times the mean of |Q| over the batch, which has no gradient."""
    if cfg.alpha_scale == "absolute":
        return cfg.alpha
    return cfg.alpha * jax.lax.stop_gradient(jnp.abs(q).mean())


def regularised(cfg: Config, state: State, clock: Clock) -> Array:
    """Return (member,) 1 where a member is rewarded for being recognised: recurrent optimisation  (§4.2)."""
    if cfg.regularise == "all":
        return jnp.ones(cfg.n)
    now = clock.env_step if cfg.period_unit == "steps" else clock.episodes
    period = now // cfg.period
    if cfg.regularise == "round-robin":
        selected = period % cfg.n
    else:
        selected = random.randint(random.fold_in(random.wrap_key_data(state.lottery), period), (), 0, cfg.n)
    return (jnp.arange(cfg.n) == selected).astype(jnp.float32)


def where(mask: Array, new: PyTree, old: PyTree) -> PyTree:
    """Take the new members where the mask, (member,), is true, and the old ones elsewhere."""
    return jax.tree.map(lambda n, o: jnp.where(mask.reshape(-1, *[1] * (n.ndim - 1)), n, o), new, old)


def init(cfg: Config, key: Array, spec: Spec) -> State:
    member_key, discriminator_key, lottery = random.split(key, 3)
    discriminator = nets.init_discriminator(discriminator_key, spec, cfg.member.hidden, cfg.n)
    opt = ops.adam_init(discriminator)
    return State(stack(cfg).init(member_key, spec), discriminator, opt, random.key_data(lottery))


def draw(cfg: Config, key: Array, batch: int, spec: Spec) -> Noise:
    member_key, critic_key = random.split(key)
    return Noise(stack(cfg).draw(member_key, batch, spec), random.permutation(critic_key, cfg.n)[: cfg.m])


def weights(cfg: Config, state: State) -> Weights:
    return Weights(stack(cfg).weights(state.members), state.discriminator)


def adopt(cfg: Config, state: State, weights: Weights) -> State:
    members = stack(cfg).adopt(state.members, weights.members)
    return state._replace(members=members, discriminator=weights.discriminator)


def act(cfg: Config, actor: PyTree, member: Array, obs: Array, noise: PyTree) -> Acted:
    return stack(cfg).learner.explore(cfg.member, actor, obs, noise), {"z": member[None]}, member


def unguided(cfg: Config, key: Array) -> Extras:
    return {"z": -jnp.ones(1)}  # no sub-policy took a warm-up step


def policy(cfg: Config, weights: Weights, member: Array, obs: Array) -> Array:
    actions = stack(cfg).policies(weights.members, obs)  # (member, action)
    if cfg.evaluate == "mixture":
        return actions[member]
    if cfg.evaluate == "vote":
        everywhere = jnp.tile(obs, (cfg.n, 1))
        return actions[stack(cfg).values(weights.members, everywhere, actions).mean(0).argmax()]
    return actions.mean(0)


def recognise(cfg: Config, weights: Weights, obs: Array, action: Array) -> Array:
    return nets.discriminator(weights.discriminator, obs, action)


def metrics(cfg: Config, state: State, batch: Batch) -> Metrics:
    actions = stack(cfg).actions(stack(cfg).weights(state.members), batch.obs)  # (member, batch, action)
    log_q = vmap(nets.discriminator, (None, None, 0))(state.discriminator, batch.obs, actions)
    own_log_q = jnp.diagonal(log_q, axis1=0, axis2=2).T  # (member, batch): log q(k | s, π_k(s))

    def worth(member: PyTree, k: Array, action: Array, selected: Array) -> Array:
        return objective(cfg, state, batch.obs, member, k, selected)(action)

    worths = partial(vmap(worth, (0, 0, 0, None)), state.members, jnp.arange(cfg.n))
    return {
        "own_log_q": own_log_q.mean(),
        "clipped_share": (ops.clipped_log(own_log_q, cfg.epsilon) != own_log_q).mean(),
        "diversity_pull": pull(worths, actions),
        "action_spread": actions.std(0).mean(),
        "saturated_share": saturated_share(actions),
    }


def on(base: str) -> Config:
    """Return the defaults on another base learner."""
    return Config(base=base, member=chosen(base, LEARNERS).Config(critics=1))  # type: ignore[arg-type]


ALGORITHM = ensemble(Config, stack, init, draw, update, weights, recognise=recognise)._replace(
    act=act, unguided=unguided, policy=policy, metrics=metrics, extras=lambda cfg: (("z", 1),), on=on, adopt=adopt
)
