"""config.toml: the settings of a run, and the versions it ran with."""

import tomllib
from collections.abc import Mapping
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

CONFIG = "config.toml"
LARGEST = 2**20  # bytes; a real one has two thousand
MOST_POINTS = 500  # in a line: a.a.a.a… = 1 would be parsed for hours


def tables(data: bytes) -> dict[str, Any]:
    """Return what is in a file's content, which may be a stranger's. A ValueError says what is wrong with it."""
    text = data.decode("utf-8-sig")  # some editors begin a file with a byte order mark
    if any(line.count(".") > MOST_POINTS for line in text.split("\n")):
        raise ValueError(f"a line has more than {MOST_POINTS} points")
    try:
        return tomllib.loads(text)
    except RecursionError:
        raise ValueError("its tables or lists lie too deep inside each other") from None


def parse(data: bytes, path: Path) -> dict[str, Any]:
    """Return the flat settings in a config file's content. The versions in it are information, not settings."""
    try:
        values = tables(data)
    except ValueError as error:
        raise UserError(f"config file {path} is damaged: {error}") from None
    values.pop("versions", None)
    for name, value in values.items():
        if isinstance(value, dict) and name != "env_kwargs":
            raise UserError(f"config file {path} has an unknown table [{name}]")
    return values


def dump(settings: RunSettings, config: Any, trained_with: Mapping[str, str] | None = None) -> str:
    """Return the text of config.toml. `trained_with` are the versions of the training, where that was not here."""
    values = {**flat(settings), **flat(config)}
    plain = {name: list(value) if isinstance(value, tuple) else value for name, value in values.items()}
    return tomli_w.dumps({**plain, "versions": dict(trained_with or versions())})


def versions() -> dict[str, str]:
    """Return the versions of everything that may change a result. EnvPool brings a MuJoCo of its own."""
    installed = {"python": python_version()}
    for name in ("jax", "gymnasium", "mujoco", "envpool"):
        with suppress(PackageNotFoundError):
            installed[name] = version(name)
    return {**installed, "teen": __version__}
