"""A policy for NumPy: an .npz of float32 arrays with plain names, and beside it the module that acts with them."""

import io
import os
from pathlib import Path
from typing import Any

import numpy as np

from ..disk.files import write_atomically
from ..errors import UserError
from . import numpy_policy
from .networks import Networks

LARGEST = 2**16  # bytes of a module that may be replaced


def write(networks: Networks, out: Path) -> tuple[Path, float]:
    """Write the arrays, and the module that acts with them, of the same name. Return its path, and how far it is from
    the agent; see `Networks.check`."""
    if networks.vote:
        raise UserError("--evaluate vote asks the critics, which --to numpy leaves out: take --to onnx, or --member K")
    if out.suffix != ".npz":
        raise UserError(f"--out {out} does not end in .npz")
    module, text = out.with_suffix(".py"), Path(numpy_policy.__file__).read_bytes()
    if os.path.lexists(module) and not _is_ours(module, text):
        raise UserError(f"{module} is there and was not written by teen export: choose another --out")
    data = io.BytesIO()
    np.savez(data, allow_pickle=False, **arrays(networks))
    data.seek(0)
    apart = networks.check(numpy_policy.Policy(data).act)
    write_atomically(out, data.getvalue())
    write_atomically(module, text)
    return module, apart


def arrays(networks: Networks) -> dict[str, Any]:
    """Return the arrays by name, weights as (member, in, out): a row times a weight."""
    named: dict[str, np.ndarray] = {}
    for i, (weight, bias) in enumerate(networks.layers):
        named |= {f"weight{i}": np.ascontiguousarray(weight.swapaxes(1, 2)), f"bias{i}": bias[:, None]}
    if networks.normaliser:
        named |= {name: np.asarray(value) for name, value in networks.normaliser._asdict().items()}
    named |= {"low": networks.low, "high": networks.high}
    return {name: array.astype(np.float32) for name, array in named.items()}


def _is_ours(module: Path, text: bytes) -> bool:
    """Return whether a file is a module of this kind: it begins with the same line."""
    if module.is_symlink() or not module.is_file() or module.stat().st_size > LARGEST:
        return False
    return module.read_bytes().startswith(text.partition(b"\n")[0])
