"""The file of a study: what to search, and how."""

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from ..config import toml
from ..disk import files
from ..errors import UserError
from ..settings import shown

MOST = {"trials": 1_000_000, "lanes": 1_000, "batch": 10_000, "last": 1_000_000, "seed": 2**31 - 1}
LEAST = {"trials": 1, "lanes": 1, "batch": 1, "last": 1, "seed": 0}
TEXTS = ("storage", "name", "out")
KINDS = ("sampler", "pruner")
TABLES = ("tune", "settings", "search")


class StudyFile(NamedTuple):
    """A study as its file asks for it. Settings and search are not checked yet: `tune.space` does."""

    path: Path
    settings: dict[str, Any]
    search: dict[str, Any]
    name: str  # of the study, in its storage
    out: str = ""
    storage: str = ""  # empty: SQLite in the folder of the jobs
    trials: int = 64  # that count: complete or pruned
    lanes: int = 0  # most trials of one program; 0: as many as its memory and speed suggest
    batch: int = 0  # trials that are asked for at a time; 0: as many as `lanes`
    last: int = 5  # evaluations whose mean is a trial's value
    seed: int = 0  # of what the sampler draws
    sampler: Mapping[str, Any] = {"name": "tpe"}
    pruner: Mapping[str, Any] = {"name": "median"}

    @property
    def asked(self) -> int:
        return self.batch or self.lanes


def read(path: Path) -> StudyFile:
    """Return the study that a file asks for. A UserError names the key that is wrong."""
    try:
        values = toml.tables(files.read_file(path, toml.LARGEST))
    except OSError as error:
        raise UserError(f"study file {path} cannot be read: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, ValueError) as error:
        raise UserError(f"study file {path} is no TOML: {error}") from None
    for name, value in values.items():
        if name not in TABLES:
            raise UserError(
                f"study file {path} has an unknown key {shown(name)}: there are [tune], [settings], [search]"
            )
        if not isinstance(value, dict):
            raise UserError(f"study file {path}: {name} must be a table, [{name}], not {shown(value)}")
    settings, search = values.get("settings", {}), values.get("search", {})
    if not search:
        raise UserError(
            f"study file {path}: [search] is empty: name a setting, such as lr = {{low = 1e-5, high = 1e-2}}"
        )
    return StudyFile(path, settings, search, **{"name": path.stem, **_tuning(path, values.get("tune", {}))})


def _tuning(path: Path, values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the entries of [tune], checked."""
    known = (*LEAST, *TEXTS, *KINDS)
    checked: dict[str, Any] = {}
    for key, value in values.items():
        if key not in known:
            raise UserError(f"study file {path}: [tune] has no key {shown(key)}: there are {', '.join(known)}")
        if key in LEAST and not (type(value) is int and LEAST[key] <= value <= MOST[key]):
            span = f"from {LEAST[key]} to {MOST[key]:,}"
            raise UserError(f"study file {path}: {key} must be a whole number {span}, not {shown(value)}")
        if key in TEXTS and not (isinstance(value, str) and value and value.isprintable()):
            raise UserError(f"study file {path}: {key} must be text, not {shown(value)}")
        if key in KINDS and not isinstance(value, (str, dict)):
            raise UserError(f"study file {path}: {key} must be a name, or {{name = …, options}}, not {shown(value)}")
        checked[key] = {"name": value} if key in KINDS and isinstance(value, str) else value
    return checked
