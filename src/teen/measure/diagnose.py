"""Everything that docs/diagnostics.md lists, measured on the weights of all lanes."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..algos.insight import insight_of
from ..envs import Envs
from ..spec import AnyAlgorithm, PyTree, Tables
from . import bias, members
from .entropy import Normaliser, decomposition
from .rollouts import Scene
from .visits import Visits, frozen_normaliser, visit

Quantities = list[tuple[str, float]]


class Diagnosis(NamedTuple):
    """One lane's quantities. What does not apply to its algorithm is absent."""

    quantities: Quantities
    returns: members.Returns | None = None
    recognition: members.Recognition | None = None


def diagnose(
    algo: AnyAlgorithm,
    configs: Any,
    weights: PyTree,
    envs: Envs,
    seeds: Sequence[int],
    step: int,
    episodes: int,
    *,
    reward_scale: float = 1.0,
    lanes: Sequence[int] | None = None,
    wanted: Callable[[], bool] = lambda: True,
) -> list[Tables]:
    """Return each lane's tables; none of a lane that was not asked for or whose actions are not finite.

    `configs`, `weights` and `envs` are as in `evaluate`; with EnvPool, the copies must be used for nothing else, or the
    other use would get other episodes. `reward_scale` is that of the training.
    """
    scene = Scene(algo, configs, weights, envs, seeds, step, range(len(seeds)) if lanes is None else lanes, wanted)
    return [tables(diagnosis) for diagnosis in examine(scene, episodes, reward_scale)]


def examine(scene: Scene, episodes: int, reward_scale: float = 1.0) -> list[Diagnosis]:
    """Measure everything, lane by lane."""
    visits = visit(scene, episodes)
    scene = scene._replace(lanes=[lane for lane, visited in enumerate(visits) if visited])
    biases = {"bias": bias.measure(scene, episodes, reward_scale)}
    returns: list[members.Returns | None] = [None] * len(visits)
    if scene.size > 1:
        biases["bias_mixture"] = bias.measure(scene, episodes, reward_scale, mixture=True)
        returns = members.returns(scene, episodes)
    normaliser = frozen_normaliser(scene.envs.name)

    def one(lane: int, visited: Visits | None) -> Diagnosis:
        if visited is None:
            return Diagnosis([])
        quantities = [row for name, lanes in biases.items() for row in _bias_rows(name, lanes[lane])]
        quantities += _entropy_rows(visited, normaliser)
        if scene.size == 1:
            return Diagnosis(quantities)
        one_lane = scene.algo, *scene.lane(lane)
        recognition, scores = None, returns[lane]
        if insight_of(scene.algo, scene.configs).recognise:
            recognition = members.recognition(*one_lane, visited)
            quantities += [("discriminator_bound", recognition.bound)]
            quantities += [("discriminator_accuracy", recognition.accuracy())]
        states = visited.obs.reshape(-1, visited.obs.shape[-1])
        quantities += [("action_distance", members.action_distance(*one_lane, states))]
        if scores:
            quantities += _return_rows(scores)
        return Diagnosis(quantities, scores, recognition)

    return [one(lane, visited) for lane, visited in enumerate(visits)]


def tables(diagnosis: Diagnosis) -> Tables:
    """Return the rows of each log, without seed and step."""
    parts = {
        "diagnostics.csv": list(diagnosis.quantities),
        "members.csv": _member_rows(diagnosis.returns) if diagnosis.returns else [],
        "confusion.csv": _confusion_rows(diagnosis.recognition) if diagnosis.recognition else [],
    }
    return {name: rows for name, rows in parts.items() if rows}


def _member_rows(returns: members.Returns) -> list[tuple[Any, ...]]:
    policies = {
        **{str(z): scores for z, scores in enumerate(returns.members)},
        "random member": returns.random_member,
        "mean action": returns.mean_action,
    }
    return [(name, episode, float(score)) for name, scores in policies.items() for episode, score in enumerate(scores)]


def _confusion_rows(recognition: members.Recognition) -> list[tuple[Any, ...]]:
    return [(z, guess, float(share)) for (z, guess), share in np.ndenumerate(recognition.confusion)]


def _bias_rows(name: str, measured: bias.Bias | None) -> Quantities:
    if measured is None:
        return [(f"{name}_states", 0.0)]
    return [(f"{name}_{field}", float(number)) for field, number in measured._asdict().items()]


def _entropy_rows(visits: Visits, normaliser: Normaliser) -> Quantities:
    parts = decomposition(visits.pairs(), normaliser, visits.half)
    rows = [("entropy_all", parts.all)]
    if len(visits.obs) > 1:
        rows += [("entropy_members_mean", parts.members), ("kl_members", parts.divergence)]
        rows += [("kl_members_any_episode", parts.divergence_any)]
    return [*rows, ("entropy_particle", parts.particle), ("entropy_ties", parts.ties)]


def _return_rows(scores: members.Returns) -> Quantities:
    return [
        ("return_mean_action", float(scores.mean_action.mean())),
        ("return_random_member", float(scores.random_member.mean())),
        ("return_members_mean", float(scores.members.mean())),
        ("return_best_member", scores.best()),
    ]
