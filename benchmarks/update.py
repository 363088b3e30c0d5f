"""How fast an update is here, beside the machine's own limit, and TD3 end to end beside the peers.

    make bench-update            (or: python -m benchmarks.update --out FILE.json)

The peers, Stable-Baselines3 and SBX, are the extra `bench`; without them that part is left out, and says so.
"""

import argparse
import json
import time
from pathlib import Path
from statistics import median
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from benchmarks import flops, loops, machine
from teen import algos, engine, replay
from teen.settings import static
from teen.spec import Spec

SPEC, HIDDEN, BATCH = Spec(17, 6), (256, 256), 256  # HalfCheetah
CHUNK = 10  # updates per dispatch; the actors move in every second one


def update_seconds(algo: str, lanes: int, repeats: int = 12) -> float:
    """Median seconds of one step of the learner: insert, sample, update."""
    module = algos.find(algo)
    cfg = module.Config()
    functions = module.make(static(cfg))
    layout = replay.Layout(SPEC, functions.extras)
    plan = engine.Plan(
        steps=100_000, warmup=0, batch=BATCH, utd=1, buffer=100_000, log_every=1, eval_every=1, eval_episodes=1,
        members_every=1, sync=1,
    )  # fmt: skip
    hypers = jax.tree.map(lambda *x: jnp.stack(x), *[module.hyper(cfg)] * lanes)
    program, learner, _ = engine.start(functions, layout, plan, range(lanes), hypers)
    rows = np.random.default_rng(0).normal(size=(300, lanes, layout.width + 1)).astype(np.float32)
    rows[:, :, -2:] = 0
    learner = program.store(learner, rows)
    times = []
    for _ in range(repeats + 2):
        start = time.perf_counter()
        learner = program.learn(learner, rows[:CHUNK])
        jax.block_until_ready(learner)
        times.append((time.perf_counter() - start) / CHUNK)
    return median(times[2:])


def peers(steps: int, rounds: int) -> dict[str, list[float]]:
    """Steps per second, the contestants taking turns so that a noisy machine is noisy for all."""
    try:
        import gymnasium
        import sbx
        import stable_baselines3 as sb3
    except ImportError as error:
        print(f"peers left out: {error}; install the extra `bench`")
        return {}
    import torch

    torch.set_num_threads(machine.describe()["cores"])  # type: ignore[arg-type]

    def same(library: Any) -> Any:
        return lambda: library.TD3(
            "MlpPolicy",
            gymnasium.make("HalfCheetah-v5"),
            learning_starts=100,
            batch_size=BATCH,
            train_freq=1,
            gradient_steps=1,
            learning_rate=3e-4,
            policy_kwargs={"net_arch": list(HIDDEN)},
        )

    contestants = {
        "teen TD3": lambda: loops.ours("td3", "HalfCheetah-v5", 1, steps),
        "SBX TD3": lambda: loops.peer(same(sbx), steps),
        "SB3 TD3": lambda: loops.peer(same(sb3), steps),
    }
    speeds: dict[str, list[float]] = {name: [] for name in contestants}
    for _ in range(rounds):
        for name, run in contestants.items():
            speeds[name].append(run())
            print(f"  {name}: {speeds[name][-1]:.0f} steps/s", flush=True)
    return speeds


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--lanes", type=int, nargs="*", default=[1])
    parser.add_argument("--steps", type=int, default=1500, help="timed steps of each end-to-end run")
    parser.add_argument("--rounds", type=int, default=3)
    flags = parser.parse_args()

    result: dict[str, Any] = {"machine": machine.describe()}
    result["matmul_gflops"] = machine.matmul_gflops()
    print(f"large matrix product: {result['matmul_gflops']:.0f} GFLOP/s")
    result["updates"] = []
    for algo, count in (("teen", flops.teen), ("td3", flops.td3)):
        operations = count(*SPEC, HIDDEN, BATCH)
        for lanes in flags.lanes:
            seconds = update_seconds(algo, lanes)
            achieved = operations * lanes / seconds / 1e9
            share = achieved / result["matmul_gflops"]
            row = {"algo": algo, "lanes": lanes, "ms": seconds * 1e3, "gflops": achieved, "share": share}
            result["updates"].append(row)
            print(
                f"{algo} update, {lanes} lanes: {seconds * 1e3 / lanes:.2f} ms a lane, "
                f"{lanes / seconds:.0f} updates/s, {achieved:.0f} GFLOP/s = {share:.0%} of the large product"
            )
    result["td3_steps_per_second"] = speeds = peers(flags.steps, flags.rounds) if flags.rounds else {}
    if speeds:
        own = median(speeds["teen TD3"])
        for name, values in speeds.items():
            print(f"{name}: {median(values):.0f} steps/s; ours is {own / median(values):.2f} times that")
    if flags.out:
        flags.out.write_text(json.dumps(result, indent=2) + "\n")


if __name__ == "__main__":
    main()
