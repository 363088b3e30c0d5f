"""TEEN: "Keep Various Trajectories: Promoting Exploration of Ensemble Policies in Continuous Control",
NeurIPS 2023. docs/algos/teen.md sets every equation beside its line here, and says where we deviate.
"""

from dataclasses import dataclass, field
from functools import cache, partial
from typing import Any, Literal, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array, random, vmap

from .. import nets, ops
from ..errors import UserError
from ..settings import per_lane, setting
from ..spec import Algorithm, Batch, Clock, PyTree, Spec
from . import sac, td3
from .base import Base, Losses, Parts, every, lane_numbers, named, probe, saturated_share, update
from .insight import together


@dataclass(frozen=True)
class Config:
    n: int = setting(10, "sub-policies in the ensemble", "TEEN §6", low=1)
    m: int = setting(2, "critics whose minimum makes the target", "TEEN App. B.2", low=1)
    alpha: float = per_lane(0.2, "weight of being recognisable", "TEEN §6, MuJoCo")
    epsilon: float = per_lane(0.1, "q is clipped to [epsilon, 1 - epsilon]", "TEEN §4.2", above=0)
    period: int = setting(50_000, "how long one member stays regularised", "TEEN App. B.2", low=1)
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
    discriminator_window: int = setting(0, "train the discriminator on the newest steps only; 0: on all", "ours", low=0)
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
        if self.n > 1 and self.epsilon >= 1 / self.n:
            return [
                f"epsilon {self.epsilon:g} is not below 1/n = {1 / self.n:g}: a member that is recognised "
                f"no better than by chance gets no push; --epsilon {0.5 / self.n:g} gives it one"
            ]
        return []


BASES: dict[str, Any] = {"td3": td3, "sac": sac}


def on(base: str) -> Config:
    """The defaults on another base learner."""
    return Config(base=base, member=named(base, BASES).Config(critics=1))  # type: ignore[arg-type]


class Hyper(NamedTuple):
    alpha: Array
    epsilon: Array
    member: PyTree  # the base learner's own


def hyper(cfg: Config) -> Hyper:
    return Hyper(**lane_numbers(cfg), member=BASES[cfg.base].hyper(cfg.member))


class State(NamedTuple):
    members: PyTree  # leaves (member, ...)
    discriminator: nets.MLP
    discriminator_opt: PyTree
    lottery: Array  # key data: which member is regularised in which period
    hyper: Hyper


class Noise(NamedTuple):
    """All the randomness of one update."""

    members: PyTree  # leaves (member, ...): each base learner's own
    critics: Array  # (m,) distinct members whose critics make the target


class Agent(NamedTuple):
    members: PyTree  # leaves (member, ...)
    discriminator: nets.MLP


