"""Optuna's side of a tuning study: where it is kept, and what prunes its trials. Imports Optuna only where it is used:
jobs of a sweep do without."""

import os
import re
import warnings
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from ..errors import UserError, one_line
from ..settings import shown

if TYPE_CHECKING:
    from optuna import Study
    from optuna.pruners import BasePruner
    from optuna.samplers import BaseSampler
    from optuna.storages import BaseStorage
    from optuna.trial import FrozenTrial

INSTALL = 'tuning needs Optuna: pip install "teen-rl[tune]"'
VARIABLE = "env:"  # begins a storage whose address is in a variable of the environment
PATIENCE = 60  # seconds that SQLite waits for another process

WHOLE, COUNT = (int, 0), (int, 1)
PRUNERS: dict[str, tuple[str, dict[str, tuple[type, float]]]] = {
    "median": (
        "MedianPruner",
        {"n_startup_trials": WHOLE, "n_warmup_steps": WHOLE, "interval_steps": COUNT, "n_min_trials": COUNT},
    ),
    "percentile": (
        "PercentilePruner",
        {
            "percentile": (float, 0),
            **{"n_startup_trials": WHOLE, "n_warmup_steps": WHOLE, "interval_steps": COUNT, "n_min_trials": COUNT},
        },
    ),
    "hyperband": (
        "HyperbandPruner",
        {"min_resource": COUNT, "max_resource": COUNT, "reduction_factor": (int, 2), "bootstrap_count": WHOLE},
    ),
    "none": ("NopPruner", {}),
}


class Handle(NamedTuple):
    """A study, opened."""

    study: "Study"
    storage: "BaseStorage"
    number: int  # by which the storage knows it

    def asking(self, sampler: "BaseSampler") -> "Study":
        """Return the same study with a sampler."""
        import optuna

        name, pruner = self.study.study_name, self.study.pruner
        return optuna.load_study(study_name=name, storage=self.storage, sampler=sampler, pruner=pruner)

    def trial_id(self, number: int) -> int:
        return self.storage.get_trial_id_from_study_id_trial_number(self.number, number)

    def trial(self, number: int) -> "FrozenTrial":
        return self.storage.get_trial(self.trial_id(number))

    def note(self, number: int, key: str, value: Any) -> None:
        self.storage.set_trial_user_attr(self.trial_id(number), key, value)


def needed() -> None:
    """Raise a UserError where Optuna is not installed."""
    try:
        import optuna  # noqa: F401
    except ImportError:
        raise UserError(INSTALL) from None


def storage(text: str) -> "BaseStorage":
    """Open what a text names: the URL of a database; `env:NAME`, a variable that holds it, so that its password is in
    no file; or a path, the file of Optuna's journal, which also works on a file system that machines share."""
    needed()
    from optuna import storages
    from optuna.storages.journal import JournalFileBackend

    url = text
    if text.startswith(VARIABLE) and not (url := os.environ.get(text.removeprefix(VARIABLE), "")):
        raise UserError(f"storage {text}: there is no variable {text.removeprefix(VARIABLE)} in this environment")
    try:
        if "://" not in url:
            return storages.JournalStorage(JournalFileBackend(url))
        patient = {"connect_args": {"timeout": PATIENCE}} if url.startswith("sqlite") else {}
        return storages.RDBStorage(url, engine_kwargs=patient)
    except Exception as error:  # of a driver, whichever that is
        raise UserError(f"the study's storage {hidden(text)} cannot be opened: {_reason(error)}") from None


def hidden(text: str) -> str:
    """Return a storage, or a message that names it, as it may be shown: without its password and its query, which may
    have one, too."""
    text = re.sub(r"://\S*\?\S*@\S*", "://…", text)  # either the password has a "?", or the query an "@"
    text = re.sub(r"(://[^:/\s]*):\S*@", r"\1:***@", text)
    return re.sub(r"(://[^\s?]*)\?\S*", r"\1?…", text)


def _reason(error: Exception) -> str:
    return hidden(one_line(error).partition("(Background on")[0].strip())[:300]


def pruner(options: Mapping[str, Any]) -> "BasePruner":
    from optuna import pruners

    made_one: BasePruner = made("pruner", PRUNERS, options, vars(pruners))
    return made_one


def made(
    what: str,
    known: Mapping[str, tuple[str, dict[str, tuple[type, float]]]],
    options: Mapping[str, Any],
    module: Mapping[str, Any],
    **more: Any,
) -> Any:
    """Make one of Optuna's objects of its name with its own options, such as {"name": "median", "interval_steps": 5},
    and of what we add."""
    name = options.get("name")
    if not isinstance(name, str) or name not in known:
        raise UserError(f"{what} is one of {', '.join(known)}, not {shown(name)}")
    title, allowed = known[name]
    given = {key: value for key, value in options.items() if key != "name"}
    for key, value in given.items():
        if key not in allowed:
            there = f"its options are {', '.join(allowed)}" if allowed else "it has none"
            raise UserError(f"{what} {name} has no option {shown(key)}: {there}")
        kind, low = allowed[key]
        is_number = isinstance(value, (int, float) if kind is float else int) and not isinstance(value, bool)
        if not (is_number and value >= low if kind in (int, float) else isinstance(value, kind)):
            least = f" of at least {low:g}" if kind in (int, float) else ""
            words = {int: "a whole number", float: "a number", bool: "true or false"}.get(kind, "text")
            raise UserError(f"{what} {name}: {key} must be {words}{least}, not {shown(value)}")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # some options count as experimental
            return module[title](**{**more, **given})
    except ImportError as error:
        raise UserError(f"{what} {name} needs a further package: {one_line(error)[:200]}") from None
    except (ValueError, TypeError, AssertionError) as error:
        raise UserError(f"{what} {name}: {one_line(error)[:200]}") from None


def opened(address: str, name: str, prunes: Mapping[str, Any]) -> Handle:
    """Open a study that there is, to be read and told. The sampler is one that nobody asks: some would end the loop
    that is not there when they are told of their last trial."""
    kept = storage(address)
    import optuna  # there, as the storage could be opened

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    try:
        study = optuna.load_study(
            study_name=name,
            storage=kept,
            sampler=optuna.samplers.RandomSampler(),
            pruner=pruner(prunes),
        )
    except KeyError:
        raise UserError(f"there is no study {name!r} in {hidden(address)}") from None
    return Handle(study, kept, kept.get_study_id_from_name(name))
