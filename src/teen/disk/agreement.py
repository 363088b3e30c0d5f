"""What a run's files say of its settings must agree: an agent or a checkpoint of another run, or a forged one, does not
fit the run folder in which it lies."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..config import modules, toml
from ..config.facts import BOOKKEEPING, CHANGEABLE
from ..config.job import Job
from ..config.modules import Trust
from ..config.toml import CONFIG
from ..errors import UserError
from ..settings import flat, shown
from . import files


class Refused(UserError):
    """A file that asks for code, or that belongs to another run. Unlike a damaged one, it is not passed over."""


def admit(settings: Mapping[str, Any], file: Path, trust: Trust) -> None:
    """Import the modules that a file's settings name, where they are trusted; see `config.modules`."""
    try:
        modules.admit(settings, file, trust)
    except UserError as error:
        raise Refused(str(error)) from error


def read_config(folder: Path) -> dict[str, Any]:
    """Return the settings in a run folder's config.toml. A FileNotFoundError says that there is none."""
    try:
        return toml.parse(files.read(folder, CONFIG, toml.LARGEST), folder / CONFIG)
    except FileNotFoundError:
        raise
    except OSError as error:
        raise UserError(f"{folder / CONFIG} cannot be read: {error.strerror}") from None


def check(folder: Path, settings: Mapping[str, Any], who: Path) -> None:
    """Compare the settings that a file of a run names with those in the run folder's config.toml, wherever both name
    one. Those that may change meanwhile, and those that do not change what is learnt, may differ."""
    try:
        config = read_config(folder)
    except FileNotFoundError:
        return
    for name in sorted(settings.keys() & config.keys() - BOOKKEEPING - set(CHANGEABLE)):
        if not _same(settings[name], config[name]):
            raise Refused(
                f"{who} does not belong to {folder / CONFIG}: {name} is {shown(settings[name])} in the one and "
                f"{shown(config[name])} in the other"
            )


def check_job(parent: Path, job: Job, named: Mapping[str, Any], who: Path) -> None:
    """Compare a checkpoint's job with the config.toml of every variant. `named` are the settings as the checkpoint has
    them: what it does not name is not compared."""
    for variant in job.variants:
        values = {**flat(job.settings), **flat(variant.config)}
        check(parent / variant.name, {name: value for name, value in values.items() if name in named}, who)


def _same(one: Any, other: Any) -> bool:
    """Compare by value: 1 and 1.0 are the same, 1 and true are not."""
    if isinstance(one, (list, tuple)) and isinstance(other, (list, tuple)):
        return len(one) == len(other) and all(map(_same, one, other))
    return isinstance(one, bool) == isinstance(other, bool) and bool(one == other)
