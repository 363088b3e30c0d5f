"""Compare one seed, end to end, with Stable-Baselines3 and SBX: HalfCheetah-v5, [256, 256], batch 256, one update per
step.

The libraries take turns, so that other load on the machine slows down all of them.
"""

import os
import sys
from statistics import median
from typing import Any

from benchmarks import loops

STEPS, ROUNDS = 1_500, 4


def measure(algo: str) -> dict[str, object]:
    try:
        import gymnasium
        import sbx
        import stable_baselines3 as sb3
        import torch
    except ImportError as error:
        sys.exit(f"the peers are missing ({error}): make bench installs them, or pip install 'teen-rl[bench]'")
    torch.set_num_threads(os.cpu_count() or 1)

    def same_settings(library: Any) -> Any:
        return lambda: getattr(library, algo.upper())(
            "MlpPolicy",
            gymnasium.make("HalfCheetah-v5"),
            learning_starts=100,
            batch_size=loops.BATCH,
            train_freq=1,
            gradient_steps=1,
            learning_rate=3e-4,
            policy_kwargs={"net_arch": list(loops.HIDDEN)},
        )

    libraries = {
        "ours": lambda: loops.ours(algo, "HalfCheetah-v5", 1, STEPS, backend="gymnasium"),
        "sbx": lambda: loops.peer(same_settings(sbx), STEPS),
        "sb3": lambda: loops.peer(same_settings(sb3), STEPS),
    }
    speeds: dict[str, list[float]] = {name: [] for name in libraries}
    for _ in range(ROUNDS):
        for name, run in libraries.items():
            speeds[name].append(1 / run())
            print(f"  {algo} {name}: {speeds[name][-1]:.0f} steps/s", flush=True)
    middle = {name: median(values) for name, values in speeds.items()}
    ratios = {f"{algo}_peers": middle["ours"] / middle["sbx"], f"{algo}_peers.sb3": middle["ours"] / middle["sb3"]}
    return {"values": ratios, "steps_per_second": speeds}
