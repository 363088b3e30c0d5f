"""A policy as an ONNX graph: raw observations in, the environment's actions out, any number of rows.

The graph is put together from the policy's arrays: 18 nodes of opset 17. A general converter was tried first. jax2onnx
0.17.1 gave 58 nodes for TD3, which took 1.1 s for 1,000 rows instead of 2 ms, and a wrong graph for `--evaluate vote`.
"""

from pathlib import Path
from typing import Any

import numpy as np

from .. import __version__
from ..disk.files import write_atomically
from ..errors import UserError
from .needed import needed
from .networks import Layers, Networks, Vote

OPSET, IR = 17, 8  # of 2022: onnxruntime 1.12 and later run it
INPUT, OUTPUT, BATCH = "obs", "action", "batch"


def write(networks: Networks, out: Path) -> float:
    """Write the graph, and return how far it is from the agent; see `Networks.check`."""
    if out.suffix != ".onnx":
        raise UserError(f"--out {out} does not end in .onnx")
    data = model(networks).SerializeToString()
    apart = networks.check(_runtime(data))
    write_atomically(out, data)
    return apart


def _runtime(data: bytes) -> Any:
    onnxruntime = needed("onnxruntime", "onnx")
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3  # errors
    session = onnxruntime.InferenceSession(data, options, providers=["CPUExecutionProvider"])
    return lambda rows: session.run(None, {INPUT: rows})[0]


def model(networks: Networks) -> Any:
    """Return the model, an `onnx.ModelProto` that ONNX's own checker has passed."""
    onnx = needed("onnx", "onnx")
    helper, number = onnx.helper, onnx.TensorProto.FLOAT
    sizes = networks.layers[0][0].shape[-1], networks.low.shape
    graph = Graph(onnx)
    _policy(graph, networks)
    made = helper.make_model(
        helper.make_graph(
            graph.nodes,
            "policy",
            [helper.make_tensor_value_info(INPUT, number, [BATCH, sizes[0]])],
            [helper.make_tensor_value_info(OUTPUT, number, [BATCH, *sizes[1]])],
            graph.constants,
        ),
        opset_imports=[helper.make_opsetid("", OPSET)],
        ir_version=IR,
        producer_name="teen",
        producer_version=__version__,
    )
    helper.set_model_props(made, networks.facts)
    onnx.checker.check_model(made, full_check=True)
    return made


class Graph:
    """Operators in the order in which they are computed, and the arrays that they take."""

    def __init__(self, onnx: Any):
        self.onnx, self.nodes, self.constants = onnx, list[Any](), list[Any]()

    def add(self, operator: str, *inputs: str | np.ndarray | float, to: str = "", **attributes: Any) -> str:
        """Add an operator, and return the name of its result. Arrays and numbers among its inputs become
        constants."""
        names = [value if isinstance(value, str) else self._constant(value) for value in inputs]
        result = to or f"{operator.lower()}_{len(self.nodes)}"
        self.nodes.append(self.onnx.helper.make_node(operator, names, [result], **attributes))
        return result

    def _constant(self, value: np.ndarray | float) -> str:
        array = np.asarray(value, order="C")
        array = array.astype(np.float32) if array.dtype.kind == "f" else array
        name = f"constant_{len(self.constants)}"
        self.constants.append(self.onnx.numpy_helper.from_array(array, name))
        return name


def _policy(graph: Graph, networks: Networks) -> None:
    obs = INPUT
    if networks.normaliser:
        mean, std, limit = networks.normaliser
        centred = graph.add("Sub", obs, mean)
        obs = graph.add("Clip", graph.add("Div", centred, std), -limit, limit)
    actions = graph.add("Tanh", _mlp(graph, obs, networks.layers))  # (member, batch, action)
    if networks.vote:
        action = _chosen(graph, obs, actions, len(networks.layers[0][0]), networks.vote)
    else:
        action = graph.add("ReduceMean", actions, axes=[0], keepdims=0)
    low, high = (bound.astype(np.float64).ravel() for bound in (networks.low, networks.high))
    action = graph.add("Mul", action, (high - low) / 2)
    action = graph.add("Add", action, (high + low) / 2)
    action = graph.add("Min", graph.add("Max", action, low), high)  # rounding may leave them
    graph.add("Reshape", action, np.array([-1, *networks.low.shape]), to=OUTPUT)


def _mlp(graph: Graph, x: str, layers: Layers, layer_norm: bool = False) -> str:
    """Add a network of each member: (batch, in) -> (member, batch, out). Further axes are broadcast."""
    for i, (weight, bias) in enumerate(layers):
        x = graph.add("MatMul", x, weight.swapaxes(-1, -2))
        if layer_norm and i < len(layers) - 1:
            x = _normed(graph, x)
        x = graph.add("Add", x, bias[..., None, :])
        if i < len(layers) - 1:
            x = graph.add("Relu", x)
    return x


def _normed(graph: Graph, x: str) -> str:
    """Add LayerNorm as `nets.normed_linear` has it, without its bias."""
    x = graph.add("Sub", x, graph.add("ReduceMean", x, axes=[-1]))
    variance = graph.add("ReduceMean", graph.add("Mul", x, x), axes=[-1])
    return graph.add("Div", x, graph.add("Sqrt", graph.add("Add", variance, 1e-5)))


def _chosen(graph: Graph, obs: str, actions: str, members: int, vote: Vote) -> str:
    """Add the choice of an action by the mean over all critics: (member, batch, action) -> (batch, action)."""
    repeated = graph.add("Concat", *[graph.add("Unsqueeze", obs, np.array([0]))] * members, axis=0)
    pairs = graph.add("Concat", repeated, actions, axis=-1)  # (member, batch, obs + action)
    # Every critic judges every member's action: the networks get an axis for these, (critic, 1, out, in).
    critics = [(weight[:, None], bias[:, None]) for weight, bias in vote.critics]
    x = _mlp(graph, graph.add("Unsqueeze", pairs, np.array([0])), critics, vote.layer_norm)
    worth = graph.add("ReduceMean", x, axes=[0, 3], keepdims=0)  # (member, batch)
    best = graph.add("ArgMax", worth, axis=0, keepdims=0)
    mask = graph.add("OneHot", best, np.array(members), np.array([0, 1], np.float32), axis=0)  # (member, batch)
    of_best = graph.add("Mul", actions, graph.add("Unsqueeze", mask, np.array([2])))
    return graph.add("ReduceSum", of_best, np.array([0]), keepdims=0)
