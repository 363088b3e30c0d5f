"""Estimates are measured once for each kind of program on each machine."""

import json

import pytest

from teen.errors import UserError
from teen.paper import estimate
from teen.paper.runs import planned_runs

from .synthetic import TOY, needs, write


@pytest.fixture
def measured(monkeypatch):
    """The kinds of programs that were measured; each is said to take 2 ms a step."""
    kinds = []

    def measure(planned):
        kinds.append(estimate.kind(planned))
        return 0.002

    monkeypatch.setattr(estimate, "measure", measure)
    return kinds


def reward_scale(out):
    return planned_runs(needs("reward-scale"), out)


def test_a_real_measurement_is_positive_and_kept(tmp_path, monkeypatch):
    monkeypatch.setattr(estimate, "ENOUGH_SECONDS", 0.05)
    todo = planned_runs([TOY], tmp_path)
    speeds = estimate.speeds(todo, tmp_path)
    assert list(speeds) == ["td3 tests.toys:PointMass-v0 smoke 2 lanes"]
    assert 0 < estimate.seconds_left(todo, speeds) < 300
    kept = json.loads((tmp_path / "speed.json").read_text())
    assert kept == {estimate.machine(): speeds}
    monkeypatch.setattr(estimate, "measure", lambda planned: pytest.fail("measured twice"))
    assert estimate.speeds(todo, tmp_path) == speeds


def test_programs_that_take_equally_long_are_measured_once(tmp_path, measured):
    todo = reward_scale(tmp_path)
    speeds = estimate.speeds(todo, tmp_path)
    assert measured == ["teen HalfCheetah-v4 10 lanes", "teen Ant-v4 10 lanes"]
    assert estimate.seconds_left(todo, speeds) == pytest.approx(8 * 1_000_000 * 0.002)


def test_what_is_done_takes_no_time_and_is_not_measured(tmp_path, measured):
    first, *others = reward_scale(tmp_path)
    for planned in others:
        write(planned, 1.0)
    write(first, 1.0, until=300_000, checkpoint=250_000)
    todo = reward_scale(tmp_path)
    assert estimate.seconds_left(todo, estimate.speeds(todo, tmp_path)) == pytest.approx(750_000 * 0.002)
    assert measured == ["teen HalfCheetah-v4 10 lanes"]


def test_another_machine_is_measured_anew(tmp_path, measured, monkeypatch):
    todo = planned_runs([TOY], tmp_path)
    estimate.speeds(todo, tmp_path)
    monkeypatch.setattr(estimate, "machine", lambda: "an abacus")
    estimate.speeds(todo, tmp_path)
    assert len(measured) == 2
    assert len(json.loads((tmp_path / "speed.json").read_text())) == 2


@pytest.mark.parametrize("damage", ["", "[]", '{"an abacus": 3}', "{"])
def test_a_damaged_cache_is_measured_again(tmp_path, measured, damage):
    (tmp_path / "speed.json").write_text(damage)
    estimate.speeds(planned_runs([TOY], tmp_path), tmp_path)
    assert len(measured) == 1


def test_what_cannot_train_here_has_no_estimate(tmp_path, monkeypatch, capsys):
    def measure(planned):
        raise UserError("dm_control is not installed")

    monkeypatch.setattr(estimate, "measure", measure)
    todo = planned_runs([TOY], tmp_path)
    assert estimate.speeds(todo, tmp_path) == {}
    assert estimate.seconds_left(todo, {}) == 0
    assert "dm_control is not installed" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        *[(0.2, "1 s"), (59, "59 s"), (600, "10 min"), (7_140, "120 min"), (9_000, "2.5 h"), (864_000, "10 days")],
        (25_142_400, "290 days"),
    ],
)
def test_estimates_have_few_digits(seconds, words):
    assert estimate.words(seconds) == words
