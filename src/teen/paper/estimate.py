"""Speeds of this machine: each kind of program trains for a few steps, and its speed is kept."""

import json
import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import jax

from ..config import job as config
from ..config.facts import SAME_SPEED
from ..disk.files import write_atomically
from ..engine import device
from ..engine.log import Log
from ..errors import EnvironmentFault, UserError
from ..settings import number_text
from ..training.machine import cpu_model
from ..training.prepared import Prepared
from ..training.stopping import stop_requests
from .runs import PlannedRun
from .scale import PRESET

CACHE = "speed.json"
CHUNK, WARMUP, SETTLED = 10, 20, 20  # steps; what comes before the learner has settled is mostly compilation
ENOUGH_STEPS, ENOUGH_SECONDS, MOST_STEPS = 20, 3.0, 2000

Speeds = dict[str, float]  # by kind of program: seconds that a step of all lanes takes


def machine() -> str:
    """Return the processor, the device and the version of JAX, on which speeds depend."""
    device.check()
    return f"{os.cpu_count()} × {cpu_model()}, {jax.devices()[0].device_kind}, jax {jax.__version__}"


def kind(planned: PlannedRun) -> str:
    """Return a name that programs of equal speed share."""
    program = planned.program
    changes = [f"{name}={number_text(value)}" for name, value in program.changes if name not in SAME_SPEED]
    size = ["smoke"] if program.smoke else []
    preset = [program.preset] if program.preset != PRESET else []
    return " ".join([program.algo, program.env, *changes, *size, *preset, f"{planned.lanes} lanes"])


def speeds(plan: Sequence[PlannedRun], out: Path) -> Speeds:
    """Return the speed of each kind that has steps left. Kinds that were not measured on this machine before are
    measured now; those that cannot train here are left out."""
    cached = _read(out / CACHE)
    here = cached.setdefault(machine(), {})
    kinds = {kind(planned): planned for planned in plan if planned.left}
    missing = [name for name in kinds if name not in here]
    if missing:
        _say(f"measuring how fast they train here, a few steps of each kind; {out / CACHE} keeps it")
    for number, name in enumerate(missing, 1):
        _say(f"measuring {number} of {len(missing)}: {name}")
        try:
            here[name] = measure(kinds[name])
            out.mkdir(parents=True, exist_ok=True)
            write_atomically(out / CACHE, (json.dumps(cached, indent=1) + "\n").encode())
        except (UserError, EnvironmentFault) as error:
            _say(f"teen: {name} cannot train here: {error}")
        except OSError as error:
            raise UserError(f"{out} cannot be written: {error.strerror}") from None
    return {name: here[name] for name in kinds if name in here}


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def seconds_left(plan: Sequence[PlannedRun], speeds: Speeds) -> float:
    """Return how long the rest takes, without runs of unknown speed."""
    return sum(planned.left * speeds.get(kind(planned), 0) for planned in plan)


def words(seconds: float) -> str:
    """Return a duration with two digits: an estimate has no more."""
    for size, unit in ((86_400, "days"), (3600, "h"), (60, "min")):
        if seconds >= 2 * size:
            return f"{float(f'{seconds / size:.2g}'):g} {unit}"
    return f"{max(seconds, 1):.0f} s"


def measure(planned: PlannedRun) -> float:
    """Return the seconds of a step of all lanes together, without evaluations and checkpoints."""
    never = 10**9
    short = {"steps": MOST_STEPS, "warmup": WARMUP, "buffer": 10_000, "sync": CHUNK, "eval_episodes": 1}
    apart = {"eval_every": never, "members_every": never, "log_every": never, "checkpoint_every": 0}
    job = config.resolve({**planned.settings(), **short, **apart})
    prepared = Prepared.of(job)
    watch = Stopwatch()
    try:
        with stop_requests() as stop:
            prepared.loop(watch, lambda: watch.enough or stop.made()).run()
        if stop.made():
            raise KeyboardInterrupt
    finally:
        prepared.close()
    return watch.seconds / watch.steps


class Stopwatch(Log):
    """A log that measures steps and seconds since the learner has settled."""

    def __init__(self) -> None:
        self._begin: tuple[int, float] | None = None  # step and time
        self.steps, self.seconds, self.enough = 0, 0.0, False

    def stepped(self, step: int) -> None:
        if step >= WARMUP + SETTLED:
            now = time.perf_counter()
            self._begin = self._begin or (step, now)
            self.steps, self.seconds = step - self._begin[0], now - self._begin[1]
            long = self.seconds >= ENOUGH_SECONDS or step >= MOST_STEPS - CHUNK
            self.enough = long and self.steps >= ENOUGH_STEPS


def _read(path: Path) -> dict[str, Speeds]:
    """Return the speeds by machine; none where the file is damaged, and they are measured again."""
    try:
        machines = json.loads(path.read_text())
        return {str(name): {str(k): float(v) for k, v in kinds.items()} for name, kinds in machines.items()}
    except (OSError, ValueError, TypeError, AttributeError, RecursionError):
        return {}
