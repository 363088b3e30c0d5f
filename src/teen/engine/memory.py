"""What a program needs at least, known from shapes alone: what cannot fit is refused before anything is built."""

import math
import os
import resource
from contextlib import suppress
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
from jax import random

from ..errors import UserError
from ..settings import flat, leaves
from ..spec import AnyAlgorithm, PyTree
from .plan import Plan
from .replay import Layout

GIB = 2**30
MOST_COPIES = 10_000  # of an environment, side by side; each may take a megabyte
CGROUP_LIMITS = "/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"


def size(tree: PyTree) -> int:
    """Return the bytes of a tree's arrays, or of arrays of these shapes."""
    return sum(math.prod(leaf.shape) * leaf.dtype.itemsize for leaf in jax.tree.leaves(tree))


def needed(algo: AnyAlgorithm, config: Any, layout: Layout, lanes: int, plan: Plan) -> int:
    """Return the bytes that training takes at least, beside the replay: the learners' state, and what is drawn and
    sampled for a chunk of updates."""
    updates = plan.chunk() * plan.utd
    key = jax.eval_shape(lambda: random.key(0))  # no device is started for this: a launcher asks, too
    state = jax.eval_shape(lambda key: algo.init(config, key, layout.spec), key)
    noise = jax.eval_shape(lambda key: algo.draw(config, key, plan.batch, layout.spec), key)
    bits, rows = 4 * plan.batch, layout.bytes(1, plan.batch) + 4 * plan.batch * (plan.n_step - 1)
    sampled = rows * (updates if plan.replay == "host" else 1)
    return lanes * (size(state) + updates * (size(noise) + bits) + sampled)


def check(algo: AnyAlgorithm, config: Any, layout: Layout, lanes: int, plan: Plan) -> None:
    """Raise a UserError if training needs more memory than the learner's device has."""
    need, (there, where) = needed(algo, config, layout, lanes, plan), available()
    if need > there:
        usual = {**flat(Plan()), **flat(algo.Config())}
        sized = [*leaves(config), *(leaf for leaf in leaves(plan) if leaf.name in ("batch", "utd", "sync"))]
        numbers = [leaf for leaf in sized if leaf.type is int and leaf.name in usual]
        raised = [f"{leaf.flag} {leaf.value}" for leaf in numbers if leaf.value > usual[leaf.name]]
        what = " ".join(["training", *(["with", *raised] if raised else []), f"in {lanes:,} lane{'s'[: lanes - 1]}"])
        raise UserError(f"{what} needs {need / GIB:,.1f} GiB of memory; {where} has {there / GIB:,.1f} GiB")


def check_copies(copies: int) -> int:
    """Return a number of environments to be stepped side by side, or raise a UserError if it is absurd."""
    if copies > MOST_COPIES:
        raise UserError(
            f"{copies:,} copies of the environment would be stepped side by side, and {MOST_COPIES:,} are the most: "
            "take fewer episodes, seeds or members"
        )
    return copies


def available() -> tuple[int, str]:
    """Return the bytes of the memory in which learners live, used or not, and whose it is."""
    device: Any = jnp.zeros(()).device
    stats = device.memory_stats() or {}  # a CPU has none: there the device's memory is the host's
    return (stats["bytes_limit"], device.device_kind) if "bytes_limit" in stats else (of_machine(), "this machine")


def of_machine() -> int:
    """Return the bytes of memory that this process may take: those of the machine, of its container, of its limits."""
    sizes = [os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")]
    for path in CGROUP_LIMITS:
        with suppress(OSError, ValueError):  # there is none, or it says "max"
            sizes.append(int(Path(path).read_text()))
    for kind in (resource.RLIMIT_AS, resource.RLIMIT_DATA):
        if (limit := resource.getrlimit(kind)[0]) != resource.RLIM_INFINITY:
            sizes.append(limit)
    return min(sizes)
