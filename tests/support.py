"""What several tests need."""

from functools import cache
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from teen.disk import circumstances
from teen.spec import AnyAlgorithm, Batch, Clock, Spec

SPEC = Spec(obs=3, action=2)


def same_in_every_run(folder: Path) -> dict[str, bytes]:
    """All files below a folder by name, but those that say when and where a run was made."""
    files = [path for path in folder.rglob("*") if path.is_file() and path.name not in circumstances.NAMES]
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


@cache
def compiled(algo: AnyAlgorithm) -> Any:
    """Return an algorithm's update as one compiled function: cfg, state, batch, clock, noise."""
    return jax.jit(algo.update)


@cache
def compiled_init(algo: AnyAlgorithm) -> Any:
    return jax.jit(algo.init, static_argnums=2)


def start(algo: AnyAlgorithm, cfg: Any, seed: int = 0) -> Any:
    return compiled_init(algo)(cfg, jax.random.key(seed), SPEC)


def clock(gradient_step: int, env_step: int = 0, episodes: int = 0, closing: bool = True) -> Clock:
    return Clock(jnp.array(gradient_step), jnp.array(env_step), jnp.array(episodes), jnp.array(closing))


def random_batch(rows: int, members: int, seed: int = 0, gamma: float = 0.9) -> Batch:
    """A batch with some terminations, some warm-up rows, and every age from 0 up."""
    rng = np.random.default_rng(seed)
    return Batch(
        obs=jnp.array(rng.normal(size=(rows, SPEC.obs))),
        action=jnp.array(rng.uniform(-1, 1, (rows, SPEC.action))),
        reward=jnp.array(rng.normal(size=rows)),
        discount=gamma * jnp.array(rng.random(rows) >= 0.3, float),
        next_obs=jnp.array(rng.normal(size=(rows, SPEC.obs))),
        extras={"z": jnp.array(rng.integers(-1, members, (rows, 1)), float)},
        age=jnp.arange(rows),
    )


def for_actors(batch: Batch) -> Batch:
    """A batch of which an update moves actors and targets alone: y is 0, which critics of zeros predict, and no row
    trains a discriminator."""
    nobodys = {"z": -jnp.ones_like(batch.extras["z"])}
    return batch._replace(reward=jnp.zeros_like(batch.reward), discount=jnp.zeros_like(batch.reward), extras=nobodys)


def double(tree: Any) -> Any:
    """Every float array in double precision, so that a comparison at 1e-5 is about formulas alone."""
    return jax.tree.map(lambda x: x.astype(float) if jnp.issubdtype(x.dtype, jnp.floating) else x, tree)


def differ(a: Any, b: Any) -> list[bool]:
    """Per leaf: whether the two trees differ."""
    pairs = zip(jax.tree.leaves(a), jax.tree.leaves(b), strict=True)
    return [not np.array_equal(x, y) for x, y in pairs]
