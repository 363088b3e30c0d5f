"""An environment whose 25th step does not end, or not before the file exists that the variable HELD_UNTIL names."""

import hashlib
import os
import time
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np

from tests.toys import PointMass

STEP = 25


class Held(PointMass):
    def __init__(self, where: str):
        self.where, self.taken = where, 0

    def step(self, action: np.ndarray) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        self.taken += 1
        if self.taken == STEP:
            os.write(2, b"held\n")
            if self.where == "outside":
                hashlib.pbkdf2_hmac("sha256", b"", b"", 2**31 - 1)  # half an hour without a step of Python's
            while not Path(os.environ["HELD_UNTIL"]).exists():
                time.sleep(0.01)
        return super().step(action)


for where in ("inside", "outside"):  # of Python
    gymnasium.register(f"Held-{where}-v0", Held, max_episode_steps=40, kwargs={"where": where})
