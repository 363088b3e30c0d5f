"""Steps environments under the watchdog, in a process of its own, which may have to be ended.

python -m tests.envs.watching tests.toys:Faulty-locks-v0 main 1.0 0.5      # environment, where, limit, grace
"""

import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np

import tests.toys  # noqa: F401 (registers the toys)
from teen import envs
from teen.envs import watchdog
from teen.errors import EnvironmentFault

ROOT = Path(__file__).parents[2]


def start(*arguments: str, stderr: int = subprocess.PIPE) -> subprocess.Popen[str]:
    """Return the process, with pipes."""
    command = [sys.executable, "-m", "tests.envs.watching", *arguments]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": stderr}
    return subprocess.Popen(command, cwd=ROOT, env={**os.environ, "PYTHONPATH": "src"}, text=True, **pipes)


def wait_for_input(action: np.ndarray) -> tuple[np.ndarray, float, bool, bool, dict[str, str]]:
    """Take a step that ends half a second after a byte has come."""
    print("waiting", flush=True)
    os.read(0, 1)
    time.sleep(0.5)
    return np.zeros(1), 0.0, False, False, {}


def main(name: str, where: str, limit: str, grace: str) -> None:
    watchdog.GRACE = float(grace)
    asked = name == "a step that waits"
    lanes = envs.Lanes(envs.make("tests.toys:PointMass-v0" if asked else name, 2), [2, 3])
    if asked:
        lanes.envs.envs[1].unwrapped.step = wait_for_input

    def work() -> None:
        for _ in range(1 if asked else 30):
            lanes.step(np.zeros((2, 1)))

    def beside() -> None:
        """Let another thread step the environments, as evaluations do."""
        thread = threading.Thread(target=work, daemon=True)
        thread.start()
        thread.join()

    def watch() -> None:
        try:
            if where == "beside":
                envs.watched(float(limit), [], beside, [lanes.envs])
            else:
                envs.watched(float(limit), [lanes.envs], work)
            print("went on", flush=True)
        except EnvironmentFault as fault:
            print(fault, flush=True)

    if where == "thread":
        thread = threading.Thread(target=watch)
        thread.start()
        thread.join()
    else:
        watch()


if __name__ == "__main__":
    main(*sys.argv[1:])
