"""A run that was cut and goes on equals one that was not."""

import filecmp
import shutil
from dataclasses import replace
from pathlib import Path

import jax
import numpy as np
import pytest
import safetensors.numpy

import teen
from teen import algos, envs
from teen.cli import main as cli
from teen.config.job import Job
from teen.disk import checkpoint
from teen.disk.checkpoint import CheckpointWriter
from teen.engine.loop import Loop, Start
from teen.errors import UserError
from teen.settings import stacked
from teen.snapshot import Snapshot
from teen.training import run as training
from tests.engine.test_loop import PLAN, TEEN, Listener

SMALL = {
    "width": 8, "batch": 16, "warmup": 200, "buffer": 800, "eval_every": 500, "eval_episodes": 1,
    "members_every": 1000, "log_every": 100, "checkpoint_every": 400, "show": False,
}  # fmt: skip
SETTINGS = {
    "teen": {"n": 3, "m": 2, "epsilon": 0.05},
    "sunrise": {"n": 3},
    "redq": {"critics": 3},
    "rnd": {"rnd_width": 8},
}


def assert_same_end(one: Path, other: Path) -> None:
    """Parameters, optimisers, keys, acting weights, simulators, replay, logs, agent."""
    ours, theirs = checkpoint.newest(one / "checkpoint"), checkpoint.newest(other / "checkpoint")
    assert ours.step == theirs.step
    assert ours.snapshot.facts == theirs.snapshot.facts
    assert ours.snapshot.arrays.keys() == theirs.snapshot.arrays.keys()
    for name, array in ours.snapshot.arrays.items():
        np.testing.assert_array_equal(array, theirs.snapshot.arrays[name], err_msg=name)
    rows = [np.concatenate([block for _, block in saved.rows()], axis=1)[:, -800:] for saved in (ours, theirs)]
    np.testing.assert_array_equal(*rows)
    for name in ("eval.csv", "train.csv", "config.toml", "agent/weights.safetensors"):
        assert filecmp.cmp(one / name, other / name, shallow=False), name


CASES = [
    pytest.param(algo, lanes, marks=() if algo in ("teen", "td3") else pytest.mark.full)
    for lanes in (3, 1)
    for algo in algos.NAMES
]


@pytest.mark.parametrize(("algo", "lanes"), CASES)
def test_two_thousand_steps_are_twice_a_thousand(algo, lanes, tmp_path):
    """Hopper-v5, whose episodes end at any moment; the replay has wrapped by then, and the second half comes later."""
    settings = {**SMALL, **SETTINGS.get(algo, {}), "seeds": lanes, "backend": "gymnasium"}
    teen.train(algo, "Hopper-v5", out=tmp_path / "whole", steps=2000, **settings)
    teen.train(algo, "Hopper-v5", out=tmp_path / "cut", steps=1000, **settings)
    outcome = training.resume(tmp_path / "cut", steps=2000, show=False)
    assert outcome.step == 2000
    assert_same_end(tmp_path / "whole", tmp_path / "cut")


def test_a_run_that_ended_between_two_evaluations_goes_on_to_the_next(tmp_path):
    """105 steps are handed over by fives, 200 by tens: from 105 on, tens would miss every evaluation."""
    settings = {**SMALL, "warmup": 50, "eval_every": 50, "log_every": 50, "members_every": 50, "checkpoint_every": 100}
    teen.train("td3", "tests.toys:PointMass-v0", out=tmp_path / "run", steps=105, **settings)
    outcome = training.resume(tmp_path / "run", steps=200, show=False)
    assert outcome.step == 200
    steps = {line.split(",")[1] for line in (tmp_path / "run" / "eval.csv").read_text().splitlines()[1:]}
    assert steps == {"50", "100", "105", "150", "200"}


