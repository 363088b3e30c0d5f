"""How many lanes a job gets, and what a job gets of a machine, by measured speed and memory (docs/performance.md).

JAX is imported inside functions alone: a process may ask for its environment before it imports JAX. None of them starts
a device.
"""

import subprocess
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

from ..errors import UserError
from .planned import PlannedJob, Resources

if TYPE_CHECKING:
    from ..config.job import Job
    from ..spec import Spec

GIB = 2**30


class Most(NamedTuple):
    """What lanes of a job come to at most, together."""

    agents: int  # lanes × members
    lanes: int
    bytes: int


# By the time that a step takes for each agent, in paper/speeds.toml. On an H200: 0.0493 ms with 10 agents, 0.0099 with
# 100, 0.0069 with 400, the most that were measured, as 40 lanes. On 2 cores more do not help: 2.36 ms with 5, 2.41 with
# 10, 2.9 with 20, 3.1 with 100. Where the machine is not known, ten lanes are good enough for both.
ON_GPU = Most(400, 40, 16 * GIB)
ON_CPU = Most(10, 10, 4 * GIB)
ANYWHERE = Most(100, 10, 4 * GIB)

# A run's memory is its replay, and about three times what `engine.memory.needed` counts, with what an update needs in
# between; beside it the host holds compiled programs and simulators. Ten lanes of TEEN on HalfCheetah: 2.50 GB and
# 3.10 GB by this, measured 2.42 GB on an H200 and 3.13 GB on 2 cores (memory.json there).
TIMES = 3
BESIDE = 600_000_000

CORES = 2.0  # of a job: nine programs kept an H200 with 16 cores busy for 99 % of the time
JOBS_ON_GPU = 8
TAKEN = 0.9  # of a job's share of a GPU's memory; the driver and other programs need some


def learner_bytes(job: "Job", spec: "Spec") -> int:
    """Return the bytes that all lanes of a job take on the learner's device, with their replay."""
    from ..settings import leaves, replace

    static = [(leaf.name, leaf.value) for leaf in leaves(job.variants[0].config) if not leaf.per_lane]
    shape = replace(job.settings, {"seeds": (0,)}), *static, spec
    if shape not in _lane_bytes:
        _lane_bytes[shape] = _bytes_of_lane(job, spec)
    return len(job.lane_seeds) * _lane_bytes[shape]


_lane_bytes: dict[tuple[Any, ...], int] = {}  # to find the shapes of all arrays takes some hundredths of a second


def _bytes_of_lane(job: "Job", spec: "Spec") -> int:
    from ..engine.memory import needed
    from ..engine.replay import Layout

    algo, config, plan = job.algorithm, job.variants[0].config, job.settings.plan
    layout = Layout(spec, algo.extras(config))
    return layout.bytes(1, plan.capacity) + TIMES * needed(algo, config, layout, 1, plan)


def agents(job: "Job") -> int:
    """Return lanes × members; a single policy is one member."""
    return len(job.lane_seeds) * max(job.algorithm.size(job.variants[0].config), 1)


def lanes_per_job(job: "Job", spec: "Spec", most: Most = ANYWHERE) -> int:
    """Return how many lanes a job is best made of, by one that has any number of them. It does not depend on the
    machine that asks: a sweep is found again from another one."""
    lanes = len(job.lane_seeds)
    by_speed, by_memory = most.agents * lanes // agents(job), most.bytes * lanes // learner_bytes(job, spec)
    return max(1, min(by_speed, by_memory, most.lanes))


def jobs_per_gpu(job: "Job", spec: "Spec", gpu_memory: int) -> int:
    """Return how many jobs like this one share a GPU of so many bytes well."""
    by_speed = ON_GPU.agents // agents(job)
    by_memory = int(TAKEN * gpu_memory) // learner_bytes(job, spec)
    return max(1, min(by_speed, by_memory, JOBS_ON_GPU))


def resources(job: "Job", spec: "Spec", cores: float | None = None, gpus: float | None = None) -> Resources:
    """Return what a job gets: so many cores, two by default, and GPUs, none by default; and the host's memory that it
    takes."""
    on_host = not gpus or job.settings.plan.replay == "host"
    return Resources(cores or CORES, gpus or 0.0, BESIDE + (learner_bytes(job, spec) if on_host else 0))


def largest(jobs: Iterable[PlannedJob]) -> list[PlannedJob]:
    """Return the jobs that take most, one of each kind. Numbers such as a learning rate make no difference."""
    kinds: dict[str, PlannedJob] = {}
    for job in jobs:
        kind = repr([(n, v) for n, v in job.settings.items() if isinstance(v, (str, int))])  # bool is an int
        if kind not in kinds or job.lanes > kinds[kind].lanes:
            kinds[kind] = job
    return list(kinds.values())


def environment(resources: Resources) -> dict[str, str]:
    """Return the variables with which JAX takes no more of a GPU than its job's share. They are to be set before JAX
    starts a device."""
    if resources.gpus >= 1:
        return {}
    if resources.gpus > 0:
        return {"XLA_CLIENT_MEM_FRACTION": f"{TAKEN * resources.gpus:.3f}"}
    return {"JAX_PLATFORMS": "cpu"}  # a GPU that is there all the same is for others


def gpu_memory() -> int:
    """Return the bytes of the smallest GPU here, as the driver has it: JAX would take most of it by asking."""
    command = ["nvidia-smi", "--query-gpu=memory.total", "--format=csv,noheader,nounits"]
    try:
        told = subprocess.run(command, capture_output=True, text=True, timeout=30, check=True).stdout
        return min(int(line) for line in told.split()) * 2**20
    except (OSError, ValueError, subprocess.SubprocessError):
        raise UserError("no GPU is found here (nvidia-smi), whose memory --gpus auto goes by: give a number") from None
