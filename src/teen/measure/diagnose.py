"""Everything that docs/diagnostics.md lists, on a snapshot of all lanes."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..algos import insight
from ..disk.diagnostics import Tables
from ..envs import Envs
from ..spec import Algorithm, PyTree
from . import bias, members
from .entropy import Normaliser, decomposition
from .rollouts import Scene
from .visits import Visits, frozen_normaliser, visit

Quantities = list[tuple[str, float]]


class Findings(NamedTuple):
    """Of one lane. What does not apply to its algorithm is absent."""

    quantities: Quantities
    returns: members.Returns | None = None
    recognition: members.Recognition | None = None


def diagnose(
    algo: Algorithm,
    agents: PyTree,
    envs: Envs,
    seeds: Sequence[int],
    step: int,
    episodes: int,
    *,
    reward_scale: float = 1.0,
    lanes: Sequence[int] | None = None,
    wanted: Callable[[], bool] = lambda: True,
) -> list[Tables]:
    """Per lane; nothing of a lane that was not asked for or whose actions are not finite. `agents` and `envs` are as in
    `evaluate`; with EnvPool, copies that nobody else steps, or the others' episodes will be other ones. `reward_scale`
    is that of the training."""
    scene = Scene(algo, agents, envs, seeds, step, range(len(seeds)) if lanes is None else lanes, wanted)
    return [tables(found) for found in examine(scene, episodes, reward_scale)]


def examine(scene: Scene, episodes: int, reward_scale: float = 1.0) -> list[Findings]:
    algo, normaliser = scene.algo, frozen_normaliser(scene.envs.name)
    together = members.is_ensemble(algo)
    visits = visit(scene, episodes)
    scene = scene._replace(lanes=[lane for lane, own in enumerate(visits) if own])
    kinds = {"bias": bias.measure(scene, episodes, reward_scale)}
    if together:
        kinds["bias_mixture"] = bias.measure(scene, episodes, reward_scale, mixture=True)
    returns = members.returns(scene, episodes) if together else [None] * len(visits)

    def one(lane: int, own: Visits | None) -> Findings:
        if own is None:
            return Findings([])
        agent = scene.agent(lane)
        quantities = [row for name, kind in kinds.items() for row in _bias_rows(name, kind[lane])]
        quantities += _entropy_rows(own, normaliser)
        known = members.recognition(algo, agent, own) if together and insight.of(algo).recognise else None
        if known:
            quantities += [("discriminator_bound", known.bound), ("discriminator_accuracy", known.accuracy())]
        if together:
            states = own.obs.reshape(-1, own.obs.shape[-1])
            quantities += [("action_distance", members.action_distance(algo, agent, states))]
        scores = returns[lane]
        if scores:
            quantities += _return_rows(scores)
        return Findings(quantities, scores, known)

    return [one(lane, own) for lane, own in enumerate(visits)]


def tables(found: Findings) -> Tables:
    parts = {
        "diagnostics.csv": list(found.quantities),
        "members.csv": _member_rows(found.returns) if found.returns else [],
        "confusion.csv": _confusion_rows(found.recognition) if found.recognition else [],
    }
    return {name: rows for name, rows in parts.items() if rows}


def _member_rows(returns: members.Returns) -> list[tuple[Any, ...]]:
    policies = {
        **{str(z): own for z, own in enumerate(returns.members)},
        "random member": returns.random_member,
        "mean action": returns.mean_action,
    }
    return [(name, episode, float(score)) for name, own in policies.items() for episode, score in enumerate(own)]


def _confusion_rows(recognition: members.Recognition) -> list[tuple[Any, ...]]:
    return [(z, guess, float(share)) for (z, guess), share in np.ndenumerate(recognition.confusion)]


def _bias_rows(name: str, found: bias.Bias | None) -> Quantities:
    if found is None:
        return [(f"{name}_states", 0.0)]
    return [(f"{name}_{field}", float(number)) for field, number in found._asdict().items()]


def _entropy_rows(visits: Visits, normaliser: Normaliser) -> Quantities:
    found = decomposition(visits.pairs(), normaliser, visits.half)
    rows = [("entropy_all", found.all)]
    if len(visits.obs) > 1:
        rows += [("entropy_members_mean", found.members), ("kl_members", found.divergence)]
        rows += [("kl_members_any_episode", found.divergence_any)]
    return [*rows, ("entropy_particle", found.particle), ("entropy_ties", found.ties)]


def _return_rows(scores: members.Returns) -> Quantities:
    return [
        ("return_mean_action", float(scores.mean_action.mean())),
        ("return_random_member", float(scores.random_member.mean())),
        ("return_members_mean", float(scores.members.mean())),
        ("return_best_member", scores.best()),
    ]
