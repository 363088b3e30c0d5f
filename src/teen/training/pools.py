"""The environments of a run: to train in, to evaluate in, and to diagnose in."""

from collections.abc import Sequence
from typing import Any

import jax.numpy as jnp

from .. import envs
from ..algos.insight import insight_of
from ..config.job import Job
from ..engine import memory
from ..engine.acting import actor_shapes, are_fetched, are_float
from ..engine.background import Diagnoser
from ..engine.episodes import threads_of_a_lane
from ..engine.evaluate import copies_needed
from ..envs import CompiledEnvs, Envs
from ..errors import UserError
from ..settings import Collecting
from ..spec import PyTree, Tables


def training_envs(job: Job) -> list[Envs] | CompiledEnvs:
    """Return the environments of all lanes, for the collector that was asked for. No simulator is made yet."""
    settings, lanes, wanted = job.settings, len(job.lane_seeds), job.settings.plan.collector
    if wanted == "compiled" and settings.backend != "envpool":
        stepped = f"{settings.env} is stepped with {settings.backend}"
        raise UserError(f"--collector compiled needs EnvPool, and {stepped}; take --collector auto")
    if wanted == "compiled" or (wanted == "auto" and settings.backend == "envpool"):
        compiled = CompiledEnvs(settings.env, lanes, action_repeat=settings.action_repeat)
        shapes = actor_shapes(job.algorithm, job.variants[0].config, compiled.spec)
        if wanted == "compiled" and not are_float(shapes):
            raise UserError(f"--collector compiled: {settings.algo} acts with weights that are not float32")
        if wanted == "compiled" or are_fetched(shapes, jnp.zeros(()).device):
            return compiled
    return envs.make_crews(settings.env, lanes, settings.backend, settings.action_repeat)


def evaluation_envs(job: Job, collector: Collecting) -> Envs | CompiledEnvs:
    settings, lanes, episodes = job.settings, len(job.lane_seeds), job.settings.plan.eval_episodes
    if collector == "compiled":
        memory.check_copies(lanes * episodes)
        return CompiledEnvs(settings.env, lanes, episodes, settings.action_repeat, threads_of_a_lane(lanes))
    copies = memory.check_copies(copies_needed(job.algorithm, job.variants[0].config, lanes, episodes))
    return envs.make(settings.env, copies, settings.backend, settings.action_repeat)


def diagnoser(job: Job) -> Diagnoser:
    from ..measure.diagnose import diagnose  # imports SciPy, which takes a second
    from ..measure.visits import frozen_normaliser

    settings, algo, config = job.settings, job.algorithm, job.variants[0].config
    insight_of(algo, config)  # fails now, not in the middle of training, if there is none
    copies = memory.check_copies(copies_needed(algo, config, len(job.lane_seeds), settings.diagnose_episodes))
    pool = envs.make(settings.env, copies, settings.backend, settings.action_repeat)

    def run(configs: Any, weights: PyTree, pool: Envs, seeds: Sequence[int], step: int, **options: Any) -> list[Tables]:
        scaled = {"reward_scale": settings.reward_scale, **options}
        return diagnose(algo, configs, weights, pool, seeds, step, settings.diagnose_episodes, **scaled)

    frozen_normaliser(settings.env)  # here, not in the thread that diagnoses: it makes environments of its own
    return Diagnoser(pool, run)
