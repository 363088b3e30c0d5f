"""A run's agent, as a user asks for it: the one it saved, or that of a checkpoint, where this is newer.

A run that was killed has saved none, and one that goes on has an old one. The best agent so far is kept beside the last
one, in both places.
"""

from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
from jax import random, vmap

from .. import envs
from ..config.job import resolve
from ..config.modules import Trust, import_named
from ..engine import best as bests
from ..engine import device
from ..envs import arguments, given
from ..errors import UserError, notice
from ..settings import flat, replace, stacked
from ..snapshot import filled, fitting
from . import agreement, checkpoint, saved
from .agent import Agent
from .agreement import Refused
from .checkpoint import Checkpoint
from .elsewhere import found


def load(path: str | Path, trust: Trust = (), *, env: Any = None, best: bool = False) -> Agent:
    """Return the agent of a run folder, or of a folder to which a model was saved; also `pretrained/TASK` and
    `hf:USER/NAME`. Files are checked against what the config says they hold.

    `trust` lists the modules that they may name, such as that of an environment of your own: to import a module is to
    execute it. `env` is the environment to act in: it must be given if it was given as a Python object. `best` asks for
    each seed's weights at its best evaluation instead of the last ones.
    """
    device.check()
    folder, task = found(path), None if env is None else envs.name_of(env)
    if isinstance(env, str):
        import_named({"env": env})
    try:
        named = agreement.read_config(folder).get("env")
    except FileNotFoundError:
        inside = sorted(p.parent.name for p in folder.glob("*/config.toml"))
        hint = f"; it holds the runs {', '.join(inside)}" if inside else ""
        raise UserError(f"{path} is not a run folder: there is no config.toml in it{hint}") from None
    if task is not None and not isinstance(env, str) and isinstance(named, str) and named.startswith(given.PREFIX):
        task = arguments.joined(task, arguments.split(named)[1])  # with which it was given
    if task is None and isinstance(named, str) and not envs.is_known(named):
        notice(f"{named} was given as a Python object, which no file holds: act in it with teen.load(path, env=...)")
    agent = _newest(folder, trust, task, best)
    if task is not None:
        agent.settings = replace(agent.settings, {"env": task})
    return agent


def _newest(folder: Path, trust: Trust, task: str | None, best: bool) -> Agent:
    kept = folder / (saved.BEST if best else saved.LAST)
    step = saved.saved_step(kept)
    # The checkpoints of a variant, whose name is such as alpha=0.2, are those of its program.
    for parent, variant in ((folder, ""), *([(folder.parent, folder.name)] if "=" in folder.name else [])):
        checkpoints = parent / "checkpoint"
        latest = checkpoint.latest(checkpoints)
        if latest is None or (step is not None and latest <= step):
            continue
        try:
            newest = checkpoint.newest(checkpoints, rows=False)
            if step is None or newest.step > step:
                return _agent_of(newest, variant, folder, trust, task, best)
        except Refused:
            raise
        except UserError as error:
            if step is None:
                raise
            notice(f"{error}; the agent saved at step {step} is taken")
    return saved.read(kept, trust)


def _agent_of(
    newest: Checkpoint, name: str, folder: Path, trust: Trust, task: str | None = None, best: bool = False
) -> Agent:
    """Return the agent of one variant, whose run folder this is, as a checkpoint has it."""
    what = f"the checkpoint of step {newest.step} in {newest.folder}"
    with fitting(what):
        named = dict(newest.snapshot.part("run").facts["settings"])
        engine = newest.snapshot.part("engine")
    agreement.admit(named, newest.manifest, trust)
    with fitting(what):
        job = resolve(named)
        number = [variant.name for variant in job.variants].index(name)
    settings, config, algo = job.settings, job.variants[number].config, job.algorithm
    values = {**flat(settings), **flat(config)}
    agreement.check(folder, {key: value for key, value in values.items() if key in named}, newest.manifest)
    pool = envs.make(task or settings.env, 1, "auto", settings.action_repeat)
    spec = pool.spec
    pool.close()
    lanes, seeds = len(job.lane_seeds), len(settings.seeds)
    own = range(number * seeds, (number + 1) * seeds)
    template = jax.eval_shape(vmap(lambda key: algo.init(config, key, spec)), random.split(random.key(0), lanes))
    with fitting(what):
        arrays = engine.part("trainer").arrays
        state = filled(template, {n.removeprefix("state."): a for n, a in arrays.items() if n.startswith("state.")})
    state = jax.tree.map(lambda leaf: jnp.asarray(leaf[own.start : own.stop]), state)
    weights = jax.jit(vmap(algo.weights))(stacked([config] * seeds), state)
    agent = Agent(settings, config, newest.step, weights)
    if not best:
        return agent
    with fitting(what):
        kept = bests.read(engine.part("best"), bests.of_one_lane(weights), lanes) if "best" in engine.facts else {}
    found = agent.at_best(kept, own.start)
    if found is None:
        raise UserError(f"{folder} has no best agent yet: it has not been evaluated")
    return found
