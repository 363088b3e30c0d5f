"""Mutations that name modules: one that leaves a mark when it is executed, in the run folder and around it."""

import os
from pathlib import Path
from random import Random
from typing import Any

from .victim import Manifest, Victim, read_card, read_config, write_card, write_config

MARK = "TEEN_HOSTILE_MARK"  # the variable with the file that the modules write
CANARY = f"""\
import os
with open(os.environ["{MARK}"], "a") as mark:
    mark.write(__name__ + chr(10))
"""
ENVIRONMENT = """\
import gymnasium
gymnasium.register("X-v0", "gymnasium.envs.classic_control:PendulumEnv", max_episode_steps=200)
"""
SEEN = ("this", "antigravity", "__hello__")  # the standard library's own: they print, or open a browser
OPTIONAL = ("gymnasium_robotics", "jax_plugins", "usercustomize", "sitecustomize", "pybullet_envs", "shimmy_extra")


def modules(victim: Victim, rng: Random) -> str:
    """Name a module as environment, algorithm or base in one file or in all of them."""
    module = rng.choice((_inside, _inside, _beside, lambda victim, rng: rng.choice(SEEN)))(victim, rng)
    setting, name = rng.choice(
        (("env", f"{module}:X-v0"), ("env", f"{module}:Pendulum-v1"), ("algo", module), ("base", module))
    )
    files = rng.choice((("config",), ("card",), ("manifest",), ("card", "manifest"), ("config", "card", "manifest")))
    for file in files:
        {"config": _in_config, "card": _in_card, "manifest": _in_manifest}[file](victim, setting, name)
    return f"{setting} = {name!r} in {' and '.join(files)}"


def strays(victim: Victim, rng: Random) -> str:
    """Put modules into the run folder that somebody may import without being asked."""
    for name in OPTIONAL:
        (victim.root / f"{name}.py").write_text(CANARY)
    return f"modules {', '.join(OPTIONAL)} in the run folder"


def _inside(victim: Victim, rng: Random) -> str:
    folder = rng.choice((victim.root, victim.run, victim.root / "agent", victim.root / "checkpoint"))
    folder.mkdir(exist_ok=True)
    if rng.random() < 0.3:
        (victim.root / "__init__.py").write_text(CANARY)
    return _written(victim, folder / "evil.py")


def _beside(victim: Victim, rng: Random) -> str:
    return _written(victim, rng.choice((victim.root.parent, victim.scene, victim.here)) / "neighbour.py")


def _written(victim: Victim, path: Path) -> str:
    """Write the module and return the name under which it is imported, from where commands are given."""
    path.write_text(CANARY + ENVIRONMENT)
    parts = Path(os.path.relpath(path.with_suffix(""), victim.here)).parts
    return ".".join(part for part in parts if part != "..")


def _in_config(victim: Victim, setting: str, name: str) -> None:
    write_config(victim, {**read_config(victim), setting: name})


def _in_card(victim: Victim, setting: str, name: str) -> None:
    card: Any = read_card(victim)
    card["config" if setting == "base" else "run"][setting] = name
    write_card(victim, card)


def _in_manifest(victim: Victim, setting: str, name: str) -> None:
    for step in victim.steps():
        manifest = Manifest(step)
        manifest.content["facts"]["run"]["settings"][setting] = name
        manifest.sign()
