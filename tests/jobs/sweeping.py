"""Small jobs in a process of its own, which launches them: python -m tests.jobs.sweeping PLACE COUNT [options]"""

import argparse
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from teen.errors import UserError
from teen.jobs.launch import launch
from teen.jobs.place import place
from teen.jobs.planned import PlannedJob, Resources

ROOT = Path(__file__).parents[2]
SETTINGS: dict[str, Any] = {
    "algo": "td3", "env": "tests.toys:PointMass-v0", "width": 8, "batch": 16, "steps": 2000, "warmup": 50,
    "buffer": 500, "eval_every": 500, "eval_episodes": 1, "log_every": 50, "checkpoint_every": 50, "sync": 10,
}  # fmt: skip


def jobs(count: int, **changes: Any) -> list[PlannedJob]:
    """Jobs that differ in what is no number of a lane: the delay of the actor, and in their seeds."""
    return [
        PlannedJob(f"td3,delay={delay},seeds={seed}", {**SETTINGS, **changes, "delay": delay, "seeds": [seed]})
        for seed, delay in ((i // 2, i % 2 + 1) for i in range(count))
    ]


def logs(folder: Path, which: str = "td3*") -> dict[str, bytes]:
    """Return what must not depend on how a job came to its end."""
    names = "config.toml", "eval.csv", "train.csv", "agent/weights.safetensors"
    return {f"{path.name}/{name}": (path / name).read_bytes() for path in sorted(folder.glob(which)) for name in names}


def start(where: Path | str, count: int, *options: str, **variables: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "tests.jobs.sweeping", str(where), str(count), *options]
    paths = os.pathsep.join([*filter(None, [variables.pop("PYTHONPATH", "")]), str(ROOT / "src"), str(ROOT)])
    environment = {**os.environ, **variables, "PYTHONPATH": paths}
    return subprocess.Popen(
        command, env=environment, cwd=ROOT, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )


def finished(process: subprocess.Popen[str], seconds: float) -> tuple[int, str, str]:
    """Wait for the end, and return the exit code and what was said."""
    try:
        out, err = process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        process.kill()
        raise
    return process.returncode, out, err


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("place")
    parser.add_argument("count", type=int)
    parser.add_argument("--address")
    parser.add_argument("--cores", type=float, default=1)
    parser.add_argument("--steps", type=int, default=SETTINGS["steps"])
    parser.add_argument("--retries", type=int, default=3)
    parser.add_argument("--faulty", action="store_true", help="the first job fails by itself")
    asked = parser.parse_args()
    planned = jobs(asked.count, steps=asked.steps)
    if asked.faulty:
        first = planned[0]
        planned[0] = first._replace(settings={**first.settings, "env": "tests.toys:Faulty-raises-v0", "seeds": [1]})
    how = {"on": "ray", "address": asked.address, "resources": None, "retries": asked.retries, "trust": "tests.toys"}
    if asked.cores != 1:
        how["resources"] = Resources(asked.cores)
    try:
        return launch(planned, place(asked.place), **how)
    except UserError as error:
        print(f"teen: {error}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
