"""What callbacks are told, and when; runs that they end."""

import csv
import signal

import numpy as np
import pytest

import teen
from teen.engine import evaluate
from teen.errors import UserError
from teen.training.callbacks import Event
from teen.training.recorder import Recorder
from tests.training.survival import TRAIN, assert_same_end, stopped_by, stopped_in_an_evaluation

SMALL = {
    "env": "tests.toys:PointMass-v0", "seeds": 2, "steps": 200, "warmup": 20, "eval_every": 50, "eval_episodes": 2,
    "log_every": 40, "width": 8, "batch": 16, "show": False,
}  # fmt: skip


class Told:
    """Notes events and the step at which they are told."""

    def __init__(self, monkeypatch, end=lambda event: None):
        self.events, self.at, self.step, self.end = [], [], 0, end
        stepped, settled = Recorder.stepped, Recorder.settled

        def stepping(recorder, step):
            self.step = step
            stepped(recorder, step)

        def settling(recorder, step):
            self.step = step
            settled(recorder, step)

        monkeypatch.setattr(Recorder, "stepped", stepping)
        monkeypatch.setattr(Recorder, "settled", settling)

    def __call__(self, event):
        self.events.append(event)
        self.at.append(self.step)
        return self.end(event)

    def evaluations(self):
        return [(event.step, at) for event, at in zip(self.events, self.at, strict=True) if event.kind == "evaluation"]


def rows(path):
    with path.open() as file:
        return list(csv.DictReader(file))


def test_every_row_is_told_and_an_evaluation_at_the_step_of_the_next(tmp_path, monkeypatch):
    told = Told(monkeypatch)
    outcome = teen.train("td3", out=tmp_path / "run", gamma=[0.9, 0.95], callback=told, **SMALL)
    assert told.evaluations() == [(50, 100), (100, 150), (150, 200), (200, 201)]
    for kind, name in (("evaluation", "eval.csv"), ("log", "train.csv")):
        said = [row for event in told.events if event.kind == kind for row in event.rows]
        for folder in outcome.folders:
            mine = [row for row in said if row["variant"] == folder.name]
            written = rows(folder / name)
            assert len(mine) == len(written) > 0
            for one, other in zip(mine, written, strict=True):
                assert {key: str(value) for key, value in one.items() if key in ("seed", "step")} == {
                    "seed": other["seed"],
                    "step": other["step"],
                }
                number = "return" if kind == "evaluation" else "critic_loss"
                np.testing.assert_allclose(float(one[number]), float(other[number]), rtol=1e-5)


def test_a_callback_ends_training_where_it_is_told(tmp_path, monkeypatch):
    told = Told(monkeypatch, lambda event: not (event.kind == "evaluation" and event.step == 100))
    outcome = teen.train("td3", out=tmp_path / "run", callback=[told, lambda event: None], **SMALL)
    assert (outcome.step, outcome.stopped_by) == (150, None)
    assert told.evaluations() == [(50, 100), (100, 150), (150, 151)]  # what is under way is waited for
    assert {row["step"] for row in rows(tmp_path / "run" / "eval.csv")} == {"50", "100", "150"}


def test_a_callback_may_answer_with_numpys_false_and_hears_nothing_twice(tmp_path, monkeypatch):
    """It ends at a step that has a checkpoint."""
    first, again = Told(monkeypatch, lambda event: np.bool_(event.kind == "log")), Told(monkeypatch)
    model = teen.TD3(**{k: v for k, v in SMALL.items() if k != "steps"}, checkpoint_every=50, out=tmp_path / "run")
    assert model.learn(200, callback=first).agent.step == 100
    model.learn(60, callback=again)  # less than it was planned for
    assert model.agent.step == 160
    assert [step for step, _ in first.evaluations() + again.evaluations()] == [50, 100, 150, 160]


def test_a_callback_may_train(tmp_path):
    inner = []

    def train(event):
        if not inner:
            inner.append(teen.train("td3", out=tmp_path / "inner", **{**SMALL, "steps": 50}))

    assert teen.train("td3", out=tmp_path / "run", callback=train, **SMALL).step == 200
    assert inner[0].step == 50


def test_a_stop_changes_neither_what_is_told_nor_when(tmp_path, monkeypatch):
    """SIGTERM comes while the evaluation of step 100 is awaited, at step 200; it is told after the resume, before the
    next step."""
    whole = Told(monkeypatch)
    settings = dict(zip((flag[2:].replace("-", "_") for flag in TRAIN[1::2]), TRAIN[2::2], strict=True))
    teen.train(out=tmp_path / "whole", show=False, callback=whole, **settings)
    first = Told(monkeypatch)
    with stopped_in_an_evaluation(1):
        teen.train(out=tmp_path / "run", show=False, callback=first, **settings)
    again = Told(monkeypatch)
    outcome = teen.resume(tmp_path / "run", show=False, callback=again)
    assert outcome.step == 310
    assert first.evaluations() + again.evaluations() == whole.evaluations()
    assert_same_end(tmp_path / "run", tmp_path / "whole")


def test_evaluations_that_were_logged_but_not_told_are_told_after_a_resume(tmp_path, monkeypatch):
    first, again = Told(monkeypatch), Told(monkeypatch)
    waited = evaluate.rollout
    settings = dict(zip((flag[2:].replace("-", "_") for flag in TRAIN[1::2]), TRAIN[2::2], strict=True))
    with stopped_by(signal.SIGTERM, Recorder, "evaluated", 1):  # it is logged as soon as it is finished
        teen.train(out=tmp_path / "run", show=False, callback=first, **settings)
    assert evaluate.rollout is waited
    assert first.evaluations() == []
    teen.resume(tmp_path / "run", show=False, callback=again)
    assert [step for step, _ in again.evaluations()] == [100, 200, 300, 310]
    assert [at for _, at in again.evaluations()] == [200, 300, 310, 311]


def test_the_shipped_callback_ends_at_a_target():
    def event(**scores):
        rows = [
            {"variant": name, "seed": seed, "step": 5, "policy": policy, "return": score}
            for name, seeds in scores.items()
            for seed, parts in enumerate(seeds)
            for policy, score in (*(("mean", part) for part in parts), ("0", 1e9))
        ]
        return Event("evaluation", 5, rows)

    goes_on = teen.stop_at_return(10)
    assert goes_on(event(a=[(9, 10), (10, 10)]))  # 9.5 and 10: 9.75
    assert not goes_on(event(a=[(9, 10), (10, 11)]))  # 9.5 and 10.5: 10
    assert goes_on(event(a=[(12,)], b=[(9,)]))  # every variant
    assert goes_on(event())  # all lanes are in quarantine
    assert goes_on(Event("log", 5, [{"variant": "", "seed": 0, "step": 5, "q": 99.0}]))
    assert event(a=[(9, 10), (3,)]).returns() == {("a", 0): 9.5, ("a", 1): 3.0}


def test_what_is_no_callback_is_said_before_anything_is_made(tmp_path):
    with pytest.raises(UserError, match="a callback is a function of an event, and not 3"):
        teen.train("td3", out=tmp_path / "run", callback=[3], **SMALL)
    assert not (tmp_path / "run").exists()
