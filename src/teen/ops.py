"""One formula per function, each with its source."""

import jax
import jax.numpy as jnp
import optax
from jax import Array

from .spec import PyTree

Scalar = Array | float  # a per-lane number is an array inside a compiled function

# Adam as in PyTorch: 0.9, 0.999, epsilon 1e-8 outside the root. `adam_step` applies the step size, so that it may
# differ from lane to lane.
_adam = optax.scale_by_adam()


def adam_init(params: PyTree) -> PyTree:
    return _adam.init(params)


def adam_step(params: PyTree, grads: PyTree, opt: PyTree, lr: Scalar) -> tuple[PyTree, PyTree]:
    """Kingma & Ba 2015, Algorithm 1."""
    directions, opt = _adam.update(grads, opt)
    return jax.tree.map(lambda p, d: p - lr * d, params, directions), opt


def polyak(target: PyTree, online: PyTree, tau: Scalar) -> PyTree:
    """θ' ← (1 − τ) θ' + τ θ  (Lillicrap et al. 2016, Algorithm 1)."""
    return jax.tree.map(lambda t, o: (1 - tau) * t + tau * o, target, online)


def smoothed(action: Array, noise: Array, scale: Scalar, clip: Scalar) -> Array:
    """Target policy smoothing: clip(a + clip(scale·ξ, ±clip), ±1)  (TD3 §5.3)."""
    return jnp.clip(action + jnp.clip(scale * noise, -clip, clip), -1, 1)


def bellman(reward: Array, discount: Array, next_q: Array) -> Array:
    """y = r + d Q(s', a'), with d = γ (1 − terminated). Of m steps r is the discounted sum, and d has γ^m."""
    return reward + discount * next_q


def clipped_log(log_probability: Array, epsilon: Scalar) -> Array:
    """log clip(q, ε, 1 − ε) from log q, with no gradient outside the interval (TEEN, Eq. 15)."""
    return jnp.clip(log_probability, jnp.log(epsilon), jnp.log1p(-epsilon))


def masked_mean(values: Array, mask: Array) -> Array:
    """Mean over the rows where the mask is true; 0 where there are none."""
    return jnp.sum(values * mask) / jnp.maximum(jnp.sum(mask), 1)


def tanh_gaussian(mean: Array, log_std: Array, noise: Array) -> tuple[Array, Array]:
    """A reparameterised action tanh(u), u = μ + σξ, and its log-probability  (SAC, Appendix C).

    The change of variables, log(1 − tanh²u) = 2 (log 2 − u − softplus(−2u)), stays finite where tanh saturates.
    Shapes (batch, action) -> (batch, action), (batch,).
    """
    u = mean + jnp.exp(log_std) * noise
    log_density = -0.5 * jnp.square(noise) - log_std - 0.5 * jnp.log(2 * jnp.pi)
    log_slope = 2 * (jnp.log(2.0) - u - jax.nn.softplus(-2 * u))
    return jnp.tanh(u), (log_density - log_slope).sum(-1)
