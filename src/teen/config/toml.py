"""config.toml: the settings of a run, and the versions it ran with."""

import tomllib
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from platform import python_version
from typing import Any

import tomli_w

from .. import __version__
from ..errors import UserError
from ..settings import flat
from .run import RunSettings


def read(path: Path) -> dict[str, Any]:
    """Return the flat settings of a config file. The versions in it are information, not settings."""
    try:
        values = tomllib.loads(path.read_text())
    except OSError as error:
        raise UserError(f"config file {path} cannot be read: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise UserError(f"config file {path} is damaged: {error}") from None
    values.pop("versions", None)
    for name, value in values.items():
        if isinstance(value, dict):
            raise UserError(f"config file {path} has an unknown table [{name}]")
    return values


def dump(settings: RunSettings, config: Any) -> str:
    """Return the text of config.toml."""
    values = {**flat(settings), **flat(config)}
    plain = {name: list(value) if isinstance(value, tuple) else value for name, value in values.items()}
    return tomli_w.dumps({**plain, "versions": versions()})


def versions() -> dict[str, str]:
    """Return the versions of everything that may change a result. EnvPool brings a MuJoCo of its own."""
    installed = {"python": python_version()}
    for name in ("jax", "gymnasium", "mujoco", "envpool"):
        with suppress(PackageNotFoundError):
            installed[name] = version(name)
    return {**installed, "teen": __version__}
