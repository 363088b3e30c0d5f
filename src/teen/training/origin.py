"""The agent that a run begins with, `--from`: its networks, for every lane.

What an agent holds is what acting and judging need, and that is every network that learns: actors, critics, TEEN's
discriminator, RND's predictor, the statistics of normalised observations, SAC's temperature. Targets begin as copies,
Adam's moments as zeros, the replay empty.
"""

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import jax
import numpy as np
from jax import random, vmap

from ..config.job import Job
from ..config.modules import Trust
from ..disk.agent import Agent
from ..disk.loading import load
from ..errors import UserError
from ..settings import flag, leaves, shown
from ..snapshot import filled, on_host
from ..spec import PyTree, Spec


class Origin(NamedTuple):
    weights: PyTree  # leaves (lane, ...)
    facts: dict[str, Any]  # for machine.json

    def __str__(self) -> str:
        return f"begins with the networks of {self.facts['agent']} after {self.facts['step']} steps"


def origin_of(job: Job, spec: Spec, trust: Trust = ()) -> Origin | None:
    """Return what a job begins with; None where that is new. A UserError says what does not fit."""
    path = job.settings.from_
    if not path:
        if job.settings.from_seed >= 0:
            raise UserError(f"--from-seed {job.settings.from_seed} is for --from RUN, which is not given")
        return None
    agent, template = load(path, trust), _template(job, spec)
    agent.check_complete(f"--from {path}")
    _check_settings(job, agent)
    rows = [_row(job, agent, seed) for seed in job.lane_seeds]
    weights = jax.tree.map(lambda leaf: np.asarray(leaf)[rows], agent.weights)
    try:
        weights = filled(template, on_host(weights))
    except ValueError:
        raise _misfit(job, agent, spec) from None
    arrays = on_host(agent.weights)
    if not all(np.isfinite(array[rows]).all() for array in arrays.values()):
        raise UserError(f"--from {path}: the agent's numbers are not finite: training with them would learn nothing")
    digest = hashlib.sha256(b"".join(np.ascontiguousarray(arrays[name]).tobytes() for name in sorted(arrays)))
    seeds = [agent.seeds[row] for row in rows[: len(job.settings.seeds)]]
    return Origin(weights, {"agent": path, "step": agent.step, "seeds": seeds, "sha256": digest.hexdigest()})


def _check_settings(job: Job, agent: Agent) -> None:
    """Compare what must be the same whatever the networks' sizes."""
    here, there = _settings(job.settings, job.variants[0].config), _settings(agent.settings, agent.config)
    for name in ("algo", "base", "normalise_obs"):
        if here.get(name) != there.get(name):
            raise _differing(job, name, there, here)


def _settings(settings: Any, config: Any) -> dict[str, Any]:
    """Return what may decide which networks there are. Per-lane numbers do not."""
    static = {leaf.name: leaf.value for leaf in leaves(config) if not leaf.per_lane}
    return {"algo": settings.algo, "normalise_obs": settings.normalise_obs, **static}


def _differing(job: Job, name: str, there: Mapping[str, Any], here: Mapping[str, Any]) -> UserError:
    path = job.settings.from_
    text = (
        f"--from {path} does not fit: {flag(name)} is {shown(there.get(name))} there and {shown(here.get(name))} here"
    )
    file = Path(path, "config.toml")
    return UserError(f"{text}; --config {file} takes its settings" if file.is_file() else text)


def _row(job: Job, agent: Agent, seed: int) -> int:
    """Return which of the agent's policies a seed begins with."""
    path, chosen = job.settings.from_, job.settings.from_seed
    if chosen >= 0 and chosen not in agent.seeds:
        raise UserError(f"--from-seed {chosen}: {path} has seeds {shown(list(agent.seeds))}")
    if chosen < 0 and len(agent.seeds) > 1 and seed not in agent.seeds:
        raise UserError(
            f"seed {seed} has no policy to begin with: {path} has seeds {shown(list(agent.seeds))}; train some of "
            "these, or choose one for all with --from-seed"
        )
    return 0 if chosen < 0 and len(agent.seeds) == 1 else agent.seeds.index(chosen if chosen >= 0 else seed)


def _template(job: Job, spec: Spec) -> PyTree:
    """Return the shapes that the weights of a job have. A UserError says if its algorithm cannot begin with any."""
    algo, config = job.algorithm, job.variants[0].config

    def both(key: jax.Array) -> tuple[PyTree, PyTree]:
        state = algo.init(config, key, spec)
        weights = algo.weights(config, state)
        return weights, algo.adopt(config, state, weights) if algo.adopt else None

    try:
        weights, state = jax.eval_shape(vmap(both), random.split(random.key(0), len(job.lane_seeds)))
    except (AttributeError, TypeError, ValueError):  # a learner of somebody's own, whose networks have other names
        state = None
    if state is None:
        raise UserError(f"{job.settings.algo} has no --from: give its Algorithm an `adopt` (docs/extending.md)")
    return weights


def _misfit(job: Job, agent: Agent, spec: Spec) -> UserError:
    """Say why the networks have other shapes: a setting, or the environment."""
    here, there = _settings(job.settings, job.variants[0].config), _settings(agent.settings, agent.config)
    for name in ("width", "depth", "n", "critics", *here):
        if here.get(name) != there.get(name):
            return _differing(job, name, there, here)
    return UserError(
        f"--from {job.settings.from_} does not fit: it was trained on {agent.settings.env}, and {job.settings.env} has "
        f"other sizes, {spec.obs} observations and {spec.action} actions"
    )
