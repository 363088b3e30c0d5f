"""How long training takes here: each distinct program trains for a few steps, and what that took is kept."""

import json
import os
import platform
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp

from .. import algos
from ..config import job as config
from ..disk.files import write_atomically
from ..engine import loop as engine
from ..errors import EnvironmentFault, UserError
from ..training import run as training
from ..training.stopping import stop_requests
from .runs import Program

CACHE = "speed.json"
CHUNK, WARMUP, SETTLED = 10, 20, 20  # steps; what comes before the learner has settled is mostly compilation
ENOUGH_STEPS, ENOUGH_SECONDS, MOST_STEPS = 20, 3.0, 2000
BUFFER = 10_000
SAME_SPEED = ("reward_scale",)  # settings that change what is learnt and not how fast

Speeds = dict[str, float]  # seconds of a step of all lanes, by program


def machine() -> str:
    """What the speed depends on."""
    cpu = platform.processor()
    if os.path.exists("/proc/cpuinfo"):
        with open("/proc/cpuinfo") as file:
            cpu = next((line.split(":")[1].strip() for line in file if line.startswith("model name")), cpu)
    return f"{os.cpu_count()} × {cpu}, {jax.devices()[0].device_kind}, jax {jax.__version__}"


def kind(program: Program) -> str:
    """The same for programs that take equally long."""
    like = program.like
    changes = [f"{name}={value:g}" for name, value in like.changes if name not in SAME_SPEED]
    size = ["smoke"] if like.smoke else []
    return " ".join([like.algo, like.env, *changes, *size, f"{program.lanes} lanes"])


def speeds(programs: Sequence[Program], out: Path) -> Speeds:
    """Of the kinds that have steps left and can train here. What was not measured here before is measured now."""
    known = _read(out / CACHE)
    here = known.setdefault(machine(), {})
    wanted = {kind(program): program for program in programs if program.left}
    missing = [name for name in wanted if name not in here]
    if missing:
        print(
            f"measuring how fast they train here, a few steps of each kind; {out / CACHE} keeps it",
            file=sys.stderr,
            flush=True,
        )
    for number, name in enumerate(missing, 1):
        print(f"measuring {number} of {len(missing)}: {name}", file=sys.stderr, flush=True)
        try:
            here[name] = measure(wanted[name])
            out.mkdir(parents=True, exist_ok=True)
            write_atomically(out / CACHE, (json.dumps(known, indent=1) + "\n").encode())
        except (UserError, EnvironmentFault) as error:
            print(f"teen: {name} cannot train here: {error}", file=sys.stderr, flush=True)
        except OSError as error:
            raise UserError(f"{out} cannot be written: {error.strerror}") from None
    return {name: here[name] for name in wanted if name in here}


def left(programs: Sequence[Program], known: Speeds) -> float:
    """Seconds, of those whose speed is known."""
    return sum(program.left * known.get(kind(program), 0) for program in programs)


def words(seconds: float) -> str:
    """No more digits than an estimate deserves."""
    for size, unit in ((86_400, "days"), (3600, "h"), (60, "min")):
        if seconds >= 2 * size:
            return f"{seconds / size:.2g} {unit}"
    return f"{max(seconds, 1):.0f} s"


def measure(program: Program) -> float:
    """Seconds of a step of all lanes together, evaluations and checkpoints aside."""
    never = 10**9
    short = {"steps": MOST_STEPS, "warmup": WARMUP, "buffer": BUFFER, "sync": CHUNK, "eval_episodes": 1}
    apart = {"eval_every": never, "members_every": never, "log_every": never, "checkpoint_every": 0}
    job = config.resolve({**program.settings(), **short, **apart})
    prepared = training.Prepared.of(job)
    hypers = [algos.find(job.run.algo).hyper(v.config) for v in job.variants for _ in job.run.seeds]
    stacked = jax.tree.map(lambda *numbers: jnp.stack(numbers), *hypers)
    watch = Stopwatch()
    pools = prepared.training, prepared.evaluation
    try:
        with stop_requests() as stop:
            engine.train(
                prepared.algo, prepared.plan, job.lane_seeds, stacked, *pools, watch,
                lambda: watch.enough() or stop.made(),
            )  # fmt: skip
        if stop.made():
            raise KeyboardInterrupt
    finally:
        for pool in (*prepared.training, prepared.evaluation):
            pool.close()
    return watch.seconds_a_step()


class Stopwatch:
    """A log that only looks at the time."""

    def __init__(self) -> None:
        self._marks: list[tuple[int, float]] = []  # step, time; from when the learner has settled

    def stepped(self, step: int) -> None:
        if step >= WARMUP + SETTLED:
            self._marks.append((step, time.perf_counter()))

    def enough(self) -> bool:
        if len(self._marks) < 2:
            return False
        (first, begin), (last, end) = self._marks[0], self._marks[-1]
        return last - first >= ENOUGH_STEPS and (end - begin >= ENOUGH_SECONDS or last >= MOST_STEPS - CHUNK)

    def seconds_a_step(self) -> float:
        (first, begin), (last, end) = self._marks[0], self._marks[-1]
        return (end - begin) / (last - first)

    def trained(self, step: int, metrics: Any) -> None: ...
    def evaluated(self, step: int, episodes: Any) -> None: ...
    def diagnosed(self, step: int, lanes: Any) -> None: ...
    def quarantined(self, lane: int, step: int, quantity: str) -> None: ...
    def begun_again(self, lines: list[str]) -> None: ...


def _read(path: Path) -> dict[str, Speeds]:
    """What is damaged is measured again."""
    try:
        kept = json.loads(path.read_text())
        return {str(name): {str(k): float(v) for k, v in own.items()} for name, own in kept.items()}
    except (OSError, ValueError, TypeError, AttributeError, RecursionError):
        return {}