def test_a_run_is_not_made_shorter(tmp_path, capsys):
    """Though its newest checkpoint is of a step before."""
    run, settings = tmp_path / "run", {**SMALL, "warmup": 50, "checkpoint_every": 100}
    teen.train("td3", "tests.toys:PointMass-v0", out=run, steps=120, **settings)
    shutil.rmtree(run / "checkpoint" / "step-000000000120")
    before = {path: path.read_bytes() for path in run.rglob("*") if path.is_file()}
    capsys.readouterr()
    assert cli.main(["train", "--resume", str(run), "--steps", "110"]) == 2
    assert capsys.readouterr().err == f"teen: {run} is a run of 120 steps: --steps can be raised, not lowered\n"
    with pytest.raises(UserError, match="is a run of 120 steps"):
        training.resume(run, steps=119)
    assert {path: path.read_bytes() for path in run.rglob("*") if path.is_file()} == before
    assert training.resume(run, steps=120, show=False).step == 120


def test_an_older_run_that_ended_before_it_learnt_is_read_and_goes_on_only_until_it_learns(tmp_path, monkeypatch):
    run, settings = tmp_path / "run", {**SMALL, "warmup": 60, "checkpoint_every": 20, "eval_every": 20}
    with monkeypatch.context() as older:
        older.setattr(Job, "check_learns", lambda job: None)
        teen.train("td3", "tests.toys:PointMass-v0", out=run, steps=40, **settings)
    assert teen.load(run).step == 40
    for steps in ({}, {"steps": 60}):
        with pytest.raises(UserError, match=f"--warmup 60 is not below --steps {steps.get('steps', 40)}: "):
            training.resume(run, show=False, **steps)
    assert training.resume(run, show=False, steps=80).step == 80


FLAGS = (
    "--env tests.toys:PointMass-v0 --seeds 2 --alpha 0,0.2 --n 3 --m 2 --width 8 --batch 16 --warmup 200 --buffer 800 "
    "--eval-every 500 --eval-episodes 1 --members-every 1000 --log-every 100 --checkpoint-every 350 --normalise-obs "
    "--diagnose-every 1000 --diagnose-episodes 2"
)


def test_the_command_goes_on_with_every_variant(tmp_path, capsys):
    """Checkpoints that fall inside a chunk are taken at its end."""
    train = ["train", *FLAGS.split()]
    assert cli.main([*train, "--steps", "2000", "--out", str(tmp_path / "whole")]) == 0
    assert cli.main([*train, "--steps", "1000", "--out", str(tmp_path / "cut")]) == 0
    assert cli.main(["train", "--resume", str(tmp_path / "cut"), "--steps", "2000"]) == 0
    assert "after 2000 steps" in capsys.readouterr().out
    for variant in ("alpha=0", "alpha=0.2"):
        logs = "eval.csv", "train.csv", "diagnostics.csv", "members.csv", "confusion.csv"
        for name in (*logs, "config.toml", "agent/weights.safetensors"):
            assert filecmp.cmp(tmp_path / "whole" / variant / name, tmp_path / "cut" / variant / name, shallow=False)
    assert cli.main(["train", "--resume", str(tmp_path / "cut")]) == 0  # nothing is left to do
    steps = sorted(path.name for path in (tmp_path / "cut" / "checkpoint").glob("step-*"))
    assert steps == ["step-000000001750", "step-000000002000"]


def test_rows_are_written_once(tmp_path):
    """Of 800 rows kept, a checkpoint writes those of the 400 steps since the last one, and drops what nobody needs."""
    settings = {**SMALL, "seeds": 2, "steps": 2000}
    written = []
    original = CheckpointWriter._write_rows

    def watched(self, first, block):
        written.append((first, block.shape))
        return original(self, first, block)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(CheckpointWriter, "_write_rows", watched)
        teen.train("td3", "tests.toys:PointMass-v0", out=tmp_path / "run", **settings)
    assert written == [(first, (2, 400, 6)) for first in range(0, 2000, 400)]
    left = sorted(path.name for path in (tmp_path / "run" / "checkpoint").glob("rows-*"))
    assert left == [f"rows-{first:012}-{first + 400:012}.safetensors" for first in (800, 1200, 1600)]


