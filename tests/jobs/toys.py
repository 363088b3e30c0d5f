"""A job that is the run of `tests.training.survival`, and processes that do what a test wants. As a program: a process
of a job that is killed, or whose launcher gets Ctrl-C, in the middle of training.

    python -m tests.jobs.toys killed|interrupted FILE HANDLE
"""

import os
import signal
import sys
import threading
from pathlib import Path

from teen.jobs.planned import PlannedJob
from tests.training.survival import BUFFER, CHUNK, EVERY, STEPS, WARMUP

SETTINGS = {
    "algo": "td3", "env": "tests.toys:PointMass-v0", "seeds": [0, 1], "width": 8, "batch": 16, "steps": STEPS,
    "warmup": WARMUP, "buffer": BUFFER, "eval_every": 100, "eval_episodes": 1, "log_every": 50,
    "checkpoint_every": EVERY, "sync": CHUNK,
}  # fmt: skip
JOB = PlannedJob("sweep/point", SETTINGS)

# Stands for `teen.jobs.child`: does what the job's settings say, without any training.
PRETENDER = """
import json, os, signal, sys, time
order = json.loads(sys.stdin.readline())
job, does, here = order["job"], order["job"]["settings"]["does"], order["place"]
with open(f"{here}/log", "a") as file:
    file.write(job["name"] + "\\n")
tries = open(f"{here}/log").read().split().count(job["name"])

def answer(state, **more):
    os.write(int(sys.argv[-1]), json.dumps({"name": job["name"], "state": state, **more}).encode())
    sys.exit()

if does == "done":
    answer("done", step=7)
if does == "fails":
    answer("failed", error="the first line\\nthe last line")
if does == "exits":
    sys.exit("out of luck")
if does == "trust":
    answer("done", step=len(os.environ["TEEN_TRUST"]))
if does.startswith("dies"):  # so many times
    if tries <= int(does[4:]):
        print("last words", file=sys.stderr, flush=True)
        os.kill(os.getpid(), signal.SIGKILL)
    answer("done", step=tries)
if does == "pauses":  # its launcher, which pauses it before itself
    open(f"{here}/pid", "w").write(str(os.getpid()))
    os.kill(os.getppid(), signal.SIGTSTP)
    time.sleep(0.5)
    answer("done", step=1)
if does.startswith("asks"):  # to be stopped, and waits
    def stopped(number, frame):
        received.append(number)
    received = []
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, stopped)
    os.kill(os.getppid(), int(does[4:]))
    while not received:
        time.sleep(0.01)
    time.sleep(0.2)
    answer("stopped", step=len(received), signal=received[0])
"""


def main(what: str, file: str, handle: str) -> None:
    """Train as `teen.jobs.child` does. What happens, happens once: the file says that it did."""
    from teen.disk import checkpoint
    from teen.jobs import child
    from teen.training import stopping
    from teen.training.recorder import Recorder

    heard = threading.Event()
    saves = 0

    def killed(here: str) -> None:
        nonlocal saves
        saves += here == "state written"
        if saves == 4 and not Path(file).exists():
            Path(file).touch()
            os.kill(os.getpid(), signal.SIGKILL)

    def stepped(self: Recorder, step: int) -> None:
        original(self, step)
        if step == 150 and not Path(file).exists():
            Path(file).touch()
            os.kill(os.getppid(), signal.SIGINT)
            assert heard.wait(60), "the launcher did not pass it on"

    original = Recorder.stepped
    if what == "killed":
        checkpoint.reached = killed
    else:
        Recorder.stepped = stepped  # type: ignore[method-assign]
        stopping.notice = lambda line: heard.set()
    child.main(int(handle))


if __name__ == "__main__":
    main(*sys.argv[1:])