@cache
def parts(cfg: Config) -> Parts:
    base: Base = BASES[cfg.base].member(cfg.member)

    def draw(key: Array, batch: int, spec: Spec) -> Noise:
        member_key, critic_key = random.split(key)
        member_keys = random.split(member_key, cfg.n)
        return Noise(
            vmap(lambda k: base.draw(k, batch, spec))(member_keys),
            random.permutation(critic_key, cfg.n)[: cfg.m],
        )

    def fit(state: State, batch: Batch, clock: Clock, noise: Noise) -> tuple[State, Losses]:
        members, h = state.members, state.hyper

        # Every member proposes a next action; m critics judge all of them, the most cautious counts.
        next_action, bonus = vmap(base.next_action, (0, None, None, 0))(
            members, h.member, batch.next_obs, noise.members
        )  # (member, batch, action), (member, batch)
        judges = jax.tree.map(lambda leaf: leaf[noise.critics], members)
        judge_all = vmap(base.target_q, (None, None, 0))  # one critic, the actions of every member
        next_q = vmap(judge_all, (0, None, None))(judges, batch.next_obs, next_action)
        next_q = (next_q + bonus[None]).mean(1).min(0)  # (judge, member, batch) -> (batch,)
        y = ops.bellman(batch.reward, batch.terminated, next_q, h.member.gamma)  # Eq. 16, with s' and θ'

        members, losses = vmap(base.fit_critics, (0, None, None, None))(members, h.member, batch, y)
        losses = {name: loss.mean() for name, loss in losses.items()}
        state, discriminator_losses = fit_discriminator(state._replace(members=members), batch)
        return state, {**losses, "target": y.mean(), **discriminator_losses}

    def fit_discriminator(state: State, batch: Batch) -> tuple[State, Losses]:
        """Cross-entropy of z given (s, a), over the rows that a sub-policy produced  (Eq. 12)."""
        z = batch.extras["z"][:, 0].astype(int)  # (batch,); -1: a warm-up step, nobody's
        known = z >= 0
        if cfg.discriminator_window:
            known &= batch.age < cfg.discriminator_window

        def loss(discriminator: nets.MLP) -> tuple[Array, Array]:
            log_q = nets.discriminator(discriminator, batch.obs, batch.action)
            log_q_z = jnp.take_along_axis(log_q, jnp.maximum(z, 0)[:, None], axis=1)[:, 0]
            return -ops.masked_mean(log_q_z, known), ops.masked_mean(log_q.argmax(1) == z, known)

        (value, accuracy), grads = jax.value_and_grad(loss, has_aux=True)(state.discriminator)
        discriminator, opt = ops.adam_step(state.discriminator, grads, state.discriminator_opt, state.hyper.member.lr)
        losses = {
            "discriminator_loss": value,
            "discriminator_accuracy": accuracy,
            "diversity_bound": jnp.log(cfg.n) - value,  # I(z; s, a) ≥ log N + E log q(z | s, a)
            "discriminator_grad_norm": ops.norm(grads),
        }
        return state._replace(discriminator=discriminator, discriminator_opt=opt), losses

    def regularised(lottery: Array, clock: Clock) -> Array:
        """(member,) 1 where a member is rewarded for being recognised. Recurrent optimisation, §4.2."""
        if cfg.regularise == "all":
            return jnp.ones(cfg.n)
        now = clock.env_step if cfg.period_unit == "steps" else clock.episodes
        period = now // cfg.period
        if cfg.regularise == "round-robin":
            selected = period % cfg.n
        else:
            selected = random.randint(random.fold_in(random.wrap_key_data(lottery), period), (), 0, cfg.n)
        return (jnp.arange(cfg.n) == selected).astype(jnp.float32)

    def improve(state: State, batch: Batch, clock: Clock, noise: Noise) -> tuple[State, Losses]:
        members, h = state.members, state.hyper
        chosen = regularised(state.lottery, clock)

        def improve_one(k: Array, member: PyTree, chosen: Array, noise: PyTree) -> tuple[PyTree, Losses]:
            def objective(action: Array) -> Array:
                if cfg.actor_q == "mean":
                    q = vmap(base.q, (0, None, None))(members, batch.obs, action).mean(0)
                else:
                    q = base.q(member, batch.obs, action)
                log_q = nets.discriminator(state.discriminator, batch.obs, action)[:, k]
                return q + chosen * h.alpha * ops.clipped_log(log_q, h.epsilon)  # Eq. 14's sign

            return base.improve(member, h.member, batch.obs, objective, noise)

        improved, losses = vmap(improve_one)(jnp.arange(cfg.n), members, chosen, noise.members)
        if cfg.actors == "selected-only":
            improved = jax.tree.map(
                lambda new, old: jnp.where(chosen.reshape(-1, *[1] * (new.ndim - 1)) > 0, new, old),
                improved,
                members,
            )
        members = vmap(base.move_targets, (0, None))(improved, h.member)
        return state._replace(members=members), {name: loss.mean() for name, loss in losses.items()}

    def watch(state: State, batch: Batch) -> Losses:
        agents = vmap(base.agent, (0, None))(state.members, state.hyper.member)
        act = vmap(base.policy, (None, 0))
        actions = vmap(act, (0, None))(agents, batch.obs)  # (member, batch, action)
        log_q = vmap(nets.discriminator, (None, None, 0))(state.discriminator, batch.obs, actions)
        own = jnp.diagonal(log_q, axis1=0, axis2=2).T  # (member, batch): log q(k | s, π_k(s))
        return {
            "own_log_q": own.mean(),
            "clipped_share": (ops.clipped_log(own, state.hyper.epsilon) != own).mean(),
            "action_spread": actions.std(0).mean(),
            "saturated_share": saturated_share(actions),
        }

    return Parts(draw, fit, improve, watch, every(cfg.member.delay))


@cache
def make(cfg: Config) -> Algorithm:
    base: Base = BASES[cfg.base].member(cfg.member)
    own = parts(cfg)

    def init(key: Array, spec: Spec, hyper: Hyper) -> State:
        member_key, discriminator_key, lottery = random.split(key, 3)
        members = vmap(lambda k: base.init(k, spec, hyper.member))(random.split(member_key, cfg.n))
        discriminator = nets.init_discriminator(discriminator_key, spec, cfg.member.hidden, cfg.n)
        opt = ops.adam_init(discriminator)
        return State(members, discriminator, opt, random.key_data(lottery), hyper)

    def agent(state: State) -> Agent:
        agents = vmap(base.agent, (0, None))(state.members, state.hyper.member)
        return Agent(agents, state.discriminator)

    def begin(key: Array) -> Array:
        """The member that acts for the whole episode."""
        return random.randint(key, (), 0, cfg.n)

    def actor(agent: Agent, member: Array) -> PyTree:
        return jax.tree.map(lambda leaf: leaf[member], vmap(base.weights)(agent.members))

    def act(weights: PyTree, member: Array, obs: Array, noise: PyTree) -> tuple[Array, dict[str, Array]]:
        return base.act(weights, obs, noise), {"z": member[None]}

    def policy(agent: Agent, member: Array, obs: Array) -> Array:
        actions = vmap(base.policy, (0, None))(agent.members, obs)  # (member, action)
        if cfg.evaluate == "mixture":
            return actions[member]
        if cfg.evaluate == "vote":
            return actions[value(agent, jnp.tile(obs, (cfg.n, 1)), actions).argmax()]
        return actions.mean(0)

    def value(agent: Agent, obs: Array, action: Array) -> Array:
        return vmap(base.value, (0, None, None))(agent.members, obs, action).mean(0)

    def recognise(agent: Agent, obs: Array, action: Array) -> Array:
        return nets.discriminator(agent.discriminator, obs, action)

    return Algorithm(
        init=init,
        draw=own.draw,
        update=partial(update, own),
        probe=partial(probe, own),
        agent=agent,
        begin=begin,
        actor=actor,
        draw_act=base.draw_act,
        act=act,
        unguided=lambda key: {"z": -jnp.ones(1)},
        policy=policy,
        members=lambda agent, obs: vmap(base.policy)(agent.members, obs),
        value=value,
        insight=together(base, lambda noise, member: noise)._replace(recognise=recognise),
        extras=(("z", 1),),
        size=cfg.n,
    )
