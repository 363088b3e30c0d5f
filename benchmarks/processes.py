"""Time seeds of TD3 in processes of their own, one on each core, over the same number and more in one program."""

import os
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

ENV, STEPS = "HalfCheetah-v5", 3_000


def alone(core: int | None) -> float:
    """Return the steps per second of one lane, in a process that stays on this core, or that the system may move."""
    if core is not None:
        os.sched_setaffinity(0, {core})  # before JAX counts the cores
    from benchmarks import loops

    return 1 / loops.ours("td3", ENV, 1, STEPS)


def side_by_side(cores: list[int | None]) -> float:
    """Return the steps per second of all lanes together, one in each process."""
    with ProcessPoolExecutor(len(cores), get_context("spawn")) as processes:
        return sum(processes.map(alone, cores))


def together(lanes: int) -> float:
    """Return the steps per second of all lanes together, in one program."""
    from benchmarks import loops

    return lanes / loops.ours("td3", ENV, lanes, STEPS // lanes)


def measure() -> dict[str, object]:
    cores = sorted(os.sched_getaffinity(0))
    program = {lanes: together(lanes) for lanes in (1, len(cores), 5, 10)}
    pinned, free = side_by_side([*cores]), side_by_side([None] * len(cores))
    best = max(program.values())
    return {
        "values": {"processes": pinned / best, "processes.free": free / best},
        "lane_steps_per_second": {"one program, lanes": program, "a process on each core": pinned, "not pinned": free},
    }


if __name__ == "__main__":
    from benchmarks import row

    row.main(__file__, measure)
