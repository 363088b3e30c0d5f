"""Encode plain values as JSON and arrays, and decode them.

Plain values are None, numbers, strings, NumPy arrays of numbers, and lists, tuples and dicts of these.
"""

from itertools import pairwise
from typing import Any

import numpy as np

SCALARS = (type(None), bool, int, float, str)
DTYPES = frozenset(np.dtype(code) for code in "?bhilqBHILQefd")

Arrays = dict[str, np.ndarray]


class UnknownState(Exception):
    """An environment holds something that cannot be saved. Names the attribute and its class."""


def class_name(kind: type) -> str:
    return f"{kind.__module__}.{kind.__qualname__}"


def encode(value: Any, where: str, arrays: Arrays, containers: set[int]) -> Any:
    """Return a value as JSON and put its arrays into `arrays`.

    The arrays are not copied, so that `check_disjoint` can compare their memory. `containers` collects the ids of the
    lists and dicts encoded so far: one that is held twice would be restored as two.
    """
    kind = type(value)
    if kind in SCALARS:
        return value
    if (kind is np.ndarray or isinstance(value, np.generic)) and value.dtype in DTYPES:
        arrays[where] = np.asarray(value)
        # The order in memory decides how a product of matrices is rounded.
        order = "F" if value.flags.f_contiguous and not value.flags.c_contiguous else "C"
        return {"array": order if kind is np.ndarray else "scalar"}
    if kind not in (list, tuple, dict) or (kind is dict and any(type(key) is not str for key in value)):
        raise UnknownState(f"is of class {class_name(kind)}")
    if kind is not tuple and id(value) in containers:
        raise UnknownState(f"holds a {kind.__name__} that is also held elsewhere")
    containers.add(id(value))
    if kind is dict:
        return {"dict": {key: encode(value[key], f"{where}[{key!r}]", arrays, containers) for key in value}}
    return {kind.__name__: [encode(item, f"{where}[{i}]", arrays, containers) for i, item in enumerate(value)]}


def decode(fact: Any, where: str, arrays: Arrays) -> Any:
    """Return the value that was encoded at this place, and remove its arrays from `arrays`."""
    if type(fact) in SCALARS:
        return fact
    form, content = next(iter(fact.items())) if type(fact) is dict and len(fact) == 1 else (None, None)
    match form, content:
        case "array", "scalar" if not (array := pop_array(arrays, where)).ndim:
            return array[()]
        case "array", "C" | "F":
            return np.array(pop_array(arrays, where), order=content)
        case "dict", dict():
            return {key: decode(content[key], f"{where}[{key!r}]", arrays) for key in content}
        case "list" | "tuple", list():
            items = [decode(item, f"{where}[{i}]", arrays) for i, item in enumerate(content)]
            return items if form == "list" else tuple(items)
    raise ValueError(f"{where} is not a plain value")


def kind_of(value: Any) -> Any:
    """Return what a value has in common with those that can replace it. Precision may differ: some tasks reset arrays
    to another one."""
    if isinstance(value, np.ndarray):
        return value.shape, value.dtype.kind
    return "scalar" if isinstance(value, (np.generic, *SCALARS)) else type(value)


def pop_array(arrays: Arrays, where: str, like: np.ndarray | None = None) -> np.ndarray:
    """Remove and return the array at this place, which must have the shape and dtype of `like`."""
    array = arrays.pop(where, None)
    if not isinstance(array, np.ndarray) or array.dtype not in DTYPES:
        raise ValueError(f"{where} is not an array of numbers, or missing")
    if like is not None and (array.shape, array.dtype) != (like.shape, like.dtype):
        raise ValueError(f"{where} is of another shape or precision here")
    return array


def check_disjoint(arrays: Arrays) -> None:
    """Raise UnknownState when two arrays share memory: each is restored on its own, and the tie would be lost."""
    spans = sorted((*np.lib.array_utils.byte_bounds(array), where) for where, array in arrays.items() if array.size)
    for (_, end, one), (start, _, other) in pairwise(spans):
        if start < end:
            raise UnknownState(f"{one} and {other} cannot be saved: they share memory")
