"""Optuna's samplers and pruners, as a study's file names them, with what fits training."""

import math
from collections.abc import Mapping
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from ..config.job import resolve
from ..errors import UserError
from ..jobs import study
from ..jobs.study import COUNT, WHOLE
from .file import StudyFile
from .space import Space, grid

if TYPE_CHECKING:
    from optuna.samplers import BaseSampler

FLAG = (bool, 0)
SAMPLERS: dict[str, tuple[str, dict[str, tuple[type, float]]]] = {
    "tpe": (
        "TPESampler",
        {
            **{"n_startup_trials": WHOLE, "n_ei_candidates": COUNT},
            **{"multivariate": FLAG, "group": FLAG, "constant_liar": FLAG},
        },
    ),
    "random": ("RandomSampler", {}),
    "qmc": ("QMCSampler", {"qmc_type": (str, 0), "scramble": FLAG}),
    "cmaes": (
        "CmaEsSampler",
        {
            **{"sigma0": (float, 0), "n_startup_trials": WHOLE, "popsize": (int, 2)},
            **{"consider_pruned_trials": FLAG, "use_separable_cma": FLAG, "with_margin": FLAG},
        },
    ),
    "grid": ("GridSampler", {}),
}


def sampler(file: StudyFile, space: Space, begun: int) -> "BaseSampler":
    """Return the sampler for the next batch, after so many trials. What it draws depends on the file and on what the
    study holds, and not on how often the command was started."""
    from optuna import samplers

    seed = file.seed
    own: dict[str, Any] = {"seed": seed}
    match file.sampler.get("name"):
        case "tpe":  # trials of a batch do not know each other's values: each is counted as bad until it is known
            own = {"seed": _mixed(seed, begun), "constant_liar": True}
        case "random":
            own = {"seed": _mixed(seed, begun)}
        case "cmaes":
            if find_spec("cmaes") is None:
                raise UserError("sampler cmaes needs a further package: pip install cmaes")
            own = {"seed": _mixed(seed, begun), "warn_independent_sampling": False}
        case "qmc":  # its place in the sequence is in the study
            own = {"seed": seed, "warn_independent_sampling": False}
        case "grid":
            own = {"seed": seed, "search_space": grid(space)}
    made: BaseSampler = study.made("sampler", SAMPLERS, file.sampler, vars(samplers), **own)
    return made


def _mixed(seed: int, begun: int) -> int:
    return (seed * 1_000_003 + begun) % 2**31


def most_trials(file: StudyFile, space: Space) -> int:
    """Return how many trials make sense: a grid has an end."""
    return math.prod(map(len, grid(space).values())) if file.sampler.get("name") == "grid" else 2**31


def pruning(file: StudyFile, space: Space) -> Mapping[str, Any]:
    """Return the pruner's options, with defaults that fit: nothing is judged before it has learnt something, and
    Hyperband's resource are the steps of a run, from the first evaluation after the warm-up on."""
    plan = resolve({**space.settings}).settings.plan
    first = min((plan.warmup // plan.eval_every + 1) * plan.eval_every, plan.steps)
    own: dict[str, Any] = {}
    match file.pruner.get("name"):
        case "median":
            own = {"n_warmup_steps": plan.warmup + 1}
        case "percentile":
            own = {"percentile": 25.0, "n_warmup_steps": plan.warmup + 1}
        case "hyperband":
            own = {"min_resource": first, "max_resource": plan.steps}
    options = {**own, **file.pruner}
    study.pruner(options)  # says what is wrong with it
    return options
