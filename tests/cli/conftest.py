"""A small trained run that the tests of several commands look at."""

import pytest

from teen.cli import main as cli

ENV = "tests.toys:PointMass-v0"
SMALL = "--n 3 --width 8 --batch 16 --steps 60 --warmup 20 --eval-every 30 --eval-episodes 2 --log-every 20"
TRAIN = ["train", "--env", ENV, "--seeds", "2", *SMALL.split()]


@pytest.fixture(scope="session")
def trained(tmp_path_factory):
    out = tmp_path_factory.mktemp("runs") / "one"
    assert cli.main([*TRAIN, "--out", str(out)]) == 0
    return out
