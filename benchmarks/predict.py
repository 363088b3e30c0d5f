"""Time `predict` for one observation of HalfCheetah-v5, beside Stable-Baselines3's of the same networks.

Both take turns, so that other load on the machine slows down both. TEEN averages the actions of ten members.
"""

import sys
import time
from collections.abc import Callable
from statistics import median
from typing import Any

import numpy as np

import teen
from benchmarks import row

CALLS, ROUNDS = 1_000, 9
ENV = "HalfCheetah-v5"


def seconds(predict: Callable[[np.ndarray], Any], obs: np.ndarray) -> float:
    """Return the time of a call."""
    start = time.perf_counter()
    for _ in range(CALLS):
        predict(obs)
    return (time.perf_counter() - start) / CALLS


def measure() -> dict[str, object]:
    try:
        import gymnasium
        import stable_baselines3 as sb3
    except ImportError as error:
        sys.exit(f"the peers are missing ({error}): make bench installs them, or pip install 'teen-rl[bench]'")
    obs, _ = gymnasium.make(ENV).reset(seed=0)
    peer = sb3.TD3("MlpPolicy", gymnasium.make(ENV), policy_kwargs={"net_arch": [256, 256]}, device="cpu")
    calls = {
        "sb3": lambda obs: peer.predict(obs, deterministic=True),
        "td3": teen.TD3(ENV).predict,
        "teen": teen.TEEN(ENV).predict,
    }
    for predict in calls.values():
        predict(obs)  # compiles
    times: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(ROUNDS):
        for name, predict in calls.items():
            times[name].append(seconds(predict, obs))
    middle = {name: median(values) for name, values in times.items()}
    values = {"predict": middle["td3"] / middle["sb3"], "predict.teen": middle["teen"] / middle["sb3"]}
    return {"values": values, "milliseconds": {name: 1e3 * value for name, value in middle.items()}}


if __name__ == "__main__":
    row.main(__file__, measure)
