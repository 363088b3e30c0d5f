"""Measure the memory of a 10-lane TEEN run on HalfCheetah-v4, with evaluation, relative to its replay of a million
steps and its parameters (with targets and Adam's moments).

On a GPU it is the device's peak. On a CPU it is the process's peak less what it had before the run.
"""

import resource

import jax

from benchmarks import loops, row
from teen import algos, envs
from teen.engine.episodes import threads_of_a_lane
from teen.engine.evaluate import copies_needed
from teen.engine.loop import Loop
from teen.engine.plan import Plan
from teen.settings import stacked

LANES, CAPACITY, STEPS = 10, 1_000_000, 60


def measure() -> dict[str, object]:
    before = peak()
    algo, cfg = algos.find("teen"), algos.default_config("teen")
    plan = Plan(
        steps=CAPACITY, warmup=20, batch=loops.BATCH, utd=1, buffer=CAPACITY, log_every=20, eval_every=40,
        eval_episodes=10, members_every=loops.NEVER, sync=10, replay="device", checkpoint_every=0,
    )  # fmt: skip
    config, seeds = stacked([cfg] * LANES), range(LANES)
    copies = copies_needed(algo, cfg, LANES, 10) // LANES
    training = envs.CompiledEnvs("HalfCheetah-v4", LANES)
    evaluation = envs.CompiledEnvs("HalfCheetah-v4", LANES, copies, threads=threads_of_a_lane(LANES))
    watch = loops.Stopwatch()
    end = Loop(algo, plan, seeds, config, training, evaluation, watch, lambda: STEPS in watch.times).run()
    replay = end.train.buffer.size * 4
    parameters = sum(leaf.size * leaf.dtype.itemsize for leaf in jax.tree.leaves(end.train.state))
    used = peak() - before
    print(
        f"  {used / 1e9:.2f} GB for {replay / 1e9:.2f} of replay and {parameters / 1e9:.2f} of parameters", flush=True
    )
    gb = {"used": used / 1e9, "replay": replay / 1e9, "parameters": parameters / 1e9}
    return {"values": {"memory": used / (replay + parameters)}, "gb": gb}


def peak() -> int:
    stats = jax.devices()[0].memory_stats()
    return stats["peak_bytes_in_use"] if stats else 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


if __name__ == "__main__":
    row.main(__file__, measure)
