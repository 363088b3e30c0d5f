"""A long run with evaluations and checkpoints interleaved, watched from outside: memory and open files must stay flat.

`make soak`, or `python scripts/soak.py MINUTES`.
"""

import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

EVERY = 2.0  # seconds between looks
COMMAND = (
    "--algo teen --env Hopper-v5 --backend gymnasium --seeds 3 --n 3 --m 2 --width 32 --batch 64 --steps 100000000 "
    "--warmup 1000 --buffer 5000 --eval-every 500 --eval-episodes 2 --log-every 100 --checkpoint-every 500"
)
MEMORY_GROWTH, SETTLED = 0.05, 0.3  # at most 5 % after the first 30 % of the time


def look(pid: int) -> tuple[int, int, int]:
    """Resident memory in kB, open files, threads."""
    status = dict(line.split(":", 1) for line in Path(f"/proc/{pid}/status").read_text().splitlines())
    return int(status["VmRSS"].split()[0]), len(os.listdir(f"/proc/{pid}/fd")), int(status["Threads"])


def main(minutes: float) -> int:
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "run"
        arguments = [sys.executable, "-m", "teen", "train", *COMMAND.split(), "--out", str(out)]
        process = subprocess.Popen(arguments, stdout=subprocess.DEVNULL)
        looks, start = [], time.monotonic()
        try:
            while time.monotonic() - start < 60 * minutes:
                time.sleep(EVERY)
                if process.poll() is not None:
                    print(f"the run ended by itself, with exit code {process.returncode}")
                    return 1
                looks.append(look(process.pid))
                if len(looks) % 15 == 0:
                    rss, files, threads = looks[-1]
                    print(
                        f"{len(looks) * EVERY:5.0f} s: {rss / 1e3:.0f} MB, {files} files, {threads} threads", flush=True
                    )
            process.send_signal(signal.SIGTERM)
            code = process.wait(120)
        finally:
            process.kill()
        checkpoints = sorted(path.name for path in (out / "checkpoint").glob("step-*"))
        evaluations = len({line.split(",")[1] for line in (out / "eval.csv").read_text().splitlines()[1:]})
    seen = np.array(looks[int(SETTLED * len(looks)) :], float)
    half = len(seen) // 2
    first, last = np.median(seen[:half], 0), np.median(seen[half:], 0)
    growth = last[0] / first[0] - 1
    print(f"{evaluations} evaluations, checkpoints {', '.join(checkpoints)}, exit code {code}")
    print(f"memory {first[0] / 1e3:.0f} → {last[0] / 1e3:.0f} MB ({growth:+.1%}), files {first[1]:.0f} → {last[1]:.0f}")
    flat = growth <= MEMORY_GROWTH and last[1] <= first[1] and last[2] <= first[2]
    print("flat" if flat else "NOT flat")
    return 0 if flat and code == 128 + signal.SIGTERM else 1


if __name__ == "__main__":
    sys.exit(main(float(sys.argv[1]) if len(sys.argv) > 1 else 10))
