"""Variants of which nobody wants to hear any more: what they still write, what others notice, what a resume knows."""

import csv

import numpy as np
import pytest

import teen
from teen.snapshot import Snapshot
from teen.training.callbacks import Silence
from teen.training.recorder import _silenced_in
from tests.training.survival import newest, same, stopped_in_an_evaluation

SMALL = {
    "env": "tests.toys:PointMass-v0", "seeds": 2, "steps": 310, "warmup": 50, "eval_every": 100, "eval_episodes": 1,
    "log_every": 50, "width": 8, "batch": 16, "buffer": 200, "checkpoint_every": 30, "gamma": [0.9, 0.95],
    "show": False,
}  # fmt: skip
LOGS = "eval.csv", "train.csv", "agent/weights.safetensors", "agent-best/weights.safetensors"


def silencing(*names, step=100):
    """Answer the evaluation of a step, which is told at the next one."""

    def answer(event):
        return Silence(frozenset(names)) if (event.kind, event.step) == ("evaluation", step) else None

    return answer


def steps(path):
    with path.open() as file:
        return sorted({int(row["step"]) for row in csv.DictReader(file)})


@pytest.fixture(scope="module")
def heard(tmp_path_factory):
    out = tmp_path_factory.mktemp("heard") / "run"
    teen.train("td3", out=out, **SMALL)
    return out


@pytest.fixture(scope="module")
def silenced(tmp_path_factory):
    """Return a run in which one of two variants is silent from step 200 on."""
    out = tmp_path_factory.mktemp("silenced") / "run"
    outcome = teen.train("td3", out=out, callback=silencing("gamma=0.9"), **SMALL)
    assert [rows[0].step for rows in outcome.episodes] == [100, 310]  # the last that was heard
    return out


def test_a_silent_variant_is_no_longer_evaluated_or_logged(silenced):
    assert steps(silenced / "gamma=0.9" / "eval.csv") == [100]
    assert steps(silenced / "gamma=0.9" / "train.csv") == [100, 150, 200]
    assert steps(silenced / "gamma=0.95" / "eval.csv") == [100, 200, 300, 310]


def test_others_do_not_notice(silenced, heard):
    for name in LOGS:
        assert (silenced / "gamma=0.95" / name).read_bytes() == (heard / "gamma=0.95" / name).read_bytes()
    agent = "agent/weights.safetensors"  # it is trained on all the same
    assert (silenced / "gamma=0.9" / agent).read_bytes() == (heard / "gamma=0.9" / agent).read_bytes()


@pytest.mark.parametrize("evaluation", [1, 2])
def test_a_stop_changes_nothing(tmp_path, silenced, evaluation):
    """The stop comes before the evaluation is told that silences a variant, or after it."""
    out = tmp_path / "run"
    with stopped_in_an_evaluation(evaluation):
        outcome = teen.train("td3", out=out, callback=silencing("gamma=0.9"), **SMALL)
    assert outcome.stopped_by
    teen.resume(out, show=False, callback=silencing("gamma=0.9"))
    for variant in ("gamma=0.9", "gamma=0.95"):
        for name in LOGS:
            assert (out / variant / name).read_bytes() == (silenced / variant / name).read_bytes(), (variant, name)
    assert same(newest(out), newest(silenced))


def test_training_is_over_when_all_are_silent(tmp_path):
    out = tmp_path / "run"
    outcome = teen.train("td3", out=out, callback=silencing("gamma=0.9", "gamma=0.95"), **SMALL)
    assert (outcome.step, outcome.stopped_by) == (200, None)
    told = []
    assert teen.resume(out, show=False, callback=told.append).step == 200  # all of them are still silent
    assert told == []
    assert steps(out / "gamma=0.95" / "eval.csv") == [100]


def test_what_a_checkpoint_says_of_silence_is_checked():
    assert _silenced_in(Snapshot({}, {}), range(4)) == {}
    assert _silenced_in(Snapshot({}, {"silenced": [[0, 100], [3, 200]]}), range(4)) == {0: 100, 3: 200}
    with pytest.raises(ValueError, match=r"there are no lanes \[4\]"):
        _silenced_in(Snapshot({}, {"silenced": [[4, 100]]}), range(4))
    with pytest.raises((ValueError, TypeError)):
        _silenced_in(Snapshot({}, {"silenced": [[np.nan, "x"]]}), range(4))
