"""Mutations of what the files say: config.toml, agent.json, checkpoints signed anew, and arrays."""

import json
import struct
from collections.abc import Callable
from random import Random
from typing import Any

import numpy as np
import safetensors.numpy

from . import values
from .victim import Victim, arrays_of, newest_manifest, places, read_card, read_config, write_card, write_config

# Settings that are right by themselves, but not those of this run: files then contradict each other.
PLAUSIBLE: tuple[tuple[str, tuple[Any, ...]], ...] = (
    ("algo", ("sac", "teen", "redq", "sunrise", "rnd", "td3")),
    ("base", ("sac", "td3")),
    ("env", ("MountainCarContinuous-v0", "CartPole-v1", "Pendulum-v1", "HalfCheetah-v4")),
    ("seeds", ([0], [0, 1, 2], [5, 6], 3)),
    ("width", (1, 7, 9)),
    ("depth", (1, 3)),
    ("n", (1, 2, 4)),
    ("normalise_obs", (True, False)),
    ("steps", (1, 20, 10**9)),
    ("buffer", (1, 30, 10**9)),
    ("batch", (1, 9)),
    ("warmup", (0, 10**6)),
    ("checkpoint_every", (0, 1, 10**9)),
    ("action_repeat", (2, 10**8)),
    ("backend", ("envpool", "gymnasium", "auto")),
    ("collector", ("auto", "compiled", "python")),
    ("lr", ([0.1, 0.2], 1e30)),
    ("gamma", ([0.9, 0.99], 0)),
    ("env_timeout", (1e-9, 1e9)),
    ("obs", (2, 4, 10**8)),
    ("action", (2, 10**8)),
    ("step", (0, 1, 41, 10**15)),
    ("format", (1, 2, 4, 99)),
)


def changed_key(settings: dict[str, Any], rng: Random) -> str:
    """Give one of the settings a hostile value, or a new one, or take one away."""
    roll = rng.random()
    if roll < 0.35:
        name, choices = rng.choice(PLAUSIBLE)
        settings[name] = rng.choice(choices)
    elif roll < 0.9:
        name = rng.choice(sorted(settings))
        settings[name] = values.value(rng)
    elif roll < 0.95:
        name = rng.choice(values.TEXTS)
        settings[name] = values.value(rng)
    else:
        name = rng.choice(sorted(settings))
        del settings[name]
        return f"{name} is gone"
    return f"{name!r:.40} = {settings[name]!r:.60}"


def changed_place(tree: Any, rng: Random) -> str:
    """Change any place of a tree: another value, gone, or under another name."""
    container, key = rng.choice(places(tree))
    roll = rng.random()
    if roll < 0.75:
        container[key] = rng.choice((values.SURROGATE, values.value(rng), values.value(rng), values.value(rng)))
        return f"{key!r:.40} = {container[key]!r:.60}"
    if roll < 0.9 or not isinstance(container, dict):
        del container[key]
        return f"{key!r:.40} is gone"
    other = values.text(rng)
    container[other] = container.pop(key)
    return f"{key!r:.40} is called {other!r:.40}"


def config(victim: Victim, rng: Random) -> str:
    settings = read_config(victim)
    change = changed_place(settings, rng) if rng.random() < 0.1 else changed_key(settings, rng)
    write_config(victim, settings)
    return f"config.toml: {change}"


def repeated_key(victim: Victim, rng: Random) -> str:
    """Write a key twice: TOML forbids it, JSON readers take the last."""
    card = read_card(victim)
    name = rng.choice(sorted(card["run"]))
    text = json.dumps(card).replace('"run": {', f'"run": {{"{name}": {json.dumps(values.text(rng))}, ')
    (victim.run / "agent" / "agent.json").write_text(text)
    path = victim.run / "config.toml"
    path.write_text(path.read_text() if rng.random() < 0.5 else f'{name} = "again"\n{path.read_text()}')
    return f"agent.json, perhaps config.toml: {name} twice"


def card(victim: Victim, rng: Random) -> str:
    tree = read_card(victim)
    part = rng.choice((tree["run"], tree["config"], tree))
    change = changed_place(tree, rng) if rng.random() < 0.2 else changed_key(part, rng)
    write_card(victim, tree)
    return f"agent.json: {change}"


def manifest(victim: Victim, rng: Random) -> str:
    forged = newest_manifest(victim, rng)
    facts = forged.content["facts"]
    part = rng.choice((None, facts["run"]["settings"], facts["run"]["versions"]))
    change = changed_place(forged.content, rng) if part is None else changed_key(part, rng)
    forged.sign()
    return f"{forged.step.name}/manifest.json, signed: {change}"


