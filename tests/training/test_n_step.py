"""Runs with `--n-step`: every algorithm, host and device, resumed and not, and runs that are older than the setting."""

import filecmp
import json
import sys
from dataclasses import dataclass
from types import ModuleType

import numpy as np
import pytest

import teen
from teen import UserError, algos
from teen.config.job import resolve
from teen.disk import checkpoint
from teen.settings import config, setting
from teen.training import run as training
from tests.disk.test_forgery import Forged
from tests.training.test_resume import SETTINGS, assert_same_end

TOY = "tests.toys:PointMass-v0"  # a time limit of 40 steps: five ends in a run
SMALL = {
    "width": 8, "batch": 16, "warmup": 50, "buffer": 150, "eval_every": 100, "eval_episodes": 1, "members_every": 100,
    "log_every": 50, "checkpoint_every": 100, "show": False, "seeds": 2, "steps": 200,
}  # fmt: skip
LOGS = "eval.csv", "train.csv", "agent/weights.safetensors"


def same(one, other):
    return [filecmp.cmp(one / name, other / name, shallow=False) for name in LOGS]


OFTEN = ("teen",)  # the others take as long again


@pytest.mark.parametrize("algo", [n if n in OFTEN else pytest.param(n, marks=pytest.mark.full) for n in algos.NAMES])
def test_three_steps_learn_something_else_and_go_on_after_a_resume(algo, tmp_path):
    settings = {**SMALL, **SETTINGS.get(algo, {}), "n_step": 3}
    teen.train(algo, TOY, out=tmp_path / "whole", **settings)
    teen.train(algo, TOY, out=tmp_path / "cut", **{**settings, "steps": 100})
    training.resume(tmp_path / "cut", steps=200, show=False)
    assert_same_end(tmp_path / "whole", tmp_path / "cut")
    assert "n_step = 3\n" in (tmp_path / "cut" / "config.toml").read_text()
    if algo == "td3":
        teen.train(algo, TOY, out=tmp_path / "host", **settings, replay="host")
        device, host = (
            np.loadtxt(tmp_path / name / "train.csv", delimiter=",", skiprows=1) for name in ("whole", "host")
        )
        np.testing.assert_allclose(host, device, rtol=1e-3, atol=1e-5)  # another program, which may round differently
        for name, steps in (("default", {}), ("one", {"n_step": 1})):
            teen.train(algo, TOY, out=tmp_path / name, **SMALL, **steps)
        assert all(same(tmp_path / "default", tmp_path / "one"))
        assert not all(same(tmp_path / "default", tmp_path / "whole"))


def test_a_run_that_is_older_than_the_setting_goes_on_with_one_step(tmp_path):
    """Neither its checkpoint nor its config.toml nor its agent names it; a checkpoint of three steps is not taken."""
    run = tmp_path / "run"
    teen.train("td3", TOY, out=run, **{**SMALL, "steps": 100})
    lines = (run / "config.toml").read_text().splitlines()
    (run / "config.toml").write_text("\n".join(line for line in lines if not line.startswith("n_step")))
    card = json.loads((run / "agent" / "agent.json").read_text())
    assert card["run"].pop("n_step") == 1
    (run / "agent" / "agent.json").write_text(json.dumps(card))
    forged = Forged(run)
    assert forged.content["facts"]["run"]["settings"].pop("n_step") == 1
    del forged.content["facts"]["engine"]["trainer"]["cuts"]
    forged.sign_content()
    assert teen.load(run).settings.plan.n_step == 1
    training.resume(run, steps=200, show=False)
    saved = checkpoint.newest(run / "checkpoint").snapshot.facts
    assert saved["run"]["settings"]["n_step"] == 1
    teen.train("td3", TOY, out=tmp_path / "whole", **SMALL)
    assert all(same(tmp_path / "whole", run))


@config
@dataclass(frozen=True)
class Undiscounted:
    width: int = setting(8, "units")


def test_an_algorithm_without_a_discount_has_one_step(monkeypatch):
    """Of one's own: nothing says what the later rewards are worth."""
    module = ModuleType("tests.undiscounted")
    module.ALGORITHM = algos.find("td3")._replace(Config=Undiscounted)
    monkeypatch.setitem(sys.modules, module.__name__, module)
    values = {"algo": module.__name__, "env": TOY}
    assert resolve(values).settings.plan.n_step == 1
    with pytest.raises(
        UserError, match=r"--n-step 3 needs a discount, and algorithm 'tests\.undiscounted' has no setting"
    ):
        resolve({**values, "n_step": 3})
    assert (
        resolve({"algo": "rnd", "base": "teen", "env": TOY, "n_step": 3}).settings.plan.n_step == 3
    )  # it lies deep inside


def test_another_number_of_steps_belongs_to_another_run(tmp_path):
    teen.train("td3", TOY, out=tmp_path / "run", **{**SMALL, "steps": 100})
    with pytest.raises(UserError, match="'n_step' cannot be changed"):
        training.resume(tmp_path / "run", n_step=3)
    config = tmp_path / "run" / "config.toml"
    config.write_text(config.read_text().replace("n_step = 1", "n_step = 3"))
    with pytest.raises(UserError, match="n_step is 1 in the one and 3 in the other"):
        training.resume(tmp_path / "run", steps=200, show=False)