def test_a_replay_in_host_memory_goes_on(tmp_path):
    """Host memory: the learner's device keeps no rows."""
    settings = {**SMALL, "seeds": 2, "replay": "host"}
    teen.train("td3", "tests.toys:PointMass-v0", out=tmp_path / "whole", steps=2000, **settings)
    teen.train("td3", "tests.toys:PointMass-v0", out=tmp_path / "cut", steps=1000, **settings)
    training.resume(tmp_path / "cut", steps=2000, show=False)
    assert_same_end(tmp_path / "whole", tmp_path / "cut")


@pytest.mark.parametrize(
    ("env", "collector"), [("Hopper-v4", "compiled"), ("Hopper-v4", "python"), ("tests.toys:Opaque-v0", "auto")]
)
def test_an_episode_whose_state_is_not_known_begins_again(env, collector, tmp_path, capsys):
    """EnvPool's cannot be saved, and neither can that of an environment which holds an object of its own."""
    settings = {**SMALL, "seeds": 5, "eval_every": 1000, "collector": collector}
    teen.train("td3", env, out=tmp_path / "run", steps=1000, **settings)
    before = checkpoint.newest(tmp_path / "run" / "checkpoint").snapshot
    capsys.readouterr()
    training.resume(tmp_path / "run", steps=2000, show=False)
    error = capsys.readouterr().err
    assert "notice: lane 0 begins a new episode: " in error
    assert "and 4 more lanes" in error
    assert ("EnvPool cannot save" if env == "Hopper-v4" else "Opaque") in error
    after = checkpoint.newest(tmp_path / "run" / "checkpoint")
    counts = [name for name in before.arrays if name.startswith("engine/collector/") and name.endswith("episodes")]
    assert sum(before.arrays[name].size for name in counts) == 5
    for name in counts:
        assert (after.snapshot.arrays[name] > before.arrays[name]).all()


def test_an_episode_that_begins_again_does_not_repeat_the_first_one():
    """Lanes that go on after 1,000 steps start from other states than at step 0, and than after 2,000."""
    starts = [envs.Lanes(envs.make("tests.toys:PointMass-v0", 2), [3, 4], steps=steps).obs for steps in (0, 1000, 2000)]
    assert len({value for start in starts for value in start.ravel().tolist()}) == 6


def inject_nan(snapshot: Snapshot, lane: int) -> Snapshot:
    """In one number of one lane's critics."""
    arrays = dict(snapshot.arrays)
    name = next(name for name in arrays if name.startswith("trainer/state.members.critics"))
    arrays[name] = arrays[name].copy()
    arrays[name].reshape(len(arrays[name]), -1)[lane, 0] = np.nan
    return snapshot._replace(arrays=arrays)


@pytest.fixture(scope="module")
def five_lanes():
    """What five lanes of TEEN kept after 100 steps, and what goes on from there."""
    kept = []
    plan = replace(PLAN, steps=100, sync=5, eval_every=50, log_every=50, checkpoint_every=100)
    algo, seeds, config = algos.find("teen"), [1, 2, 3, 4, 5], stacked([TEEN] * 5)

    def train(plan, **options):
        pools = [envs.make("tests.toys:PointMass-v0", 5)], envs.make("tests.toys:PointMass-v0", 15)
        listener = Listener()
        return Loop(algo, plan, seeds, config, *pools, listener, **options).run(), listener

    class Keep:
        def __call__(self, step, snapshot, rows):
            kept.append((step, snapshot, list(rows(0, step))))

        def written(self):
            return None

    train(plan, keep=Keep())
    return kept[-1], lambda change, **plans: train(
        replace(plan, steps=300, **plans), start=Start(kept[-1][0], change(kept[-1][1]), kept[-1][2])
    )


