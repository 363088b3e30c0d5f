"""Lanes of a job and jobs of a GPU, by sizes that are counted by hand."""

import subprocess
import sys

import pytest

from teen.config.job import resolve
from teen.errors import UserError
from teen.jobs import packing
from teen.jobs.packing import ANYWHERE, GIB, ON_CPU, ON_GPU
from teen.jobs.planned import PlannedJob, Resources
from teen.spec import Spec

CHEETAH, HUMANOID = Spec(17, 6), Spec(376, 17)


def job(algo="td3", **changes):
    return resolve({"env": "HalfCheetah-v4", "algo": algo, **changes})


def row(spec):
    """Bytes of a transition: both observations, the action, reward, terminated, ended."""
    obs, action = spec
    return 4 * (2 * obs + action + 3)


def test_the_estimate_is_near_what_was_measured():
    """Ten lanes of TEEN on HalfCheetah took 2.42 GB on an H200, and 3.13 GB of a host without a GPU."""
    ten = job("teen", seeds=10)
    assert packing.learner_bytes(ten, CHEETAH) == pytest.approx(2.42e9, rel=0.05)
    assert packing.resources(ten, CHEETAH).memory == pytest.approx(3.13e9, rel=0.05)


def test_replay_counts_for_every_lane_and_as_long_as_the_run_is():
    one = packing.learner_bytes(job(), CHEETAH)
    assert packing.learner_bytes(job(seeds=3, lr=[0.1, 0.2]), CHEETAH) == 6 * one
    short = packing.learner_bytes(job(steps=500_000), CHEETAH)
    assert one - short == 500_000 * row(CHEETAH)


@pytest.mark.parametrize(
    ("algo", "changes", "spec", "most", "lanes"),
    [
        ("td3", {}, CHEETAH, ON_GPU, 40),
        ("td3", {}, CHEETAH, ON_CPU, 10),
        ("td3", {}, CHEETAH, ANYWHERE, 10),
        ("teen", {}, CHEETAH, ON_GPU, 40),  # 400 agents
        ("teen", {"n": 20}, CHEETAH, ON_GPU, 20),
        ("teen", {}, CHEETAH, ON_CPU, 1),
        ("teen", {}, CHEETAH, ANYWHERE, 10),
        ("teen", {"n": 500}, CHEETAH, ON_GPU, 1),  # more agents than are good: one lane there must be
        ("td3", {}, HUMANOID, ON_GPU, 5),  # 3.09 GB a lane, and 16 GiB are 17.2 GB
        ("td3", {}, HUMANOID, ANYWHERE, 1),
        ("td3", {"buffer": 100_000}, HUMANOID, ON_GPU, 40),
    ],
)
def test_lanes_of_a_job(algo, changes, spec, most, lanes):
    assert packing.lanes_per_job(job(algo, **changes), spec, most) == lanes
    assert packing.lanes_per_job(job(algo, **changes, seeds=7), spec, most) == lanes


@pytest.mark.parametrize(
    ("algo", "seeds", "spec", "memory", "jobs"),
    [
        ("td3", 10, CHEETAH, 80, 8),  # as many as were measured
        ("teen", 10, CHEETAH, 80, 4),  # 100 of 400 agents each
        ("teen", 10, CHEETAH, 8, 3),  # 2.5 GB each, of 90 % of 8 GiB
        ("teen", 40, CHEETAH, 80, 1),
        ("td3", 10, HUMANOID, 24, 1),  # its replay goes to the host
    ],
)
def test_jobs_of_a_gpu(algo, seeds, spec, memory, jobs):
    assert packing.jobs_per_gpu(job(algo, seeds=seeds), spec, memory * GIB) == jobs


def test_a_job_with_a_gpu_needs_less_of_the_host():
    ten = job("teen", seeds=10)
    assert packing.resources(ten, CHEETAH, 3.5, 0.25) == Resources(3.5, 0.25, packing.BESIDE)
    assert packing.resources(job(replay="host"), CHEETAH, gpus=1).memory > packing.BESIDE + 10**6 * row(CHEETAH)
    assert packing.resources(ten, CHEETAH)[:2] == (2.0, 0.0)


@pytest.mark.parametrize(
    ("gpus", "variables"),
    [
        (0, {"JAX_PLATFORMS": "cpu"}),
        (0.25, {"XLA_CLIENT_MEM_FRACTION": "0.225"}),
        (1, {}),
        (2, {}),
    ],
)
def test_a_share_of_a_gpu_is_a_share_of_its_memory(gpus, variables):
    assert packing.environment(Resources(gpus=gpus)) == variables


def test_of_jobs_that_take_the_same_for_each_lane_the_one_with_most_lanes_counts():
    jobs = [
        PlannedJob(str(number), {"width": width, "lr": lr, "seeds": seeds})
        for number, (width, lr, seeds) in enumerate(
            [(8, 0.1, [0]), (8, 0.2, [1, 2]), (8, [0.1, 0.2], [0]), (9, 1.0, [0])]
        )
    ]
    assert [one.name for one in packing.largest(jobs)] == ["1", "3"]


def test_no_device_is_started_and_the_environment_is_known_before_jax():
    """A launcher that started a GPU would take most of its memory from the jobs."""
    code = """
import sys
from teen.jobs.packing import environment
assert "jax" not in sys.modules
from teen.cli.sweep import for_all, planned
from teen.jobs.sweep_file import parse
jobs = planned(parse(b"[settings]\\nenv = 'Pendulum-v1'\\n[grid]\\nwidth = [8, 16]"), None, ())
assert [job.lanes for job in jobs] == [1, 1] and for_all(jobs, None, None).memory
from jax._src import xla_bridge
assert not xla_bridge.backends_are_initialized()
"""
    subprocess.run([sys.executable, "-c", code], check=True, timeout=300)


def test_without_a_gpu_its_memory_is_not_guessed(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(UserError, match="no GPU is found here"):
        packing.gpu_memory()
    (tmp_path / "nvidia-smi").write_text("#!/bin/sh\necho 81559\necho 40960\n")
    (tmp_path / "nvidia-smi").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/bin:/usr/bin")
    assert packing.gpu_memory() == 40 * GIB
