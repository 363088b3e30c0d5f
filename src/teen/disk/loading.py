"""A run's agent, as a user asks for it: the one it saved, or that of a checkpoint, where this is newer.

A run that was killed has saved none, and one that goes on has an old one.
"""

from pathlib import Path

import jax
import jax.numpy as jnp
from jax import random, vmap

from .. import envs
from ..config.job import resolve
from ..errors import UserError, notice
from ..settings import stacked
from ..snapshot import filled, fitting
from . import agent, checkpoint
from .agent import Agent
from .checkpoint import Checkpoint


def load(path: str | Path) -> Agent:
    """Return the agent of a run folder. Files are checked against what the config says they hold."""
    folder = Path(path)
    if not (folder / "config.toml").is_file():
        inside = sorted(p.parent.name for p in folder.glob("*/config.toml"))
        hint = f"; it holds the runs {', '.join(inside)}" if inside else ""
        raise UserError(f"{path} is not a run folder: there is no config.toml in it{hint}")
    saved = agent.saved_step(folder / "agent")
    for parent, variant in ((folder, ""), (folder.parent, folder.name)):
        checkpoints = parent / "checkpoint"
        if (checkpoint.latest(checkpoints) or 0) <= (saved or 0):
            continue
        try:
            newest = checkpoint.newest(checkpoints, rows=False)
            if newest.step > (saved or 0):
                return _agent_of(newest, variant)
        except UserError as error:
            if saved is None:
                raise
            notice(f"{error}; the agent saved at step {saved} is taken")
    return agent.read(folder / "agent")


def _agent_of(saved: Checkpoint, name: str) -> Agent:
    """Return the agent of one variant as a checkpoint has it."""
    with fitting(f"the checkpoint of step {saved.step} in {saved.folder}"):
        job = resolve(dict(saved.snapshot.part("run").facts["settings"]))
        number = [variant.name for variant in job.variants].index(name)
        arrays = saved.snapshot.part("engine").part("trainer").arrays
    settings, config, algo = job.settings, job.variants[number].config, job.algorithm
    pool = envs.make(settings.env, 1, "auto", settings.action_repeat)
    spec = pool.spec
    pool.close()
    keys = random.split(random.key(0), len(job.lane_seeds))
    template = jax.eval_shape(vmap(lambda key: algo.init(config, key, spec)), keys)
    with fitting(f"the checkpoint of step {saved.step} in {saved.folder}"):
        state = filled(template, {n.removeprefix("state."): a for n, a in arrays.items() if n.startswith("state.")})
    seeds = len(settings.seeds)
    lanes = slice(number * seeds, (number + 1) * seeds)
    state = jax.tree.map(lambda leaf: jnp.asarray(leaf[lanes]), state)
    return Agent(settings, config, saved.step, jax.jit(vmap(algo.weights))(stacked([config] * seeds), state))
