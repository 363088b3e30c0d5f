"""An environment that fails ends the run with an error that names it, and the logs are kept."""

import csv

import numpy as np
import pytest

import teen
from teen import envs
from teen.cli import main as cli
from teen.disk import checkpoint
from teen.errors import EnvironmentFault
from tests.toys import FAULTS

SMALL = (
    "--n 2 --m 1 --width 8 --batch 16 --steps 60 --warmup 10 --eval-every 20 --eval-episodes 1 --log-every 10 "
    "--checkpoint-every 20"
)
REASONS = {
    "raises": "step raised RuntimeError: the robot fell over",
    "hangs": "did not return within 2 s",
    "spins": "did not return within 2 s",
    "nan-reward": "a reward that is not finite",
    "nan-obs": "an observation that is not finite",
    "wrong-shape": "3 observation numbers, not the 1 promised",
}


@pytest.mark.parametrize("how", FAULTS)
def test_a_fault_names_environment_lane_seed_and_step(how, tmp_path, capsys):
    """The copy of seed 3, lane 1, fails at its 25th step."""
    out = tmp_path / "run"
    env = f"tests.toys:Faulty-{how}-v0"
    # evaluation copies may get odd seeds too, but an evaluation episode ends after 10 steps, before the 25th
    arguments = ["train", "--env", env, "--seeds", "2,3", *SMALL.split(), "--env-timeout", "2", "--out", str(out)]
    assert cli.main(arguments) == 3
    error = capsys.readouterr().err.splitlines()[-1]
    assert env in error
    assert "lane 1, seed 3, step 25" in error
    assert REASONS[how] in error
    assert "the agent after 20 steps is saved" in error
    assert f"the checkpoint of step 20 is whole: teen train --resume {out} goes on from it" in error
    assert checkpoint.newest(out / "checkpoint").step == 20
    with (out / "eval.csv").open() as file:
        assert {row["step"] for row in csv.DictReader(file)} == {"20"}
    assert (out / "train.csv").exists()
    agent = teen.load(out)
    assert agent.step == 20
    assert all(np.isfinite(leaf).all() for leaf in agent.weights.members.actor[0])


def test_a_nan_never_reaches_the_replay():
    lanes = envs.Lanes(envs.make("tests.toys:Faulty-nan-obs-v0", 2), [2, 3])
    for _ in range(24):
        assert np.isfinite(lanes.step(np.zeros((2, 1))).next_obs).all()
    with pytest.raises(EnvironmentFault, match="step 25: step returned an observation that is not finite"):
        lanes.step(np.zeros((2, 1)))
