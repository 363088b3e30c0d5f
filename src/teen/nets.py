"""Multi-layer perceptrons as plain tuples of arrays. Members and lanes are added with ``vmap``."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from itertools import pairwise
from typing import Literal, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array, random

from .settings import Precision
from .spec import Spec


class Linear(NamedTuple):
    # (out, in): the gradient of a product with its transpose comes out in this very layout, so that Adam
    # need not transpose it. 5 % of a TD3 update on a CPU.
    weight: Array
    bias: Array  # (out,)


MLP = tuple[Linear, ...]
Norm = Literal["none", "layer"]
LOG_STD = (-20.0, 2.0)


_precision: ContextVar[Precision] = ContextVar("precision", default="tf32")


@contextmanager
def precision(chosen: Precision) -> Iterator[None]:
    """Set the precision of matrix products in functions traced meanwhile. As an argument it would run through every
    formula."""
    token = _precision.set(chosen)
    try:
        # XLA's "default" is TF32 on a GPU that has it, and float32 on a CPU.
        with jax.default_matmul_precision("float32" if chosen == "float32" else "default"):
            yield
    finally:
        _precision.reset(token)


def product(x: Array, weight: Array) -> Array:
    """(batch, in) with (out, in) -> (batch, out), summed in float32."""
    if _precision.get() == "bf16":
        x, weight = x.astype(jnp.bfloat16), weight.astype(jnp.bfloat16)
    return jnp.einsum("bi,oi->bo", x, weight, preferred_element_type=jnp.float32)


def init_mlp(key: Array, sizes: tuple[int, ...]) -> MLP:
    """Weights and biases uniform in ±1/√fan_in, as PyTorch's linear layers start."""
    shapes = list(pairwise(sizes))
    # One draw for the whole network: it compiles several times faster than one for each array.
    uniform = random.uniform(key, (sum((i + 1) * o for i, o in shapes),), minval=-1, maxval=1)
    layers, start = [], 0
    for fan_in, fan_out in shapes:
        end = start + (fan_in + 1) * fan_out
        block = uniform[start:end].reshape(fan_out, fan_in + 1) * fan_in**-0.5
        layers.append(Linear(block[:, :-1], block[:, -1]))
        start = end
    return tuple(layers)


def linear(layer: Linear, x: Array) -> Array:
    return product(x, layer.weight) + layer.bias[None]


def normed_linear(layer: Linear, x: Array) -> Array:
    """LayerNorm (Ba et al. 2016) between weight and bias: the bias is its offset, and its scale is left to the next
    layer, which undoes any positive factor that ReLU lets through."""
    x = product(x, layer.weight)
    x = x - x.mean(-1, keepdims=True)
    return x / jnp.sqrt(jnp.square(x).mean(-1, keepdims=True) + 1e-5) + layer.bias[None]


def mlp(layers: MLP, x: Array, norm: Norm = "none") -> Array:
    *hidden, last = layers
    for layer in hidden:
        x = normed_linear(layer, x) if norm == "layer" else linear(layer, x)
        if _precision.get() == "bf16":
            x = x.astype(jnp.bfloat16)  # as the next product takes it: half the memory traffic, the same numbers
        x = jax.nn.relu(x)
    return linear(last, x)


def init_actor(key: Array, spec: Spec, hidden: tuple[int, ...]) -> MLP:
    return init_mlp(key, (spec.obs, *hidden, spec.action))


def actor(params: MLP, obs: Array) -> Array:
    """A deterministic policy: (batch, obs) -> (batch, action) in [-1, 1]."""
    return jnp.tanh(mlp(params, obs))


def init_gaussian(key: Array, spec: Spec, hidden: tuple[int, ...]) -> MLP:
    return init_mlp(key, (spec.obs, *hidden, 2 * spec.action))


def gaussian(params: MLP, obs: Array) -> tuple[Array, Array]:
    """Mean and log standard deviation before tanh: (batch, action) each."""
    mean, log_std = jnp.split(mlp(params, obs), 2, axis=-1)
    return mean, jnp.clip(log_std, *LOG_STD)


def init_critic(key: Array, spec: Spec, hidden: tuple[int, ...]) -> MLP:
    return init_mlp(key, (spec.obs + spec.action, *hidden, 1))


def critic(params: MLP, obs: Array, action: Array, norm: Norm = "none") -> Array:
    """Q(s, a): (batch,)."""
    return mlp(params, jnp.concatenate([obs, action], axis=-1), norm)[..., 0]


def init_critics(key: Array, spec: Spec, hidden: tuple[int, ...], count: int) -> MLP:
    """Leaves (critic, ...)."""
    return jax.vmap(lambda k: init_critic(k, spec, hidden))(random.split(key, count))


def critics(params: MLP, obs: Array, action: Array, norm: Norm = "none") -> Array:
    """Every critic's Q: (critic, batch)."""
    return jax.vmap(lambda p: critic(p, obs, action, norm))(params)


def init_discriminator(key: Array, spec: Spec, hidden: tuple[int, ...], classes: int) -> MLP:
    return init_mlp(key, (spec.obs + spec.action, *hidden, classes))


def discriminator(params: MLP, obs: Array, action: Array) -> Array:
    """log q(z | s, a) of every class: (batch, classes)."""
    return jax.nn.log_softmax(mlp(params, jnp.concatenate([obs, action], axis=-1)))
