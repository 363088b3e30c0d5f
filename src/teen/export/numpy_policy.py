"""A policy that TEEN trained, for NumPy alone. SPDX-License-Identifier: MIT

>>> policy = Policy("policy.npz")
>>> action = policy.act(obs)  # one observation (obs,) or a batch (batch, obs); actions in the environment's bounds
"""

from typing import Any

import numpy as np


class Policy:
    def __init__(self, path: Any):
        with np.load(path, allow_pickle=False) as file:
            self.arrays = {name: file[name] for name in file.files}
        self.depth = sum(name.startswith("weight") for name in self.arrays)

    def act(self, obs: Any) -> np.ndarray:
        a = self.arrays
        x = np.asarray(obs, np.float32)
        batch, x = x.ndim > 1, np.atleast_2d(x)
        if "mean" in a:
            x = np.clip((x - a["mean"]) / a["std"], -a["limit"], a["limit"])
        for i in range(self.depth):
            x = x @ a[f"weight{i}"] + a[f"bias{i}"]  # (member, batch, out)
            x = np.maximum(x, 0) if i < self.depth - 1 else np.tanh(x)
        x = x.mean(0).reshape(-1, *a["low"].shape)  # the mean of the members' actions, in [-1, 1]
        action: np.ndarray = np.clip(a["low"] + (x + 1) / 2 * (a["high"] - a["low"]), a["low"], a["high"])
        return action if batch else action[0]
