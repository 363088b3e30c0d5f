"""Which modules are imported: those that the user names, and of those that files name only the trusted ones.

An algorithm (`package.module`) and an environment (`package.module:Id`) can be a user's own. To import a module is to
execute it. So a name that stands in a file, which may be a stranger's, is not enough.
"""

import importlib
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from typing import Any

from .. import algos
from ..envs import arguments, given
from ..errors import UserError, one_line

VARIABLE = "TEEN_TRUST"  # module names, separated by commas

Trust = str | Sequence[str]


_users: set[str] = set()  # environments that the user named in this process, with their arguments


def remember(env: str) -> None:
    """Note that the user named this environment, so that files of this process may name it, too."""
    _users.add(env)


def import_named(values: Mapping[str, Any]) -> None:
    """Import the modules that the user names in these settings, also from the current folder."""
    for setting, module in named_in(values):
        _load(module, f"--{setting} {values[setting]}")
        given.allow(module)


def admit(values: Mapping[str, Any], file: Path, trust: Trust = ()) -> None:
    """Import the modules that a file's settings name, where they are trusted: listed in `trust` or in TEEN_TRUST, or
    inside a package that is. A module that has been imported is trusted already. Any other is a UserError."""
    trusted = [*_listed(trust), *_listed(os.environ.get(VARIABLE, ""))]
    _check_arguments(values.get("env"), file, trusted)
    for setting, module in named_in(values):
        if known := any(module == name or module.startswith(f"{name}.") for name in trusted):
            given.allow(module)
        if module in sys.modules:
            continue
        if not known:
            raise UserError(
                f"{file} asks for the module {module!r} ({setting} = {values[setting]!r:.100}), which would be "
                f"executed: if you know it, allow it with --trust {module}, {VARIABLE}={module} or trust={module!r}"
            )
        _load(module, f"{setting} in {file}")


def _check_arguments(env: Any, file: Path, trusted: Sequence[str]) -> None:
    """Raise a UserError where a file's environment has a text among its arguments and is not trusted: it could be the
    path of a file to open, or name code."""
    if not isinstance(env, str) or "{" not in env or env in _users:
        return
    task, values = arguments.split(env)
    name = task.partition(":")[0]
    if not any(name == one or name.startswith(f"{one}.") for one in trusted) and _has_text(list(values.values())):
        raise UserError(
            f"{file} gives the environment a text ({env!r:.100}), which may be a path or name code: if you know it, "
            f"allow it with --trust {name}, {VARIABLE}={name} or trust={name!r}"
        )


def _has_text(value: Any) -> bool:
    parts = value if isinstance(value, list) else list(value.values()) if isinstance(value, dict) else []
    return isinstance(value, str) or any(map(_has_text, parts))


def named_in(values: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield the modules outside this project that settings name, each with its setting."""
    algo, env = values.get("algo"), values.get("env")
    if isinstance(algo, str) and algo not in algos.NAMES and "." in algo.strip("."):
        yield "algo", algo
    if isinstance(env, str) and ":" in arguments.plain(env):
        yield "env", env.partition(":")[0]


def _listed(trust: Trust) -> list[str]:
    names = trust.split(",") if isinstance(trust, str) else trust
    return [name.strip() for name in names if name.strip()]


def _load(module: str, asked_by: str) -> None:
    """Import a module, also from the current folder."""
    if module in sys.modules:
        return
    with suppress(OSError):  # the current folder has been deleted
        if not {"", os.getcwd()} & set(_searched()):
            sys.meta_path.append(Here(os.getcwd()))
    for place in _places(module):
        if run := _run_around(place):
            raise UserError(f"{asked_by}: {module} lies inside the run folder {run}, from which nothing is imported")
    try:
        importlib.import_module(module)
    except (Exception, SystemExit) as error:  # whatever a module does when it is executed
        raise UserError(
            f"{asked_by}: {module} cannot be imported: {type(error).__name__}: {one_line(error)}"
        ) from error


class Here(MetaPathFinder):
    """Finds modules in a folder, after all that is installed, but none in a run folder: a run that somebody shared must
    not bring code, neither the module that is asked for nor an optional package that is missing here."""

    def __init__(self, folder: str):
        self.folder = folder

    def find_spec(self, name: str, path: Any, target: Any = None) -> ModuleSpec | None:
        spec = PathFinder.find_spec(name, [self.folder]) if path is None else None
        return None if spec is None or any(map(_run_around, _files_of(spec))) else spec


def _searched() -> list[str]:
    """Return the folders in which modules are looked for."""
    return [*sys.path, *(finder.folder for finder in sys.meta_path if isinstance(finder, Here))]


def _places(module: str) -> Iterator[Path]:
    """Yield the files and folders that importing a module would read. None of them is executed for this."""
    path, names = _searched(), module.split(".")
    for i in range(len(names)):
        try:
            spec = PathFinder.find_spec(".".join(names[: i + 1]), path)
        except (ImportError, ValueError):
            return
        if spec is None:
            return
        path = list(spec.submodule_search_locations or ())
        yield from _files_of(spec)


def _files_of(spec: ModuleSpec) -> list[Path]:
    places = [*(spec.submodule_search_locations or ()), *([spec.origin] if spec.has_location and spec.origin else [])]
    return [Path(place).resolve() for place in places]


def _run_around(place: Path) -> Path | None:
    """Return the run folder in which a file lies."""
    return next((folder for folder in (place, *place.parents) if is_run_folder(folder)), None)


def is_run_folder(folder: Path) -> bool:
    """Return whether this is the folder of a run, or of a program with several variants."""
    logs = "eval.csv", "eval.csv.gz"
    if os.path.lexists(folder / "config.toml") and any(os.path.lexists(folder / log) for log in logs):
        return True
    return any(folder.glob("checkpoint/step-*")) or os.path.lexists(folder / "agent" / "agent.json")
