"""The best agent so far: kept beside the last one, in the checkpoint, and taken back with it."""

import csv
import json
import shutil
import signal

import jax
import numpy as np
import pytest
import safetensors.numpy

import teen
from teen.cli import main as cli
from teen.engine.best import Best
from teen.engine.evaluate import Episode
from teen.errors import UserError
from teen.training.recorder import Recorder
from tests.training.survival import TRAIN, assert_same_end, stopped_by, trained


def means(run):
    """Return the mean return of each seed's evaluations, from the file: {seed: {step: mean}}."""
    found: dict[int, dict[int, list[float]]] = {}
    with (run / "eval.csv").open() as file:
        for row in csv.DictReader(file):
            if row["policy"] == "mean":
                found.setdefault(int(row["seed"]), {}).setdefault(int(row["step"]), []).append(float(row["return"]))
    return {seed: {step: np.mean(scores) for step, scores in steps.items()} for seed, steps in found.items()}


def best_steps(run):
    return [max(steps, key=lambda step, steps=steps: (steps[step], -step)) for _, steps in sorted(means(run).items())]


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    return trained(tmp_path_factory.mktemp("best") / "run")


def test_each_seed_keeps_the_weights_of_its_best_evaluation(run, tmp_path):
    """Those are the last weights of runs that end at that step: training up to there is the same."""
    steps = best_steps(run)
    agent = teen.load(run, best=True)
    assert list(agent.steps) == steps
    card = json.loads((run / "agent-best" / "agent.json").read_text())
    assert card.get("steps", [310, 310]) == steps
    for lane, step in enumerate(steps):
        if step == 310:
            other = teen.load(run)
        else:
            cli.main([*TRAIN, "--steps", str(step), "--out", str(tmp_path / f"until-{step}-{lane}")])
            other = teen.load(tmp_path / f"until-{step}-{lane}")
        for one, expected in zip(*map(jax.tree.leaves, (agent.weights, other.weights)), strict=True):
            np.testing.assert_array_equal(one[lane], expected[lane])


def test_a_checkpoint_has_it_too(run, tmp_path):
    cut = shutil.copytree(run, tmp_path / "cut")
    shutil.rmtree(cut / "agent-best")
    shutil.rmtree(cut / "agent")
    one, other = teen.load(run, best=True), teen.load(cut, best=True)
    assert one.steps == other.steps
    jax.tree.map(np.testing.assert_array_equal, one.weights, other.weights)


def test_a_resumed_run_has_the_same_best(run, tmp_path):
    with stopped_by(signal.SIGTERM, Recorder, "stepped", 22):
        assert cli.main([*TRAIN, "--out", str(tmp_path / "run")]) == 143
    assert cli.main(["train", "--resume", str(tmp_path / "run")]) == 0
    assert_same_end(tmp_path / "run", run)
    for name in ("agent.json", "weights.safetensors"):
        assert (tmp_path / "run" / "agent-best" / name).read_bytes() == (run / "agent-best" / name).read_bytes()


def test_the_command_evaluates_it(run, capsys):
    assert cli.main(["eval", str(run), "--best", "--episodes", "2"]) == 0
    assert "at the best evaluations of 310 steps" in " ".join(capsys.readouterr().out.split())


def test_a_run_without_an_evaluation_has_none(tmp_path, capsys):
    with stopped_by(signal.SIGTERM, Recorder, "stepped", 3):
        assert cli.main([*TRAIN, "--out", str(tmp_path / "run")]) == 143
    capsys.readouterr()
    assert not (tmp_path / "run" / "agent-best").exists()
    assert cli.main(["eval", str(tmp_path / "run"), "--best"]) == 2
    assert "has no best agent yet" in capsys.readouterr().err


def test_forged_steps_are_refused(run, tmp_path):
    forged = shutil.copytree(run, tmp_path / "forged")
    card = forged / "agent-best" / "agent.json"
    told = json.loads(card.read_text())
    for steps, words in (
        ([1], "2 seeds and steps of 1"),
        ("x", "not a list"),
        ([1, -2], "damaged"),
        ([1, 2.5], "damaged"),
    ):
        card.write_text(json.dumps({**told, "steps": steps}))
        with pytest.raises(UserError, match=words):
            teen.load(forged, best=True)


def test_the_rule():
    """The first of equals stays; what is not better is not even copied."""
    best = Best()

    def offer(step, *scores):
        episodes = [[Episode(0, step, "mean", 0, score, 1), Episode(0, step, "1", 0, 99.0, 1)] for score in scores]
        weights = {"w": np.full((len(scores), 2), float(step))}
        found = best.better(step, weights, episodes)
        best.take(found)
        return sorted(found)

    assert offer(1, 5.0, 5.0) == [0, 1]
    assert offer(2, 5.0, 6.0) == [1]
    assert offer(3, -1.0, 5.9) == []
    assert [best.lanes[lane].step for lane in (0, 1)] == [1, 2]
    assert [best.lanes[lane].weights["w"].tolist() for lane in (0, 1)] == [[1, 1], [2, 2]]
    again = Best()
    again.restore(best.snapshot(), {"w": np.zeros(2)}, 2)
    assert {lane: kept[:2] for lane, kept in again.lanes.items()} == {0: (1, 5.0), 1: (2, 6.0)}
    for bad in (
        {"2": {"step": 1, "score": 1.0}},
        {"0": {"step": -1, "score": 1.0}},
        {"0": {"step": 1, "score": "nan"}},
    ):
        with pytest.raises(ValueError, match="there cannot be a best evaluation"):
            again.restore(best.snapshot()._replace(facts=bad), {"w": np.zeros(2)}, 2)


def test_the_file_holds_no_more_than_weights(run):
    arrays = safetensors.numpy.load_file(run / "agent-best" / "weights.safetensors")
    assert arrays.keys() == safetensors.numpy.load_file(run / "agent" / "weights.safetensors").keys()
