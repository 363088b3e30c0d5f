"""Diagnostics of the trained agents: recorded, measured anew, or missing."""

import gzip

import pytest

from teen.errors import UserError
from teen.paper import ablations
from teen.training.analyze import Measured

from .synthetic import FEW, rendered, trained

RECORDED = "seed,step,quantity,value\n0,900000,entropy_all,9\n0,1000000,entropy_all,1\n3,1000000,entropy_all,2\n"
CARD = '{"format": 3, "run": {}, "config": {}, "step": %d}'


@pytest.fixture
def hopper(tmp_path):
    """The folder of the run with α=0.5 on Hopper, which is all that is trained of an ablation."""
    trained(tmp_path, "ablation-alpha", keep=lambda planned: planned.program.env == "Hopper-v4")
    return next(tmp_path.glob("runs/*/alpha=0.5"))


def agents(out, scale=FEW):
    """Return the line of that run in the table of agents."""
    page, _ = rendered(out, "ablation-alpha", scale)
    table = page.partition("## The trained agents")[2]
    return next(line for line in table.splitlines() if line.startswith("| Hopper-v4 | α=0.5 |"))


@pytest.mark.parametrize("pack", [None, gzip.compress])
@pytest.mark.parametrize("saved", [False, True])
def test_recorded_diagnostics_are_not_measured_again(tmp_path, hopper, monkeypatch, pack, saved):
    monkeypatch.setattr(ablations, "analyze", lambda *_: pytest.fail("measured again"))
    content = RECORDED.encode()
    (hopper / f"diagnostics.csv{'.gz' if pack else ''}").write_bytes(pack(content) if pack else content)
    if saved:
        (hopper / "agent").mkdir()
        (hopper / "agent" / "agent.json").write_text(CARD % 1000000)
    assert agents(tmp_path) == "| Hopper-v4 | α=0.5 | 1,000,000 | 1.5 ± 0.71 | – | – | – |"  # √½ of 1 and 2


def test_of_earlier_steps_alone_nothing_is_shown(tmp_path, hopper):
    (hopper / "diagnostics.csv").write_text(RECORDED.replace("1000000", "800000"))
    assert agents(tmp_path) == "| Hopper-v4 | α=0.5 | – | – | – | – | – |"


def test_a_saved_agent_is_measured_and_shows_the_step_that_was_measured(tmp_path, hopper, monkeypatch):
    """A checkpoint may come between asking for its step and measuring."""
    (hopper / "agent").mkdir()
    (hopper / "agent" / "agent.json").write_text(CARD % 700000)
    measured = Measured(725_000, [(seed, "kl_members", 0.5) for seed in (2, 3, 4)])
    monkeypatch.setattr(ablations, "analyze", lambda *_: measured)
    assert agents(tmp_path) == "| Hopper-v4 | α=0.5 | 725,000 | – | 0.5 ± 0 | – | – |"
    (hopper / "diagnostics.csv").write_text(RECORDED.replace("1000000", "700000"))
    assert agents(tmp_path).startswith("| Hopper-v4 | α=0.5 | 700,000 | 1.5 ± 0.71 |")


def test_an_agent_that_has_trained_longer_than_asked_for_is_not_shown(tmp_path, hopper):
    (hopper / "agent").mkdir()
    (hopper / "agent" / "agent.json").write_text(CARD % 1000000)
    (hopper / "diagnostics.csv").write_text(RECORDED)
    assert agents(tmp_path, FEW._replace(steps=800_000)) == "| Hopper-v4 | α=0.5 | – | – | – | – | – |"
    assert agents(tmp_path, FEW._replace(steps=900_000)).startswith("| Hopper-v4 | α=0.5 | 900,000 | 9 ± – |")


@pytest.mark.parametrize("damage", ["a,b\n1,2\n", f"{RECORDED}0,x,a,1\n", f"{RECORDED}0\n"])
def test_damaged_diagnostics_are_named(tmp_path, hopper, damage):
    (hopper / "diagnostics.csv").write_text(damage)
    with pytest.raises(UserError, match=r"alpha=0\.5/diagnostics\.csv is damaged"):
        agents(tmp_path)
    (hopper / "diagnostics.csv").unlink()
    (hopper / "diagnostics.csv.gz").write_text(damage)
    with pytest.raises(UserError, match=r"alpha=0\.5/diagnostics\.csv\.gz cannot be read"):
        agents(tmp_path)
