"""Diagnose a run's agent, saved or from its newest checkpoint, and write the diagnosis into its folder."""

import os
from functools import partial
from pathlib import Path
from typing import NamedTuple

import jax

from .. import envs
from ..config.modules import Trust
from ..disk import logs
from ..disk.loading import load
from ..engine import memory
from ..engine.evaluate import copies_needed
from ..errors import StorageFault, UserError
from ..measure.diagnose import examine, tables
from ..measure.rollouts import Scene

Quantity = tuple[int, str, float]  # seed, name and value


class Measured(NamedTuple):
    step: int  # of the agent
    quantities: list[Quantity]


def analyze(path: Path, episodes: int = 10, seed: int = 0, trust: Trust = ()) -> Measured:
    """Write diagnostics.csv, and members.csv and confusion.csv where they apply, into the run folder. Rows of the
    same step are replaced, others are kept. `seed` chooses other starting states; `trust` lists the modules that the
    run may name."""
    agent = load(path, trust)
    agent.check_complete("a diagnosis")
    for name in logs.REPLACED:
        logs.read_whole(path, name)  # damage is reported before the expensive part
    if not os.access(path, os.W_OK):
        raise UserError(f"{path} cannot be written, and a diagnosis belongs there: copy the run elsewhere")
    settings, seeds = agent.settings, agent.seeds
    copies = memory.check_copies(copies_needed(agent.algo, agent.config, len(seeds), episodes))
    pool = envs.make(settings.env, copies, "auto", settings.action_repeat)
    agent.check_fits(pool.spec)
    configs, weights = jax.device_put((agent.configs, agent.weights), jax.devices("cpu")[0])  # in full precision
    scene = Scene(agent.algo, configs, weights, pool, seeds, 2**31 + seed, range(len(seeds)))
    try:
        work = partial(examine, scene, episodes, settings.reward_scale)
        diagnoses = envs.watched(settings.plan.env_timeout, [pool], work)
    finally:
        pool.close()
    measured = [(number, diagnosis) for number, diagnosis in zip(seeds, diagnoses, strict=True) if diagnosis.quantities]
    if not measured:
        raise UserError(f"the agent in {path} cannot be diagnosed: its actions are not finite")
    try:
        logs.write_diagnosis(path, agent.step, [(number, tables(diagnosis)) for number, diagnosis in measured])
    except OSError as error:
        raise StorageFault(f"{path} cannot be written: {error.strerror}; the diagnosis is lost") from error
    return Measured(agent.step, [(number, *row) for number, diagnosis in measured for row in diagnosis.quantities])
