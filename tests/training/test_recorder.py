"""The learning curve is plotted from what the recorder heard; eval.csv, read back, gives the same picture."""

import errno
import json
import re

import numpy as np
import pytest

from teen.cli import main as cli
from teen.config.job import resolve
from teen.disk import checkpoint
from teen.disk.folder import RunFolder
from teen.disk.lock import locked
from teen.engine.evaluate import Episode
from teen.report import curve
from teen.report.runs import evaluations
from teen.snapshot import Snapshot
from teen.training import recorder as recording
from teen.training.progress import Progress
from teen.training.recorder import Recorder

JOB = resolve({"algo": "teen", "env": "Pendulum-v1", "seeds": "3,5", "n": 2, "alpha": [0, 0.2]})
TITLE = "teen on Pendulum-v1"
SEEDS = [3, 5, 3, 5]  # of the lanes


def new_recorder(out, lock) -> Recorder:
    folders = [RunFolder(out / variant.name, JOB.settings, variant.config) for variant in JOB.variants]
    return Recorder(JOB, folders, Progress(JOB.settings.plan, ["alpha=0", "alpha=0.2"], [3, 5], show=False), lock)


@pytest.fixture
def recorder(tmp_path):
    with locked(tmp_path) as lock:
        recorder = new_recorder(tmp_path, lock)
        recorder.begin()
        yield recorder


def evaluation(step, draw=0, lanes=(0, 1, 2, 3)):
    """What the engine reports: two episodes of the mean policy and one of each member, of these lanes."""
    policies = ("mean", 0), ("mean", 1), ("0", 0), ("1", 0)
    scores = np.random.default_rng([step, draw]).normal(-100, 30, (4, 4))
    return [
        [Episode(seed, step, *policy, float(score), 200) for policy, score in zip(policies, row, strict=True)]
        if lane in lanes
        else []
        for lane, (seed, row) in enumerate(zip(SEEDS, scores, strict=True))
    ]


def assert_pictures_show_the_logs(recorder, tmp_path):
    for folder in recorder.folders:
        curve.plot(evaluations(folder.path), tmp_path / "expected.png", TITLE)
        assert (folder.path / "curve.png").read_bytes() == (tmp_path / "expected.png").read_bytes()
    first, second = ((folder.path / "curve.png").read_bytes() for folder in recorder.folders)
    assert first != second


def test_the_picture_shows_what_the_log_says(recorder, tmp_path):
    """Also where a lane has gone into quarantine meanwhile, and is missing from the last evaluation."""
    recorder.evaluated(10, evaluation(10))
    recorder.evaluated(20, evaluation(20))
    recorder.quarantined(1, 25, "q")
    recorder.evaluated(30, evaluation(30, lanes=(0, 2, 3)))
    recorder.plot_curves()
    assert np.isnan(evaluations(recorder.folders[0].path).returns).sum() == 1
    assert_pictures_show_the_logs(recorder, tmp_path)


def test_the_picture_of_a_resumed_run_shows_what_was_before(recorder, tmp_path):
    """What was logged after the checkpoint is neither in the log nor in the picture."""
    recorder.evaluated(10, evaluation(10))
    recorder.quarantined(1, 15, "q")
    recorder.evaluated(20, evaluation(20, lanes=(0, 2, 3)))
    snapshot = Snapshot({}, json.loads(json.dumps(recorder.snapshot().facts)))
    recorder.evaluated(30, evaluation(30, lanes=(0, 2, 3)))
    resumed = new_recorder(tmp_path, recorder.lock)
    resumed.restore(snapshot, 20)
    assert resumed.last == [evaluation(20)[0], [*evaluation(20)[2], *evaluation(20)[3]]]
    resumed.plot_curves()
    assert evaluations(resumed.folders[0].path).steps.tolist() == [10, 20]
    assert_pictures_show_the_logs(resumed, tmp_path)
    resumed.evaluated(30, evaluation(30, draw=1, lanes=(0, 2, 3)))
    resumed.plot_curves()
    assert resumed.missing == {1}
    assert_pictures_show_the_logs(resumed, tmp_path)


def test_a_run_that_goes_on_from_before_its_first_evaluation_has_an_empty_picture(recorder, tmp_path):
    snapshot = recorder.snapshot()
    recorder.evaluated(10, evaluation(10))
    resumed = new_recorder(tmp_path, recorder.lock)
    resumed.restore(snapshot, 5)
    assert resumed.last == [[], []]
    resumed.plot_curves()
    curve.plot(evaluations(tmp_path / "alpha=0"), tmp_path / "expected.png", TITLE)
    assert (tmp_path / "alpha=0" / "curve.png").read_bytes() == (tmp_path / "expected.png").read_bytes()


def test_the_picture_is_plotted_again_from_time_to_time(recorder, tmp_path, monkeypatch):
    recorder.evaluated(10, evaluation(10))
    assert not list(tmp_path.rglob("curve.png"))
    monkeypatch.setattr(recording, "REPLOT_SECONDS", -1)
    recorder.evaluated(20, evaluation(20))
    assert_pictures_show_the_logs(recorder, tmp_path)
    monkeypatch.undo()
    (tmp_path / "alpha=0" / "curve.png").unlink()
    recorder.evaluated(30, evaluation(30))  # a minute has not passed
    assert not (tmp_path / "alpha=0" / "curve.png").exists()


def test_a_log_that_somebody_damages_meanwhile_leaves_the_picture_and_the_run_alone(recorder):
    recorder.evaluated(10, evaluation(10))
    recorder.plot_curves()
    pictures = [(folder.path / "curve.png").read_bytes() for folder in recorder.folders]
    for folder in recorder.folders:
        (folder.path / "eval.csv").write_text("not a log\n")
    recorder.plot_curves()
    assert [(folder.path / "curve.png").read_bytes() for folder in recorder.folders] == pictures


@pytest.mark.parametrize("meanwhile", [False, True], ids=["at the end", "while it trains"])
def test_a_picture_for_which_there_is_no_room_ends_a_run_in_one_line(meanwhile, tmp_path, monkeypatch, capsys):
    run = tmp_path / "run"
    flags = "--algo td3 --env tests.toys:PointMass-v0 --seeds 2 --width 8 --batch 16 --steps 100 --warmup 50 "
    flags += "--eval-every 50 --eval-episodes 1 --log-every 50 --checkpoint-every 20"

    def full(path, data):
        raise OSError(errno.ENOSPC, "No space left on device", str(path))

    with monkeypatch.context() as patch:
        patch.setattr(curve, "write_atomically", full)
        if meanwhile:
            patch.setattr(recording, "REPLOT_SECONDS", -1)
        assert cli.main(["train", *flags.split(), "--out", str(run)]) == 5
    error = capsys.readouterr().err.splitlines()[-1]
    step = r"\d0" if meanwhile else "100"
    kept = f"the checkpoint of step {step} is whole: teen train --resume {run} goes on from it"
    assert re.fullmatch(f"teen: {run} cannot be written: No space left on device; {kept}", error)
    assert not (run / "curve.png").exists()
    saved = checkpoint.newest(run / "checkpoint")
    assert saved.damaged == []
    assert saved.step < 100 if meanwhile else saved.step == 100
    assert cli.main(["train", "--resume", str(run)]) == 0
    curve.plot(evaluations(run), tmp_path / "expected.png", "td3 on tests.toys:PointMass-v0")
    assert (run / "curve.png").read_bytes() == (tmp_path / "expected.png").read_bytes()
