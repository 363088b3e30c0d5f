"""What is searched: each setting's range or choices, as Optuna's distributions; and a trial's numbers as settings."""

import math
import warnings
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from ..config.facts import BOOKKEEPING, JUDGING
from ..config.job import Job, resolve
from ..errors import UserError, one_line
from ..settings import Leaf, checked, leaves, shown
from .file import StudyFile

if TYPE_CHECKING:
    from optuna.distributions import BaseDistribution

FIXED = ("algo", "base", "env", "env_kwargs", "preset", "from_", "from_seed", "variants")
DIGITS = 6  # of a number that is trained with; float32 has seven
MOST_CHOICES = 1_000
MOST_POINTS = 100_000  # of a grid
RANGE, CHOICES = {"low", "high", "log", "step"}, {"choices"}


class Space(NamedTuple):
    settings: dict[str, Any]  # of all trials
    distributions: "dict[str, BaseDistribution]"
    per_lane: frozenset[str]  # what may differ between the lanes of one program

    def of(self, params: Mapping[str, Any]) -> dict[str, Any]:
        """Return the settings of a trial. Numbers are rounded: they become names of folders."""
        return {name: self._rounded(name, params[name]) for name in self.distributions}

    def _rounded(self, name: str, value: Any) -> Any:
        if not isinstance(value, float) or hasattr(self.distributions[name], "choices"):
            return value
        limits: Any = self.distributions[name]
        return min(max(float(f"{value:.{DIGITS}g}"), limits.low), limits.high)


def space_of(file: StudyFile) -> Space:
    """Return what a file searches; each setting is tried at the ends of its range, so that a wrong one is found now."""
    try:
        common = resolve(file.settings)
        common.check_learns()
    except UserError as error:
        raise UserError(f"study file {file.path}, [settings]: {error}") from None
    if len(common.variants) > 1:
        raise UserError(
            f"study file {file.path}: [settings] has a list: what shall vary belongs to [search], as choices"
        )
    settings = {**file.settings, "seeds": list(common.settings.seeds)}
    known = {leaf.name: leaf for part in (common.settings, common.variants[0].config) for leaf in leaves(part)}
    distributions = {}
    for name, asked in file.search.items():
        try:
            distributions[name] = _distribution(name, asked, known, settings)
        except UserError as error:
            raise UserError(f"study file {file.path}, [search]: {error}") from None
    return Space(settings, distributions, frozenset(name for name in distributions if known[name].per_lane))


def _distribution(name: str, asked: Any, known: dict[str, Leaf], settings: dict[str, Any]) -> "BaseDistribution":
    from optuna import distributions

    if name in FIXED:
        raise UserError(f"{name} cannot be searched: it decides what else there is; make a study of each")
    if name in BOOKKEEPING or name in JUDGING:
        raise UserError(f"{name} cannot be searched: it does not change what is learnt, or what a value means")
    if name in settings:
        raise UserError(f"{name} is in [settings], too: give it in one of them")
    if not isinstance(asked, dict) or not (asked.keys() <= RANGE or asked.keys() <= CHOICES):
        raise UserError(f"{name} must be {{low, high, log, step}} or {{choices}}, not {shown(asked)}")
    if name not in known:
        resolve({**settings, name: 0})  # says what there is instead
    leaf = known[name]
    if "choices" in asked:
        choices = asked["choices"]
        if (
            not isinstance(choices, list)
            or not 1 <= len(choices) <= MOST_CHOICES
            or len(choices) != len(set(map(str, choices)))
        ):
            raise UserError(f"choices of {name} must be a list of different values, not {shown(choices)}")
        return distributions.CategoricalDistribution([_tried(leaf, choice, settings) for choice in choices])
    if leaf.type not in (int, float):
        raise UserError(f"{name} is no number: give {{choices = […]}}")
    if not {"low", "high"} <= asked.keys():
        raise UserError(f"{name} needs low and high, or choices")
    low, high = (_tried(leaf, asked[end], settings) for end in ("low", "high"))
    log, step = asked.get("log", False), asked.get("step")
    if not isinstance(log, bool):
        raise UserError(f"log of {name} must be true or false, not {shown(log)}")
    if step is not None and (
        type(step) not in (int, float) or not 0 < step < math.inf or (leaf.type is int and step % 1)
    ):
        raise UserError(
            f"step of {name} must be a {'whole ' if leaf.type is int else ''}number above 0, not {shown(step)}"
        )
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of a high end that no step reaches: it is taken down to the last one
            if leaf.type is int:
                return distributions.IntDistribution(low, high, log=log, step=int(step or 1))
            return distributions.FloatDistribution(low, high, log=log, step=step)
    except ValueError as error:
        raise UserError(f"{name}: {one_line(error)[:200]}") from None


def _tried(leaf: Leaf, value: Any, settings: dict[str, Any]) -> Any:
    """Return a value as the setting's type, if a job with it can be trained."""
    if isinstance(value, (list, dict)):
        raise UserError(f"{leaf.name} must be a single value, not {shown(value)}")
    typed = checked(leaf, value)
    resolve({**settings, leaf.name: typed}).check_learns()
    return typed


def grid(space: Space) -> dict[str, list[Any]]:
    """Return all values of each setting, for a sampler that tries every combination."""
    values = {}
    for name, one in space.distributions.items():
        limits: Any = one
        if hasattr(limits, "choices"):
            values[name] = list(limits.choices)
        elif limits.step is None or limits.log:
            raise UserError(f"sampler grid needs a list: give {name} choices, or a step")
        else:
            values[name] = [
                limits.low + i * limits.step for i in range(int((limits.high - limits.low) / limits.step + 1e-9) + 1)
            ]
    if math.prod(map(len, values.values())) > MOST_POINTS:
        raise UserError(f"the grid has more than {MOST_POINTS:,} points")
    return values


def job_of(space: Space, trial_settings: Mapping[str, Any]) -> Job:
    """Return the job that trains with the settings of one trial."""
    return resolve({**space.settings, **trial_settings})
