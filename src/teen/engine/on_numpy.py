"""Run small JAX functions with NumPy.

Acting is a handful of tiny products, one observation per lane. A compiled call costs several times their arithmetic,
and on a CPU it also competes with the learner for XLA's threads. So the function is traced once and its steps are
repeated with NumPy. A function with a step that is not listed here is simply compiled instead.
"""

import math
from collections.abc import Callable
from typing import Any

import jax
import numpy as np
from jax.extend.core import ClosedJaxpr, Var

from ..spec import PyTree

Step = tuple[Callable[..., Any], list[int], int]  # what to call, where its arguments lie, where the result goes

_BY_NAME: dict[str, Callable[..., Any]] = {
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.divide, "neg": np.negative,
    "max": np.maximum, "min": np.minimum, "abs": np.abs, "sign": np.sign, "square": np.square, "sqrt": np.sqrt,
    "exp": np.exp, "log": np.log, "log1p": np.log1p, "tanh": np.tanh, "stop_gradient": lambda x: x, "copy": lambda x: x,
    "eq": np.equal, "ne": np.not_equal, "lt": np.less, "le": np.less_equal, "gt": np.greater, "ge": np.greater_equal,
    "and": np.logical_and, "or": np.logical_or, "not": np.logical_not,
}  # fmt: skip
_CALLS = ("jit", "pjit", "custom_jvp_call", "custom_vjp_call")


class NotListed(Exception):
    """A traced operation that has no NumPy counterpart here."""


def numpy_version(
    function: Callable[..., PyTree], *args: PyTree, any_product: bool = False
) -> Callable[..., PyTree] | None:
    """Return the function for arguments shaped like `args`, computed by NumPy; None if it has an operation that is not
    listed. Products are those of a layer whose weights have an axis for every axis of its input, or `any_product`."""
    closed, shapes = jax.make_jaxpr(function, return_shape=True)(*args)
    structure = jax.tree.structure(shapes)
    try:
        steps, values, inputs, outputs = _compile(closed, _any_product if any_product else _product)
    except NotListed:
        return None

    def replay(*args: PyTree) -> PyTree:
        memory = values.copy()
        memory[: len(inputs)] = jax.tree.leaves(args)
        for call, sources, target in steps:
            memory[target] = call(*[memory[i] for i in sources])
        return jax.tree.unflatten(structure, [memory[i] for i in outputs])

    return replay


def _compile(
    closed: ClosedJaxpr, product: Callable[[Any], Callable[..., Any]]
) -> tuple[list[Step], list[Any], list[int], list[int]]:
    """Return steps over a list of values, whose first ones are the inputs."""
    values: list[Any] = [None] * len(closed.jaxpr.invars)
    steps: list[Step] = []

    def place(value: Any = None) -> int:
        values.append(value)
        return len(values) - 1

    def inline(jaxpr: Any, consts: list[Any], arguments: list[int]) -> list[int]:
        places: dict[Var, int] = dict(zip(jaxpr.invars, arguments, strict=True))
        places |= {var: place(np.asarray(const)) for var, const in zip(jaxpr.constvars, consts, strict=True)}

        def where(atom: Any) -> int:
            return places[atom] if isinstance(atom, Var) else place(np.asarray(atom.val, atom.aval.dtype))

        for eqn in jaxpr.eqns:
            sources = [where(atom) for atom in eqn.invars]
            if eqn.primitive.name in _CALLS:
                inner = eqn.params.get("jaxpr") or eqn.params["call_jaxpr"]
                targets = inline(inner.jaxpr, inner.consts, sources)
            elif eqn.primitive.name == "split":
                targets = [place() for _ in eqn.outvars]
                edges = np.cumsum([0, *eqn.params["sizes"]]).tolist()
                before = (slice(None),) * eqn.params["axis"]
                for target, low, high in zip(targets, edges, edges[1:], strict=False):
                    index = (*before, slice(low, high))
                    steps.append((lambda x, index=index: x[index], sources, target))
            else:
                targets = [place()]
                steps.append((_translated(eqn, product), sources, targets[0]))
            places |= dict(zip(eqn.outvars, targets, strict=True))
        return [where(atom) for atom in jaxpr.outvars]

    inputs = list(range(len(values)))
    outputs = inline(closed.jaxpr, closed.consts, inputs)
    return _needed(steps, outputs), values, inputs, outputs


