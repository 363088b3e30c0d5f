"""What a part of a run remembers: arrays by name, and facts that JSON can hold; nothing that could be executed."""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import jax
import numpy as np

from .spec import PyTree

Blocks = Iterable[tuple[int, np.ndarray]]  # of the replay's rows: first step, (lane, step, width)

# What reading a record may raise that was made for another run, or by somebody else.
BAD_RECORD = (ValueError, KeyError, IndexError, TypeError, AttributeError, OverflowError, RecursionError)


class Record(NamedTuple):
    arrays: dict[str, np.ndarray]
    facts: Any  # what JSON can hold

    def part(self, name: str) -> "Record":
        """What `joined` was given under this name."""
        prefix = name + "/"
        own = {path.removeprefix(prefix): array for path, array in self.arrays.items() if path.startswith(prefix)}
        return Record(own, self.facts[name])


def joined(parts: Mapping[str, Record]) -> Record:
    arrays = {f"{name}/{path}": array for name, part in parts.items() for path, array in part.arrays.items()}
    return Record(arrays, {name: part.facts for name, part in parts.items()})


def named(tree: PyTree) -> dict[str, Any]:
    """Leaves by path, such as `members.actor.0.weight`."""
    paths, _ = jax.tree.flatten_with_path(tree)
    return {jax.tree_util.keystr(path, simple=True, separator="."): leaf for path, leaf in paths}


def on_host(tree: PyTree) -> dict[str, np.ndarray]:
    """The same as plain arrays. Waits for the device."""
    return {name: np.asarray(leaf) for name, leaf in named(tree).items()}


def filled(template: PyTree, arrays: Mapping[str, np.ndarray]) -> PyTree:
    """A tree of the template's form with these leaves. A ValueError says which one does not fit."""
    expected = named(template)
    for name, leaf in expected.items():
        if name not in arrays:
            raise ValueError(f"{name} should be {leaf.shape}, not nothing")
        found = arrays[name]
        if found.shape != leaf.shape or found.dtype != leaf.dtype:
            raise ValueError(f"{name} should be {leaf.dtype} {leaf.shape}, not {found.dtype} {found.shape}")
    if surplus := sorted(set(arrays) - set(expected)):
        raise ValueError(f"{surplus[0]} belongs to nothing here")
    return jax.tree.unflatten(jax.tree.structure(template), [arrays[name] for name in expected])
