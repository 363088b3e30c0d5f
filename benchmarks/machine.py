"""Describe the machine of a measurement, and measure its best speed."""

import os
import platform
import time
from importlib.metadata import PackageNotFoundError, version

import jax
import jax.numpy as jnp
import numpy as np

from teen.training.machine import cpu_model


def describe() -> dict[str, object]:
    return {
        "cpu": cpu_model(),
        "cores": os.cpu_count(),
        "device": jax.devices()[0].device_kind,
        "python": platform.python_version(),
        **{name: _version(name) for name in ("jax", "gymnasium", "mujoco", "envpool")},
    }


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "not installed"


def matmul_gflops(size: int = 2048, repeats: int = 15) -> float:
    """Return the speed of a large float32 matrix product, the best of several runs."""
    x = jnp.asarray(np.random.default_rng(0).normal(size=(size, size)), jnp.float32)
    product = jax.jit(lambda a: a @ a)
    product(x).block_until_ready()
    best = float("inf")
    for _ in range(repeats):
        start = time.perf_counter()
        product(x).block_until_ready()
        best = min(best, time.perf_counter() - start)
    return 2 * size**3 / best / 1e9