def everywhere(victim: Victim, rng: Random) -> str:
    """Make the same change in all three files, so that they agree."""
    name, choices = rng.choice(PLAUSIBLE[:18])
    hostile = values.value(rng) if rng.random() < 0.5 else rng.choice(choices)
    settings, tree = read_config(victim), read_card(victim)
    settings[name] = hostile
    tree["config" if name in tree["config"] else "run"][name] = hostile
    write_config(victim, settings)
    write_card(victim, tree)
    for step in victim.steps():
        forged = type(newest_manifest(victim, rng))(step)
        forged.content["facts"]["run"]["settings"][name] = hostile
        forged.sign()
    return f"everywhere: {name} = {hostile!r:.60}"


def changed_arrays(arrays: dict[str, np.ndarray], rng: Random) -> str:
    name, (what, change) = rng.choice(sorted(arrays)), rng.choice(list(ARRAY_CHANGES.items()))
    array = arrays.pop(name)
    if what != "is gone":
        arrays[name] = np.ascontiguousarray(change(array))
    if what == "has a double":
        arrays[values.text(rng)] = array
    return f"{name} {what}"


ARRAY_CHANGES: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "is gone": lambda array: array,
    "has a double": lambda array: array,
    "is stacked": lambda array: np.stack([array, array]),
    "is flat": lambda array: array.ravel(),
    "is empty": lambda array: array.ravel()[:0],
    "is of another type": lambda array: array.astype(np.int32 if array.dtype.kind == "f" else np.float32),
    "is of doubles": lambda array: array.astype(np.float64),
    "is NaN": lambda array: array * np.nan if array.dtype.kind == "f" else array * 0,
    "is infinite": lambda array: array + np.inf if array.dtype.kind == "f" else array * 0 + 1,
    "is huge": lambda array: array * 0 + np.array(1e38 if array.dtype.kind == "f" else 100, array.dtype),
    "is negative": lambda array: array * 0 - np.array(1, array.dtype) if array.dtype.kind in "fi" else array,
    "has a million more": lambda array: np.zeros(10**6, array.dtype),
}


def header(claims: dict[str, Any], data: bytes = b"") -> bytes:
    text = json.dumps(claims).encode()
    return struct.pack("<Q", len(text)) + text + data


DEEP = b"[" * 100_000
NO_ARRAYS = (
    b"",
    struct.pack("<Q", 2**63) + b"{}",
    struct.pack("<Q", 2**40) + b"{}",
    header({"x": {"dtype": "F32", "shape": [2**40], "data_offsets": [0, 2**42]}}),
    header({"x": {"dtype": "F32", "shape": [2**62, 4], "data_offsets": [0, 0]}}),
    header({"x": {"dtype": "F32", "shape": [0, 2**62], "data_offsets": [0, 0]}}),
    header({"x": {"dtype": "BF16", "shape": [2], "data_offsets": [0, 4]}}, bytes(4)),
    header({"x": {"dtype": "O", "shape": [1], "data_offsets": [0, 8]}}, bytes(8)),
    header({"\x1b]0;x\x07[/b]\n": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}}, bytes(4)),
    header({f"x{k}": {"dtype": "F32", "shape": [0], "data_offsets": [0, 0]} for k in range(20_000)}),
    header({"__metadata__": {"x": values.SCRIPTS[0]}}),
    struct.pack("<Q", len(DEEP)) + DEEP,
)


def arrays(victim: Victim, rng: Random) -> str:
    """Change the agent's weights, a checkpoint's state or its rows; checksums are right again."""
    where = rng.choice(("weights", "state", "rows"))
    if where == "weights":
        path = victim.run / "agent" / "weights.safetensors"
        what, data = _forged(arrays_of(path), rng)
        path.write_bytes(data)
        return f"weights: {what}"
    forged = newest_manifest(victim, rng)
    if where == "state":
        what, data = _forged(arrays_of(forged.step / "state.safetensors"), rng)
        forged.sign_state(data)
        return f"{forged.step.name}/state, signed: {what}"
    number = rng.randrange(len(forged.content["rows"]))
    what, data = _forged(arrays_of(victim.rows()[number]), rng)
    forged.sign_rows(number, data)
    return f"{forged.step.name}, rows {number}, signed: {what}"


def _forged(tree: dict[str, np.ndarray], rng: Random) -> tuple[str, bytes]:
    if rng.random() < 0.25:
        number = rng.randrange(len(NO_ARRAYS))
        return f"odd file {number}", NO_ARRAYS[number]
    what = changed_arrays(tree, rng)
    return what, safetensors.numpy.save(tree)