def test_a_lane_that_is_not_finite_is_quarantined_and_the_others_do_not_notice(five_lanes):
    _, go_on = five_lanes
    (healthy, *_), log = go_on(lambda snapshot: snapshot)
    (sick, step, _, fault), sick_log = go_on(lambda snapshot: inject_nan(snapshot, 3))
    assert (step, fault, log.quarantine) == (300, None, {})
    at, quantity = sick_log.quarantine.pop(3)
    assert 100 < at <= 155  # at the latest the next log and evaluation, of step 150, notice
    assert quantity.startswith("members.")
    assert not sick_log.quarantine
    others = np.array([0, 1, 2, 4])
    for a, b in zip(jax.tree.leaves(healthy.state), jax.tree.leaves(sick.state), strict=True):
        np.testing.assert_array_equal(np.asarray(a)[others], np.asarray(b)[others])
    np.testing.assert_array_equal(np.asarray(healthy.buffer)[others], np.asarray(sick.buffer)[others])
    for step, episodes in log.episodes.items():
        assert [episodes[lane] for lane in others] == [sick_log.episodes[step][lane] for lane in others]
        assert sick_log.episodes[step][3] == []
    for step, metrics in log.metrics.items():
        for name, values in metrics.items():
            np.testing.assert_array_equal(values[others], sick_log.metrics[step][name][others])
    silenced = np.asarray(sick.buffer)[3, at + 5 : 300, 1]  # column 1 is the action
    assert (silenced == 0).all()
    assert np.isfinite(np.asarray(sick.buffer)[:, :300]).all()


def test_on_nan_stop_ends_the_run_and_names_the_quantity(five_lanes):
    _, go_on = five_lanes
    (_, step, _, fault), _ = go_on(lambda snapshot: inject_nan(snapshot, 3), on_nan="stop")
    assert step <= 155
    assert "is not finite in lane 3, seed 4, by step" in str(fault)


def test_when_no_lane_is_left_the_run_ends(five_lanes):
    _, go_on = five_lanes

    def everywhere(snapshot):
        for lane in range(5):
            snapshot = inject_nan(snapshot, lane)
        return snapshot

    (_, step, _, fault), log = go_on(everywhere)
    assert step <= 155
    assert "no lane is left" in str(fault)
    assert set(log.quarantine) == {0, 1, 2, 3, 4}


def test_a_quarantine_is_logged_and_survives_a_resume(tmp_path, capsys):
    """NaN written into seed 1's critics in a checkpoint of the command's own."""
    out = tmp_path / "run"
    flags = "--env tests.toys:PointMass-v0 --algo td3 --seeds 3 --width 8 --batch 16 --warmup 50 --eval-every 100"
    flags += " --eval-episodes 1 --log-every 50 --checkpoint-every 100 --buffer 100"
    assert cli.main(["train", *flags.split(), "--steps", "100", "--out", str(out)]) == 0
    saved = checkpoint.newest(out / "checkpoint")
    sick = dict(saved.snapshot.arrays)
    name = next(name for name in sick if name.startswith("engine/trainer/state.") and ".critics." in name)
    sick[name] = sick[name].copy()
    sick[name][1] = np.nan
    # the same step again, as a checkpoint of its own
    writer = CheckpointWriter(out / "checkpoint", 100)
    writer.save(100, Snapshot(sick, saved.snapshot.facts), lambda first, last: saved.rows())
    capsys.readouterr()
    assert cli.main(["train", "--resume", str(out), "--steps", "200"]) == 0
    assert "of seed 1 is not finite: it no longer counts" in capsys.readouterr().err
    assert cli.main(["train", "--resume", str(out), "--steps", "300"]) == 0
    lines = (out / "quarantine.csv").read_text().splitlines()
    assert lines[0] == "seed,step,quantity"
    assert len(lines) == 2
    assert lines[1].startswith("1,1")
    rows = [line.split(",")[:2] for line in (out / "eval.csv").read_text().splitlines()[1:]]
    assert [row for row in rows if row[1] != "100"] == [["0", "200"], ["2", "200"], ["0", "300"], ["2", "300"]]
    logged = [line.split(",")[:2] for line in (out / "train.csv").read_text().splitlines()[1:]]
    assert ["1", "150"] not in logged
    assert ["2", "150"] in logged
    weights = safetensors.numpy.load_file(out / "agent" / "weights.safetensors")
    assert all(np.isfinite(array[[0, 2]]).all() for array in weights.values())
    command = ["train", "--resume", str(out), "--steps", "400", "--on-nan", "stop"]
    assert cli.main(command) == 0  # it is quarantined already: no news
