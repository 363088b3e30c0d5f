"""Hostile run folders from seeds: the same seed gives the same folder."""

import shutil
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import NamedTuple

from . import bases, code, facts, logs, shapes, things
from .victim import Victim

Mutation = Callable[[Victim, Random], str]

# Each with how often it is taken. Those of the next stage may leave nothing that an earlier one could read.
STAGES: tuple[dict[Mutation, float], ...] = (
    {
        facts.config: 5,
        facts.card: 5,
        facts.manifest: 5,
        facts.everywhere: 3,
        facts.arrays: 4,
        facts.repeated_key: 1,
        code.modules: 6,
        code.strays: 1,
        logs.cell: 4,
        logs.many: 3,
        logs.odd_gzip: 1,
        logs.gzip_bomb: 1,
        **dict.fromkeys(shapes.SHAPES, 0.7),
    },
    {things.damage: 4},
    {things.another_thing: 9},
)
NOTHING_LEFT = (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError)


class Plan(NamedTuple):
    """What a seed stands for."""

    seed: int
    base: str
    name: str  # of the run folder
    here: str  # where commands are given: the scene, its folder of runs, or the run folder itself
    ascii: bool  # the terminal shows nothing else
    mutations: list[Mutation]


def plan(seed: int) -> Plan:
    rng = Random(f"hostile run {seed}")
    base = rng.choices(bases.BASES, (6, 2, 2))[0]
    name = rng.choice(shapes.NAMES) if rng.random() < 0.2 else "run"
    here = rng.choices((".", "runs", f"runs/{name}"), (5, 3, 2))[0]
    ascii_only = rng.random() < 0.1
    weights = {mutation: (stage, w) for stage, known in enumerate(STAGES) for mutation, w in known.items()}
    count = rng.choices((1, 2, 3, 4), (5, 3, 2, 1))[0]
    chosen = rng.choices(list(weights), [w for _, w in weights.values()], k=count)
    return Plan(seed, base, name, here, ascii_only, sorted(chosen, key=lambda mutation: weights[mutation][0]))


def build(wanted: Plan, scene: Path, valid: Path) -> tuple[Victim, list[str]]:
    """Make the scene: the hostile run among others, and what lies outside. Return it with its mutations in words."""
    shutil.rmtree(scene, ignore_errors=True)
    (scene / "outside" / "folder" / "inner").mkdir(parents=True)
    for name in ("secret.txt", "folder/secret.txt", "folder/inner/secret.txt"):
        (scene / "outside" / name).write_text("nobody may change this, nor see it\n")
    shutil.copytree(valid / "single", scene / "outside" / "run")
    shutil.copytree(valid / "single", scene / "runs" / "healthy")
    root = scene / "runs" / wanted.name
    shutil.copytree(valid / wanted.base, root)
    rng = Random(f"variant {wanted.seed}")
    victim = Victim(scene, root, rng.choice(bases.variants(root)), scene / wanted.here, wanted.base)
    return victim, [
        _applied(mutation, victim, Random(f"{wanted.seed} {k}")) for k, mutation in enumerate(wanted.mutations)
    ]


def _applied(mutation: Mutation, victim: Victim, rng: Random) -> str:
    try:
        return mutation(victim, rng)
    except NOTHING_LEFT as error:  # an earlier mutation took what it needs
        return f"({mutation.__name__}: {type(error).__name__})"
