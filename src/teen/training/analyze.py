"""Diagnose a run's agent, saved or from its newest checkpoint, and write the diagnosis into its folder."""

from pathlib import Path
from typing import NamedTuple

import jax

from .. import envs
from ..disk import logs
from ..disk.loading import load
from ..engine.evaluate import copies_needed
from ..errors import UserError
from ..measure.diagnose import examine, tables
from ..measure.rollouts import Scene

Quantity = tuple[int, str, float]  # seed, name and value


class Measured(NamedTuple):
    step: int  # of the agent
    quantities: list[Quantity]


def analyze(path: Path, episodes: int = 10, seed: int = 0) -> Measured:
    """Write diagnostics.csv, and members.csv and confusion.csv where they apply, into the run folder. Rows of the
    same step are replaced, others are kept. `seed` chooses other starting states."""
    agent = load(path)
    for name in logs.REPLACED:
        logs.read_whole(path, name)  # damage is reported before the expensive part
    settings, seeds = agent.settings, agent.seeds
    copies = copies_needed(agent.algo, agent.config, len(seeds), episodes)
    pool = envs.make(settings.env, copies, "auto", settings.action_repeat)
    configs, weights = jax.device_put((agent.configs, agent.weights), jax.devices("cpu")[0])  # in full precision
    scene = Scene(agent.algo, configs, weights, pool, seeds, 2**31 + seed, range(len(seeds)))
    try:
        with envs.Watchdog(settings.plan.env_timeout, [pool]):
            diagnoses = examine(scene, episodes, settings.reward_scale)
    finally:
        pool.close()
    measured = [(number, diagnosis) for number, diagnosis in zip(seeds, diagnoses, strict=True) if diagnosis.quantities]
    if not measured:
        raise UserError(f"the agent in {path} cannot be diagnosed: its actions are not finite")
    logs.write_diagnosis(path, agent.step, [(number, tables(diagnosis)) for number, diagnosis in measured])
    return Measured(agent.step, [(number, *row) for number, diagnosis in measured for row in diagnosis.quantities])
