"""The paper's programs as jobs of a cluster: the same folders, and the same end."""

import pytest

from teen.cli.main import main
from teen.jobs import on_ray
from teen.jobs.carry_out import carry_out
from teen.paper import runs
from teen.paper.on_cluster import CORES, trainer

from .synthetic import TOY


@pytest.fixture
def ray(monkeypatch):
    """Carry out here what would be sent to a cluster, and return what was asked for."""
    asked = []

    def run(jobs, place, told, resources, retries, address, begin):
        begin()
        asked.append((jobs, resources, address))
        for job in jobs:
            told(carry_out(job, place))

    monkeypatch.setattr(on_ray, "run", run)
    return asked


@pytest.mark.full
def test_programs_train_in_the_same_folders_to_the_same_end(ray, tmp_path):
    assert runs.train([TOY], tmp_path / "here") == (None, [])
    assert trainer("head:6379", None, 0.5)([TOY], tmp_path / "there", "teen paper") == (None, [])
    ((jobs, resources, address),) = ray
    assert [job.name for job in jobs] == [f"runs/{p.folder.name}" for p in runs.planned_runs([TOY], tmp_path)]
    assert (resources.cores, resources.gpus, address) == (CORES, 0.5, "head:6379")
    logs = [(tmp_path / where / jobs[0].name / "eval.csv").read_bytes() for where in ("here", "there")]
    assert logs[0] == logs[1]
    assert [p.state for p in runs.planned_runs([TOY], tmp_path / "there")] == ["done"]
    assert trainer(None, None, None)([TOY], tmp_path / "there", "teen paper") == (None, [])
    assert len(ray) == 1  # nothing is left to send


def test_a_program_that_fails_is_returned_with_its_error(ray, tmp_path, capsys):
    faulty = TOY._replace(env="tests.toys:Faulty-raises-v1")
    signal, (failure,) = trainer(None, None, None)([faulty, TOY], tmp_path, "teen paper")
    assert signal is None
    assert failure.planned.program.env == faulty.env
    assert "the robot fell over" in str(failure.error)
    assert capsys.readouterr().err.count("the robot fell over") == 1
    states = {p.program.env: p.state for p in runs.planned_runs([faulty, TOY], tmp_path)}
    assert states[TOY.env] == "done" != states[faulty.env]


@pytest.mark.parametrize(
    ("flags", "line"),
    [
        (["--run", "--address", "x:1"], "--address is for a Ray cluster: say --on ray, too"),
        (["--on", "ray"], "--on ray is for training: say --run, too"),
        (["--run", "--on", "ray", "--gpus", "2"], "--gpus must be from 0 to 1, not 2"),
        (["--run", "--on", "ray", "--cores", "0"], "--cores must be above 0, not 0"),
    ],
)
def test_flags_that_make_no_sense_are_one_line(flags, line, tmp_path, capsys):
    assert main(["paper", "table1", "--out", str(tmp_path), *flags]) == 2
    assert line in capsys.readouterr().err
