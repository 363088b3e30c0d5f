"""A run's agent, as a user asks for it: the one it saved, or that of a checkpoint, where this is newer.

A run that was killed has saved none, and one that goes on has an old one.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import jax
import jax.numpy as jnp
from jax import random, vmap

from .. import algos, envs
from ..config import job as config
from ..errors import UserError
from ..snapshot import BAD_RECORD, filled
from . import agent, checkpoint
from .agent import Agent


def load(path: str | Path) -> Agent:
    """The agent of a run directory. Files are checked against what the config says they hold."""
    folder = Path(path)
    if not (folder / "config.toml").is_file():
        inside = sorted(p.parent.name for p in folder.glob("*/config.toml"))
        hint = f"; it holds the runs {', '.join(inside)}" if inside else ""
        raise UserError(f"{path} is not a run directory: there is no config.toml in it{hint}")
    saved = agent.saved_step(folder / "agent")
    for place, variant in ((folder, ""), (folder.parent, folder.name)):
        kept = place / "checkpoint"
        if (checkpoint.latest(kept) or 0) <= (saved or 0):
            continue
        try:
            found = checkpoint.newest(kept, rows=False)
            if found.step > (saved or 0):
                return _of(found, variant)
        except UserError:
            if saved is None:
                raise
    return agent.read(folder / "agent")


def _of(found: checkpoint.Found, variant: str) -> Agent:
    with _fitting(found):
        job = config.resolve(dict(found.record.part("run").facts["settings"]))
        number = [own.name for own in job.variants].index(variant)
        arrays = found.record.part("engine").part("learning").arrays
    own_config, seeds = job.variants[number].config, len(job.run.seeds)
    algo = algos.build(job.run.algo, own_config, job.run.normalise_obs)
    hyper = algos.find(job.run.algo).hyper(own_config)
    pool = envs.make(job.run.env, 1, "auto", job.run.action_repeat)
    spec = pool.spec
    pool.close()
    keys = random.split(random.key(0), len(job.lane_seeds))
    template = jax.eval_shape(vmap(lambda key: algo.init(key, spec, hyper)), keys)
    with _fitting(found):
        state = filled(template, {n.removeprefix("state."): a for n, a in arrays.items() if n.startswith("state.")})
    lanes = slice(number * seeds, (number + 1) * seeds)
    own = jax.tree.map(lambda leaf: jnp.asarray(leaf[lanes]), state)
    return Agent(job.run, own_config, found.step, jax.jit(vmap(algo.agent))(own))


@contextmanager
def _fitting(found: checkpoint.Found) -> Iterator[None]:
    try:
        yield
    except BAD_RECORD as error:
        raise UserError(f"the checkpoint of step {found.step} in {found.folder} does not fit: {error}") from None
