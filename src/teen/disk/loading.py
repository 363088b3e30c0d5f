"""A run's agent, as a user asks for it: the one it saved, or that of a checkpoint, where this is newer.

A run that was killed has saved none, and one that goes on has an old one.
"""

from pathlib import Path

import jax
import jax.numpy as jnp
from jax import random, vmap

from .. import envs
from ..config.job import resolve
from ..config.modules import Trust
from ..errors import UserError, notice
from ..settings import flat, stacked
from ..snapshot import filled, fitting
from . import agent, agreement, checkpoint
from .agent import Agent
from .agreement import Refused
from .checkpoint import Checkpoint


def load(path: str | Path, trust: Trust = ()) -> Agent:
    """Return the agent of a run folder. Files are checked against what the config says they hold. `trust` lists the
    modules that they may name, such as that of an environment of your own: to import a module is to execute it."""
    folder = Path(path)
    try:
        agreement.read_config(folder)
    except FileNotFoundError:
        inside = sorted(p.parent.name for p in folder.glob("*/config.toml"))
        hint = f"; it holds the runs {', '.join(inside)}" if inside else ""
        raise UserError(f"{path} is not a run folder: there is no config.toml in it{hint}") from None
    saved = agent.saved_step(folder / "agent")
    # The checkpoints of a variant, whose name is such as alpha=0.2, are those of its program.
    for parent, variant in ((folder, ""), *([(folder.parent, folder.name)] if "=" in folder.name else [])):
        checkpoints = parent / "checkpoint"
        latest = checkpoint.latest(checkpoints)
        if latest is None or (saved is not None and latest <= saved):
            continue
        try:
            newest = checkpoint.newest(checkpoints, rows=False)
            if saved is None or newest.step > saved:
                return _agent_of(newest, variant, folder, trust)
        except Refused:
            raise
        except UserError as error:
            if saved is None:
                raise
            notice(f"{error}; the agent saved at step {saved} is taken")
    return agent.read(folder / "agent", trust)


def _agent_of(saved: Checkpoint, name: str, folder: Path, trust: Trust) -> Agent:
    """Return the agent of one variant, whose run folder this is, as a checkpoint has it."""
    what = f"the checkpoint of step {saved.step} in {saved.folder}"
    with fitting(what):
        named = dict(saved.snapshot.part("run").facts["settings"])
        arrays = saved.snapshot.part("engine").part("trainer").arrays
    agreement.admit(named, saved.manifest, trust)
    with fitting(what):
        job = resolve(named)
        number = [variant.name for variant in job.variants].index(name)
    settings, config, algo = job.settings, job.variants[number].config, job.algorithm
    values = {**flat(settings), **flat(config)}
    agreement.check(folder, {key: value for key, value in values.items() if key in named}, saved.manifest)
    pool = envs.make(settings.env, 1, "auto", settings.action_repeat)
    spec = pool.spec
    pool.close()
    keys = random.split(random.key(0), len(job.lane_seeds))
    template = jax.eval_shape(vmap(lambda key: algo.init(config, key, spec)), keys)
    with fitting(what):
        state = filled(template, {n.removeprefix("state."): a for n, a in arrays.items() if n.startswith("state.")})
    seeds = len(settings.seeds)
    lanes = slice(number * seeds, (number + 1) * seeds)
    state = jax.tree.map(lambda leaf: jnp.asarray(leaf[lanes]), state)
    return Agent(settings, config, saved.step, jax.jit(vmap(algo.weights))(stacked([config] * seeds), state))
