"""Presets: short TOML files of settings, chosen by name with `--preset`.

A file holds settings for everything, then tables that narrow them down: `[mujoco]` and `[dm_control]` for a suite,
`[teen.mujoco]` for an algorithm in a suite; `[tasks]` gives short names to environments. With `extends = "paper"` a
file says only in what it differs from another preset.
"""

import tomllib
from importlib.resources import files
from typing import Any

from ...envs import names
from ...errors import UserError


def available() -> list[str]:
    return sorted(f.name.removesuffix(".toml") for f in files(__package__).iterdir() if f.name.endswith(".toml"))


def applied(values: dict[str, Any]) -> dict[str, Any]:
    """Return the given settings on top of those of the preset that they name."""
    name = values.pop("preset", "")
    if not name:
        return values
    if name not in available():
        raise UserError(f"unknown preset {name!r}: choose from {', '.join(available())}")
    preset = _read(name)
    env = preset.get("tasks", {}).get(values.get("env", ""), values.get("env", ""))
    suite = "dm_control" if names.is_suite(env) else "mujoco"
    algo = preset.get(values.get("algo", "teen"))
    algo = algo if isinstance(algo, dict) else {}
    layers = [preset, preset.get(suite, {}), algo, algo.get(suite, {})]
    merged = {key: v for layer in layers for key, v in layer.items() if not isinstance(v, dict)}
    return {**merged, **values, **({"env": env} if env else {})}


def _read(name: str) -> dict[str, Any]:
    own = tomllib.loads(files(__package__).joinpath(f"{name}.toml").read_text())
    extended = own.pop("extends", "")
    return _merged(_read(extended), own) if extended else own


def _merged(below: dict[str, Any], own: dict[str, Any]) -> dict[str, Any]:
    """Return both, entry by entry in tables too; where both have one, its own."""
    tables = {k: _merged(below.get(k, {}), value) for k, value in own.items() if isinstance(value, dict)}
    return {**below, **own, **tables}
