"""Our states in the reference's words, and back into flat arrays for comparison."""

from typing import Any

import jax
import numpy as np


def at(tree: Any, index: int) -> Any:
    return jax.tree.map(lambda leaf: leaf[index], tree)


def mlp(layers: Any) -> list[tuple[np.ndarray, np.ndarray]]:
    return [(np.array(layer.weight).T, np.array(layer.bias)) for layer in layers]


def adam(opt: Any) -> dict[str, Any]:
    return {"count": int(opt.count), "mu": mlp(opt.mu), "nu": mlp(opt.nu)}


def td3_learner(member: Any, critics: int) -> dict[str, Any]:
    opt = member.critic_opt
    return {
        "actor": mlp(member.actor),
        "target_actor": mlp(member.target_actor),
        "critics": [mlp(at(member.critics, c)) for c in range(critics)],
        "target_critics": [mlp(at(member.target_critics, c)) for c in range(critics)],
        "actor_opt": adam(member.actor_opt),
        "critic_opts": [
            {"count": int(opt.count), "mu": mlp(at(opt.mu, c)), "nu": mlp(at(opt.nu, c))} for c in range(critics)
        ],
    }


def teen_state(state: Any, members: int, critics: int) -> dict[str, Any]:
    return {
        "members": [td3_learner(at(state.members, k), critics) for k in range(members)],
        "discriminator": mlp(state.discriminator),
        "discriminator_opt": adam(state.discriminator_opt),
    }


def batch(b: Any) -> dict[str, np.ndarray]:
    fields = ("obs", "action", "reward", "next_obs")
    words = {name: np.array(getattr(b, name)) for name in fields} | {"terminated": np.array(b.discount) == 0}
    if "z" in b.extras:
        words["z"] = np.array(b.extras["z"])[:, 0].astype(int)
    return words


def assert_close(ours: Any, theirs: Any, tolerance: float = 1e-5) -> None:
    """The same nesting of dicts, lists and arrays, equal to the tolerance."""
    ours_leaves, ours_shape = jax.tree.flatten(ours)
    theirs_leaves, theirs_shape = jax.tree.flatten(theirs)
    assert ours_shape == theirs_shape
    for a, b in zip(ours_leaves, theirs_leaves, strict=True):
        np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance)
