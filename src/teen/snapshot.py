"""Snapshots: the state of one part of a run at a step, as named arrays and JSON facts. Nothing in it is executed."""

import copy
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NamedTuple

import jax
import numpy as np

from .errors import UserError
from .spec import PyTree

Blocks = Iterable[tuple[int, np.ndarray]]  # rows of the replay: first step, (lane, step, width)

# What restoring a snapshot may raise that was made for another run, or that somebody edited.
SNAPSHOT_ERRORS = (ValueError, KeyError, IndexError, TypeError, AttributeError, OverflowError, RecursionError)


@contextmanager
def fitting(what: str) -> Iterator[None]:
    """Turn an error of restoring a snapshot into a UserError that names it."""
    try:
        yield
    except SNAPSHOT_ERRORS as error:
        raise UserError(f"{what} does not fit: {error}") from error


class Snapshot(NamedTuple):
    arrays: dict[str, np.ndarray]
    facts: Any  # what JSON can hold

    def part(self, name: str) -> "Snapshot":
        """Return the part that was given to `joined` under this name."""
        prefix = name + "/"
        arrays = {path.removeprefix(prefix): array for path, array in self.arrays.items() if path.startswith(prefix)}
        return Snapshot(arrays, self.facts[name])


def joined(parts: Mapping[str, Snapshot]) -> Snapshot:
    """Return one snapshot of several parts; `Snapshot.part` takes it apart again."""
    arrays = {f"{name}/{path}": array for name, part in parts.items() for path, array in part.arrays.items()}
    return Snapshot(arrays, {name: part.facts for name, part in parts.items()})


def copied(snapshot: Snapshot) -> Snapshot:
    """Return a snapshot that keeps its values while training goes on. Those of others may be views: on a CPU, of memory
    that is donated to the next update."""
    arrays = {name: np.array(array, order="C") for name, array in snapshot.arrays.items()}
    return Snapshot(arrays, copy.deepcopy(snapshot.facts))


def named(tree: PyTree) -> dict[str, Any]:
    """Return the leaves of a tree by path, such as `members.actor.0.weight`."""
    paths, _ = jax.tree.flatten_with_path(tree)
    return {jax.tree_util.keystr(path, simple=True, separator="."): leaf for path, leaf in paths}


def on_host(tree: PyTree) -> dict[str, np.ndarray]:
    """Return the leaves of a tree by path as NumPy arrays. Waits for the device."""
    return {name: np.asarray(leaf) for name, leaf in named(tree).items()}


def filled(template: PyTree, arrays: Mapping[str, np.ndarray]) -> PyTree:
    """Return a tree of the template's form with these leaves. A ValueError names the one that does not fit."""
    expected = named(template)
    for name, leaf in expected.items():
        if name not in arrays:
            raise ValueError(f"{name} should be {leaf.shape}, not nothing")
        array = arrays[name]
        if array.shape != leaf.shape or array.dtype != leaf.dtype:
            raise ValueError(f"{name} should be {leaf.dtype} {leaf.shape}, not {array.dtype} {array.shape}")
    if surplus := sorted(set(arrays) - set(expected)):
        raise ValueError(f"{surplus[0]} belongs to nothing here")
    return jax.tree.unflatten(jax.tree.structure(template), [arrays[name] for name in expected])