def _needed(steps: list[Step], outputs: list[int]) -> list[Step]:
    """Drop the steps whose results nobody reads."""
    read, kept = set(outputs), []
    for step in reversed(steps):
        if step[2] in read:
            read |= set(step[1])
            kept.append(step)
    return kept[::-1]


def _translated(eqn: Any, product: Callable[[Any], Callable[..., Any]]) -> Callable[..., Any]:
    name, params, shape = eqn.primitive.name, eqn.params, eqn.outvars[0].aval.shape
    if name in _BY_NAME:
        return _BY_NAME[name]
    if name == "dot_general":
        return product(eqn)
    if name == "broadcast_in_dim":
        sizes = dict(zip(params["broadcast_dimensions"], eqn.invars[0].aval.shape, strict=True))
        wide = tuple(sizes.get(i, 1) for i in range(len(shape)))
        if wide == shape:
            return lambda x: x.reshape(shape)
        return lambda x: np.broadcast_to(np.reshape(x, wide), shape)
    if name in ("squeeze", "reshape", "expand_dims"):
        return lambda x: x.reshape(shape)
    if name == "transpose":
        return lambda x: x.transpose(params["permutation"])
    if name == "convert_element_type":
        dtype = np.dtype(params["new_dtype"])
        return lambda x: x.astype(dtype)
    if name == "integer_pow":
        return lambda x: x ** params["y"]
    if name == "select_n" and len(eqn.invars) == 3:
        return lambda which, false, true: np.where(which, true, false)
    if name == "clamp":
        return lambda low, x, high: np.clip(x, low, high)
    if name == "reduce_sum":
        return lambda x: x.sum(tuple(params["axes"]))
    if name == "concatenate":
        return lambda *parts: np.concatenate(parts, params["dimension"])
    if name == "slice" and params["strides"] is None:
        index = tuple(slice(a, b) for a, b in zip(params["start_indices"], params["limit_indices"], strict=True))
        return lambda x: x[index]
    raise NotListed(name)


def _product(eqn: Any) -> Callable[..., Any]:
    """(lane…, rows, k) with (lane…, out, k): the one kind of product that `vmap` makes of a network's layer."""
    (left, right), (left_lanes, right_lanes) = eqn.params["dimension_numbers"]
    ndim = len(eqn.invars[0].aval.shape)
    lanes = tuple(range(ndim - 2))
    if len(eqn.invars[1].aval.shape) != ndim or tuple(left_lanes) != lanes or tuple(right_lanes) != lanes:
        raise NotListed("dot_general")
    if tuple(left) != (ndim - 1,) or tuple(right) != (ndim - 1,):
        raise NotListed("dot_general")
    return lambda x, w: np.matmul(x, w.swapaxes(-1, -2))


def _any_product(eqn: Any) -> Callable[..., Any]:
    """Return `dot_general` by its definition: axes of both operands, then the left one's own, then the right one's."""
    (left, right), (left_both, right_both) = eqn.params["dimension_numbers"]
    shapes = [atom.aval.shape for atom in eqn.invars]
    result = eqn.outvars[0].aval.shape

    def order(shape: tuple[int, ...], both: Any, summed: Any) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Return the axes as (both, own, summed), and the shape with the own ones and the summed ones as one each."""
        own = [axis for axis in range(len(shape)) if axis not in (*both, *summed)]
        sizes = (math.prod(shape[axis] for axis in axes) for axes in (own, summed))
        return (*both, *own, *summed), (*(shape[axis] for axis in both), *sizes)

    x_axes, x_shape = order(shapes[0], left_both, left)
    w_axes, w_shape = order(shapes[1], right_both, right)

    def multiply(x: np.ndarray, w: np.ndarray) -> np.ndarray:
        rows, columns = x.transpose(x_axes).reshape(x_shape), w.transpose(w_axes).reshape(w_shape)
        product: np.ndarray = np.matmul(rows, columns.swapaxes(-1, -2)).reshape(result)
        return product

    return multiply
