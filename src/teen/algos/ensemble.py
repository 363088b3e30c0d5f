"""Several learners of one kind: members are an array axis, and an algorithm made of them."""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
from jax import Array, random, vmap

from ..spec import Acted, Algorithm, Batch, C, Clock, Insight, Metrics, N, PyTree, S, Spec, W
from .base import Learner, Objective, normal_noise, saturated_share


class Stack(NamedTuple):
    """Learners side by side. Their states, noise and weights have leaves (member, ...); they share one config."""

    learner: Learner[Any, Any, Any, Any]
    cfg: Any  # of one learner
    size: int

    def init(self, key: Array, spec: Spec) -> PyTree:
        return vmap(lambda k: self.learner.init(self.cfg, k, spec))(random.split(key, self.size))

    def draw(self, key: Array, batch: int, spec: Spec) -> PyTree:
        return vmap(lambda k: self.learner.draw(self.cfg, k, batch, spec))(random.split(key, self.size))

    def next_action(self, members: PyTree, next_obs: Array, noise: PyTree) -> tuple[Array, Array]:
        """Return every member's next action, (member, batch, action), and its bonus, (member, batch)."""

        def propose(member: PyTree, noise: PyTree) -> tuple[Array, Array]:
            return self.learner.next_action(self.cfg, member, next_obs, noise)

        return vmap(propose)(members, noise)

    def target_q(self, members: PyTree, obs: Array, actions: Array) -> Array:
        """Return what each of these members' target critics say of each action: (judge, action's member, batch)."""

        def judge(member: PyTree, action: Array) -> Array:
            return self.learner.target_q(self.cfg, member, obs, action)

        return vmap(vmap(judge, (None, 0)), (0, None))(members, actions)

    def fit_critics(
        self, members: PyTree, batch: Batch, y: Array, weight: Array | float = 1.0
    ) -> tuple[PyTree, Metrics]:
        """Move all critics towards one y, (batch,), or towards one for each member, (member, batch)."""

        def fit_one(member: PyTree, y: Array, weight: Array | float) -> tuple[PyTree, Metrics]:
            return self.learner.fit_critics(self.cfg, member, batch, y, weight)

        axes = (0, 0 if y.ndim == 2 else None, None if isinstance(weight, float) else 0)
        return averaged(*vmap(fit_one, axes)(members, y, weight))

    def q(self, members: PyTree, obs: Array, action: Array) -> Array:
        """Return every member's Q of the same actions: (member, batch)."""
        return vmap(lambda m: self.learner.q(self.cfg, m, obs, action))(members)

    def improve(
        self,
        members: PyTree,
        obs: Array,
        objective: Callable[..., Objective],
        noise: PyTree,
        weight: Array | float = 1.0,
        each: tuple[Array, ...] = (),
    ) -> tuple[PyTree, Metrics]:
        """Move every actor up its objective, which `objective` makes of a member's state and its rows of `each`, arrays
        (member, ...)."""

        def improve_one(member: PyTree, noise: PyTree, weight: Array | float, *part: Array) -> tuple[PyTree, Metrics]:
            return self.learner.improve(self.cfg, member, obs, objective(member, *part), noise, weight)

        axes = (0, 0, None if isinstance(weight, float) else 0, *(0 for _ in each))
        return averaged(*vmap(improve_one, axes)(members, noise, weight, *each))

    def move_targets(self, members: PyTree) -> PyTree:
        return vmap(lambda m: self.learner.move_targets(self.cfg, m))(members)

    def weights(self, members: PyTree) -> PyTree:
        return vmap(lambda m: self.learner.weights(self.cfg, m))(members)

    def adopt(self, members: PyTree, weights: PyTree) -> PyTree:
        return vmap(lambda m, w: self.learner.adopt(self.cfg, m, w))(members, weights)

    def policies(self, weights: PyTree, obs: Array) -> Array:
        """Return what each member would do in the same state, without noise: (member, action)."""
        return vmap(lambda w: self.learner.policy(self.cfg, w.actor, obs))(weights)

    def actions(self, weights: PyTree, obs: Array) -> Array:
        """Return the same for a batch of states: (batch, obs) -> (member, batch, action)."""
        return vmap(lambda w: vmap(lambda o: self.learner.policy(self.cfg, w.actor, o))(obs))(weights)

    def each_policy(self, weights: PyTree, obs: Array) -> Array:
        """Return what each member would do in a state of its own: (member, obs) -> (member, action)."""
        return vmap(lambda w, o: self.learner.policy(self.cfg, w.actor, o))(weights, obs)

    def values(self, weights: PyTree, obs: Array, action: Array) -> Array:
        """Return every member's mean Q: (member, batch)."""
        return vmap(lambda w: self.learner.value(self.cfg, w, obs, action))(weights)


