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
    chain = _chain(name)
    env = values.get("env", "")
    env = next((preset["tasks"][env] for preset in reversed(chain) if env in preset.get("tasks", {})), env)
    suite = "dm_control" if names.is_suite(env) else "mujoco"
    layers = [layer for preset in chain for layer in _layers(preset, values.get("algo", "teen"), suite)]
    merged = {key: v for layer in layers for key, v in layer.items() if not isinstance(v, dict)}
    return {**merged, **values, **({"env": env} if env else {})}


def _chain(name: str) -> list[dict[str, Any]]:
    """Return the presets of which this one is made, the last of which wins."""
    preset = tomllib.loads(files(__package__).joinpath(f"{name}.toml").read_text())
    below = preset.pop("extends", "")
    return [*(_chain(below) if below else []), preset]


def _layers(preset: dict[str, Any], algo: str, suite: str) -> list[dict[str, Any]]:
    """Return the parts of a preset that concern this algorithm and suite, the narrowest last."""
    own = preset.get(algo)
    own = own if isinstance(own, dict) else {}
    return [preset, preset.get(suite, {}), own, own.get(suite, {})]
