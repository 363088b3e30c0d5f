"""What diagnostics may ask of an algorithm, and of one that another algorithm wraps."""

from collections.abc import Callable
from typing import Any

from jax import Array

from ..errors import UserError
from ..settings import flat
from ..spec import AnyAlgorithm, Insight, PyTree


def insight_of(algo: AnyAlgorithm, cfg: Any) -> Insight:
    if algo.insight is None:
        raise UserError("this algorithm has no diagnostics: give its Algorithm an `insight` (docs/extending.md)")
    if "gamma" not in flat(cfg):
        raise UserError("this algorithm has no diagnostics: its Config has no setting `gamma` (docs/extending.md)")
    return algo.insight(cfg)


def wrapped(
    inner: Insight,
    see: Callable[[PyTree, Array], Array] = lambda weights, obs: obs,
    inner_cfg: Callable[[Any], Any] = lambda cfg: cfg,
) -> Insight:
    """Return the insight of an algorithm around another one, whose weights it holds as `inner`.

    The inner one sees (batch, obs) through `see`; `inner_cfg` takes its config out of the outer one's.
    """

    def recognise(cfg: Any, weights: Any, obs: Array, action: Array) -> Array:
        assert inner.recognise
        return inner.recognise(inner_cfg(cfg), weights.inner, see(weights, obs), action)

    return Insight(
        explore=lambda cfg, weights, member, obs, noise: inner.explore(
            inner_cfg(cfg), weights.inner, member, see(weights, obs[None])[0], noise
        ),
        follow=lambda cfg, weights, member, obs, noise: inner.follow(
            inner_cfg(cfg), weights.inner, member, see(weights, obs[None])[0], noise
        ),
        reward=lambda cfg, weights, reward, next_obs: inner.reward(
            inner_cfg(cfg), weights.inner, reward, see(weights, next_obs)
        ),
        recognise=recognise if inner.recognise else None,
    )