def averaged(members: PyTree, losses: Metrics) -> tuple[PyTree, Metrics]:
    """Return the members, and the mean of their losses."""
    return members, {name: loss.mean() for name, loss in losses.items()}


def one(members: PyTree, k: Array) -> PyTree:
    return jax.tree.map(lambda leaf: leaf[k], members)


def ensemble(
    config: type[C],
    stack: Callable[[C], Stack],
    init: Callable[[C, Array, Spec], S],
    draw: Callable[[C, Array, int, Spec], N],
    update: Callable[[C, S, Batch, Clock, N], tuple[S, Metrics]],
    weights: Callable[[C, S], W],
    member_noise: Callable[[PyTree, Array], PyTree] = lambda noise, member: noise,
    recognise: Callable[[C, W, Array, Array], Array] | None = None,
) -> Algorithm[C, S, N, W]:
    """Make an algorithm of a stack, which its state and its weights hold as `members`.

    One member, drawn for each episode, acts; the mean of the members' actions is evaluated. `member_noise` takes one
    member's part of what `draw_act` draws; `recognise` is a discriminator's log q, (batch, member).
    """

    def metrics(cfg: C, state: Any, batch: Batch) -> Metrics:
        actions = stack(cfg).actions(stack(cfg).weights(state.members), batch.obs)  # (member, batch, action)
        return {"action_spread": actions.std(0).mean(), "saturated_share": saturated_share(actions)}

    def actor(cfg: C, weights: Any, member: PyTree) -> PyTree:
        return one(weights.members.actor, member)

    def act(cfg: C, actor: PyTree, member: PyTree, obs: Array, noise: PyTree) -> Acted:
        s = stack(cfg)
        return s.learner.explore(s.cfg, actor, obs, noise), {}, member

    def explore(cfg: Any, weights: Any, member: Array, obs: Array, noise: PyTree) -> Array:
        return act(cfg, actor(cfg, weights, member), member, obs, member_noise(noise, member))[0]

    def follow(cfg: Any, weights: Any, member: Array, obs: Array, noise: PyTree) -> tuple[Array, Array]:
        s = stack(cfg)
        return s.learner.follow(s.cfg, one(weights.members, member), obs, member_noise(noise, member))

    def adopt(cfg: C, state: S, weights: W) -> S:
        s: Any = state
        return s._replace(members=stack(cfg).adopt(s.members, _members(weights)))  # type: ignore[no-any-return]

    insight = Insight(explore, follow, lambda cfg, weights, reward, next_obs: reward, recognise)
    return Algorithm(
        Config=config,
        init=init,
        draw=draw,
        update=update,
        weights=weights,
        draw_act=normal_noise,
        act=act,
        policy=lambda cfg, weights, memo, obs: stack(cfg).policies(_members(weights), obs).mean(0),
        value=lambda cfg, weights, obs, action: stack(cfg).values(_members(weights), obs, action).mean(0),
        metrics=metrics,
        begin=lambda cfg, key, spec: random.randint(key, (), 0, stack(cfg).size),
        actor=actor,
        size=lambda cfg: stack(cfg).size,
        members=lambda cfg, weights, obs: stack(cfg).each_policy(_members(weights), obs),
        insight=lambda cfg: insight,
        adopt=adopt,
    )


def _members(weights: Any) -> PyTree:
    return weights.members
