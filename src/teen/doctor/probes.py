"""What is tried in a process of its own, `python -m teen.doctor.probes NAME`. Each function yields lines to answer.

Packages are imported inside functions: whether that works is what is asked.
"""

import importlib
import json
import os
import sys
from collections.abc import Callable, Iterator

from .finding import described

TASK = "HalfCheetah-v4"  # both backends have it


def imports(*modules: str) -> Iterator[str]:
    """Yield each module with what importing it raises, or nothing."""
    for module in modules:
        try:
            importlib.import_module(module)
        except BaseException as error:  # a package may even call sys.exit
            yield json.dumps([module, described(error)])
        else:
            yield json.dumps([module, ""])


def machine() -> Iterator[str]:
    """Yield the platform and the kind of each device that JAX takes, then the bytes of memory."""
    import jax

    from ..engine import device, memory

    device.check()
    yield json.dumps([[each.platform, each.device_kind] for each in jax.devices()])
    yield json.dumps(memory.of_machine())


def steps(backend: str) -> Iterator[str]:
    """Step one copy of a MuJoCo task."""
    import numpy as np

    from .. import envs

    pool = envs.make(TASK, 1, "envpool" if backend == "envpool" else "gymnasium")
    before = pool.reset([0], [0])
    after, *_ = envs.step(pool, [0], np.ones((1, pool.spec.action), np.float32))
    if np.array_equal(before, after):
        raise RuntimeError("a step changes nothing")
    yield f"{TASK} steps"
    pool.close()


PROBES: dict[str, Callable[..., Iterator[str]]] = {"imports": imports, "machine": machine, "steps": steps}


def main(name: str, *arguments: str) -> None:
    """Print a probe's lines. What libraries print goes to standard error, and an error is its last line."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    try:
        for line in PROBES[name](*arguments):
            print(line, file=answers, flush=True)
    except Exception as error:
        sys.exit(described(error))


if __name__ == "__main__":
    main(*sys.argv[1:])
