"""The devices that JAX may use, by its variable JAX_PLATFORMS."""

from typing import Any

import jax

from ..errors import UserError, one_line

CUDA = "CUDA needs an NVIDIA GPU with its driver, and JAX's wheel: pip install 'jax[cuda13]'; or "


def check() -> None:
    """Raise a UserError where JAX_PLATFORMS asks for what JAX cannot use here.

    The host acts and evaluates on the CPU, whatever the learner's device is: cuda is taken as cuda,cpu.
    """
    config: Any = jax.config
    wanted = config.jax_platforms or ""
    first = wanted.split(",")[0] if wanted and "cpu" not in wanted.split(",") else None
    if first:
        config.update("jax_platforms", f"{wanted},cpu")
    try:
        jax.devices(first)
    except (RuntimeError, AssertionError) as error:
        config.update("jax_platforms", wanted)
        why = one_line(error).partition(" (set JAX_PLATFORMS")[0].rstrip(".") or "there is none"
        if not wanted:
            raise UserError(f"JAX finds no device ({why}): JAX_PLATFORMS=cpu takes the CPU") from None
        remedy = CUDA if {"cuda", "gpu"} & set(wanted.split(",")) else ""
        raise UserError(f"JAX_PLATFORMS={wanted} cannot be used ({why}): {remedy}unset it, or set it to cpu") from None
    try:
        jax.devices("cpu")
    except RuntimeError:  # JAX has been used before, by somebody else
        raise UserError(f"JAX runs without the CPU, which acting needs: set JAX_PLATFORMS={wanted},cpu") from None
