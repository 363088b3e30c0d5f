"""Studies from their file to the best settings, with Optuna's storage, samplers and pruners; training is a formula."""

import csv
import json
import math
import sys
import tomllib

import numpy as np
import optuna
import pytest
from optuna.trial import TrialState

from teen.config import toml
from teen.config.job import resolve
from teen.errors import NONE_LEFT, InUse, UserError
from teen.jobs.place import Folder
from teen.jobs.study import opened
from teen.jobs.trials import DIVERGED, WHY
from teen.tune import file as study_file
from teen.tune import importance, picture
from teen.tune.run import tune
from teen.tune.space import space_of
from tests.tune.pretending import SEARCH, SETTINGS, Pretending, score, write


@pytest.fixture
def place(tmp_path):
    return Folder(tmp_path / "out")


@pytest.fixture(autouse=True)
def pictures(monkeypatch):
    """Draw nothing: a picture takes a second. The one test of it draws by itself."""
    monkeypatch.setattr(picture, "drawn", lambda *args: b"")


def study(place, name="small"):
    """Read the study as Optuna does."""
    return optuna.load_study(study_name=name, storage=f"sqlite:///{place.root / 'study.db'}")


def carried_out(tmp_path, place, launch=None, **parts):
    launch = launch or Pretending(place)
    return tune(study_file.read(write(tmp_path, **parts)), place, launch), launch


def test_a_study_is_asked_for_in_batches_and_read_back_by_optuna(tmp_path, place, capsys):
    code, launch = carried_out(tmp_path, place, tune="trials = 10\nlanes = 4\nlast = 2\npruner = 'none'")
    assert code == 0
    assert launch.jobs == [["trials-00000-00003"], ["trials-00004-00007"], ["trials-00008-00009"]]
    read = study(place)
    assert read.direction.name == "MAXIMIZE"
    assert [trial.state for trial in read.trials] == [TrialState.COMPLETE] * 10
    for trial in read.trials:
        assert trial.distributions["lr"] == optuna.distributions.FloatDistribution(1e-5, 1e-1, log=True)
        assert list(trial.intermediate_values) == [100, 200, 300]
        by_hand = -10 * (math.log10(trial.params["lr"]) + 3) ** 2 + 0.5 + trial.params["gamma"] / 100
        assert trial.value == pytest.approx(by_hand + (2 + 3) / 2, abs=1e-3)  # the last two evaluations, two seeds
    assert f"best so far {max(t.value for t in read.trials[:8]):.6g}" in capsys.readouterr().out


def test_the_best_settings_are_a_file_to_train_with(tmp_path, place):
    carried_out(tmp_path, place)
    best = study(place).best_trial
    text = (place.root / "best.toml").read_text()
    assert text.startswith(f"# Trial {best.number} of study small: {best.value:.6g}, mean return over 2 seeds and the")
    job = resolve(toml.parse(text.encode(), place.root / "best.toml"))
    assert job.variants[0].config.lr == pytest.approx(best.params["lr"], rel=1e-5)
    assert (job.settings.seeds, job.settings.plan.steps) == ((0, 1), 300)
    with (place.root / "trials.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [row["trial"] for row in rows] == [str(number) for number in range(10)]
    assert float(rows[best.number]["value"]) == best.value


def test_pruned_trials_are_told_no_more_and_a_program_ends_with_its_last(tmp_path, place):
    code, launch = carried_out(
        tmp_path, place, tune="trials = 16\nlanes = 4\npruner = {name = 'median', n_startup_trials = 4}"
    )
    pruned = [trial for trial in study(place).trials if trial.state == TrialState.PRUNED]
    assert (code, len(study(place).trials)) == (0, 16)
    assert len(pruned) >= 3
    for trial in pruned:
        assert max(step for number, step in launch.evaluated if number == trial.number) == trial.last_step
        assert trial.last_step >= 100  # after the warm-up of 50 steps
    assert all(trial.number >= 4 for trial in pruned)


def test_hyperband_goes_by_the_steps_of_a_run(tmp_path, place):
    code, _ = carried_out(tmp_path, place, tune="trials = 16\nlanes = 8\npruner = 'hyperband'")
    steps = [trial.last_step for trial in study(place).trials if trial.state == TrialState.PRUNED]
    assert code == 0
    assert set(steps) <= {100, 300}  # rungs: the first evaluation after the warm-up, and three times as much
    assert steps


def test_settings_that_shape_the_program_make_programs_of_their_own(tmp_path, place):
    search = SEARCH + "width = {choices = [8, 16]}\ndelay = {low = 1, high = 2}\n"
    _, launch = carried_out(
        tmp_path, place, search=search, tune="trials = 12\nlanes = 3\nbatch = 12\nsampler = 'random'"
    )
    jobs = json.loads((place.root / "jobs.json").read_text())["jobs"]
    assert len(launch.jobs) == 1  # one batch
    assert {(job["settings"]["width"], job["settings"]["delay"]) for job in jobs} == {(8, 1), (8, 2), (16, 1), (16, 2)}
    for job in jobs:
        lanes = job["settings"].get("variants", [{}])
        assert len(lanes) == len(job["study"]["trials"]) <= 3
        for number in job["study"]["trials"].values():
            assert study(place).trials[number].params["width"] == job["settings"]["width"]
    assert sorted(number for job in jobs for number in job["study"]["trials"].values()) == list(range(12))


def test_a_grid_is_tried_once(tmp_path, place):
    search = "gamma = {choices = [0.9, 0.95, 0.99]}\nlr = {low = 0.001, high = 0.003, step = 0.001}"
    code, launch = carried_out(tmp_path, place, search=search, tune="trials = 100\nlanes = 4\nsampler = 'grid'")
    points = {(trial.params["gamma"], trial.params["lr"]) for trial in study(place).trials}
    assert code == 0
    assert points == {(gamma, lr) for gamma in (0.9, 0.95, 0.99) for lr in (0.001, 0.002, 0.003)}
    assert len(study(place).trials) == 9
    again, launch = carried_out(tmp_path, place, search=search, tune="trials = 100\nlanes = 4\nsampler = 'grid'")
    assert (again, launch.jobs) == (0, [])


@pytest.mark.parametrize("sampler", ["tpe", *(pytest.param(s, marks=pytest.mark.full) for s in ("random", "qmc"))])
def test_samplers_draw_the_same_however_often_the_command_is_started(tmp_path, sampler):
    drawn = []
    for name, counts in (("once", [8]), ("often", [4, 8, 8])):
        place = Folder(tmp_path / name)
        for count in counts:
            launch = Pretending(place)
            path = write(tmp_path, tune=f"trials = {count}\nlanes = 4\nseed = 3\nsampler = '{sampler}'")
            assert tune(study_file.read(path), place, launch) == 0
        assert launch.jobs == [] or name == "once"  # the last time there is nothing to do
        drawn.append([trial.params for trial in study(place).trials])
    assert drawn[0] == drawn[1]
    assert len({params["lr"] for params in drawn[0]}) == 8


def test_the_same_settings_are_trained_once(tmp_path, place):
    """Two values, seven trials: five have the settings of another one."""
    search = "gamma = {choices = [0.9, 0.95]}"
    code, launch = carried_out(
        tmp_path, place, search=search, tune="trials = 7\nlanes = 3\nsampler = 'random'\npruner = 'none'"
    )
    trials = study(place).trials
    assert (code, len(trials)) == (0, 7)
    assert len({number for number, _ in launch.evaluated}) == 2
    for trial in trials:
        alike = [(other.value, other.intermediate_values) for other in trials if other.params == trial.params]
        assert alike == [(trial.value, trial.intermediate_values)] * len(alike)
        assert trial.state == TrialState.COMPLETE


@pytest.mark.parametrize("moment", [pytest.param("first job", marks=pytest.mark.full), "second job"])
def test_whoever_is_killed_goes_on(tmp_path, moment):
    """The first launcher dies in the middle of a batch of two programs; nothing is asked for again."""
    parts = {"search": SEARCH + "width = {choices = [8, 16]}", "tune": "trials = 12\nlanes = 4\nbatch = 8"}
    whole, cut = Folder(tmp_path / "whole"), Folder(tmp_path / "cut")
    carried_out(tmp_path, whole, **parts)
    seen = []

    def dies_at(job, step):
        seen.append(job.name) if job.name not in seen else None
        return len(seen) == (1 if moment == "first job" else 2) and step == 200

    killed = Pretending(cut, dies_at=dies_at)
    with pytest.raises(KeyboardInterrupt):
        carried_out(tmp_path, cut, killed, **parts)
    running = [trial.number for trial in study(cut).trials if trial.state == TrialState.RUNNING]
    assert running
    code, launch = carried_out(tmp_path, cut, **parts)
    assert code == 0
    both = [[(t.state, t.params, t.value, t.intermediate_values) for t in study(p).trials] for p in (whole, cut)]
    assert both[0] == both[1]
    assert len(killed.trained) == (0 if moment == "first job" else 1)
    assert not set(killed.trained) & set(launch.trained)  # what was done is not begun again


def test_trials_that_were_half_asked_for_are_completed(tmp_path, place):
    parts = {"search": "gamma = {choices = [0.9, 0.95]}\nlr = {choices = [0.001, 0.01]}", "tune": "sampler = 'grid'"}
    with pytest.raises(KeyboardInterrupt):
        carried_out(
            tmp_path,
            place,
            Pretending(place, dies_at=lambda *_: True),
            **{**parts, "tune": "sampler = 'grid'\ntrials = 1"},
        )
    half = study(place).ask()  # by somebody who was killed then
    assert half.params == {}
    code, _ = carried_out(tmp_path, place, **parts)
    assert code == 0
    assert len({tuple(trial.params.values()) for trial in study(place).trials}) == 4
    assert [trial.state for trial in study(place).trials] == [TrialState.COMPLETE] * 4


def test_a_program_that_fails_does_not_end_the_study_and_its_trials_are_replaced(tmp_path, place):
    fails = Pretending(place, fails=lambda job: "the robot\nfell over" if "00001" in job.name else "")
    parts = {"search": SEARCH + "width = {choices = [8, 16]}", "tune": "trials = 6\nlanes = 1\nbatch = 3"}
    code, _ = carried_out(tmp_path, place, fails, **parts)
    trials = study(place).trials
    assert code == 0
    assert [trial.state == TrialState.FAIL for trial in trials] == [number == 1 for number in range(7)]
    assert trials[1].user_attrs[WHY] == "the robot\nfell over"


def test_a_study_whose_programs_all_fail_stops_and_goes_on_later(tmp_path, place, capsys):
    code, launch = carried_out(tmp_path, place, Pretending(place, fails=lambda job: "no licence"))
    assert (code, len(launch.jobs)) == (1, 1)
    assert "no program of this batch has come to an end" in capsys.readouterr().err
    code, _ = carried_out(tmp_path, place)
    assert code == 0
    assert [trial.state.name for trial in study(place).trials] == ["FAIL"] * 4 + ["COMPLETE"] * 10


def test_trials_of_a_program_that_diverged_as_a_whole_count_as_pruned(tmp_path, place):
    fails = Pretending(place, fails=lambda job: f"by step 60 {NONE_LEFT}; logs are kept" if "00000" in job.name else "")
    code, _ = carried_out(tmp_path, place, fails, tune="trials = 3\nlanes = 1")
    assert code == 0
    states = [(trial.state.name, trial.user_attrs.get(WHY)) for trial in study(place).trials]
    assert states == [("PRUNED", DIVERGED), ("COMPLETE", None), ("COMPLETE", None)]


def test_a_signal_ends_the_command_and_leaves_trials_running(tmp_path, place):
    code, _ = carried_out(tmp_path, place, lambda jobs: 130)
    assert code == 130
    assert [trial.state for trial in study(place).trials] == [TrialState.RUNNING] * 4


def test_only_one_process_asks(tmp_path, place):
    def launch(jobs):
        with pytest.raises(InUse):
            carried_out(tmp_path, place)
        return 130

    assert carried_out(tmp_path, place, launch)[0] == 130


def test_what_would_make_values_incomparable_is_refused(tmp_path, place):
    carried_out(tmp_path, place, tune="trials = 2\nlanes = 2")
    for parts, word in (
        ({"settings": SETTINGS.replace("300", "600")}, r"another steps in \[settings\]"),
        ({"search": SEARCH.replace("0.9,", "0.8,")}, r"another gamma in \[search\]"),
        ({"tune": "last = 3"}, r"another last in \[tune\]"),
    ):
        with pytest.raises(UserError, match=word):
            carried_out(tmp_path, place, **parts)
    (place.root / "study.db").unlink()
    with pytest.raises(UserError, match="holds jobs of a study 'small' that is not in sqlite:"):
        carried_out(tmp_path, place)
    optuna.create_study(study_name="small", storage=f"sqlite:///{place.root / 'study.db'}")
    with pytest.raises(UserError, match="was not made by teen tune"):
        carried_out(tmp_path, place)


def test_a_journal_of_optuna_can_be_the_storage(tmp_path, place, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code, _ = carried_out(tmp_path, place, tune="trials = 3\nlanes = 3\nstorage = 'journal.log'\nname = 'other'")
    backend = optuna.storages.journal.JournalFileBackend(str(tmp_path / "journal.log"))
    read = optuna.load_study(study_name="other", storage=optuna.storages.JournalStorage(backend))
    assert (code, len(read.trials)) == (0, 3)
    assert not (place.root / "study.db").exists()


@pytest.mark.full
def test_what_mattered_is_found(tmp_path, place, capsys):
    """lr decides, gamma does not."""
    carried_out(tmp_path, place, tune="trials = 40\nlanes = 20\nsampler = 'random'\npruner = 'none'")
    shares = importance.importances(opened(f"sqlite:///{place.root / 'study.db'}", "small", {"name": "none"}))
    assert list(shares) == ["lr", "gamma"]
    assert shares["lr"] > 0.7
    assert f"what mattered: lr {shares['lr']:.0%}, gamma" in capsys.readouterr().out


def test_the_picture_shows_values_and_choices(tmp_path, place):
    parts = {"search": SEARCH + "width = {choices = [8, 16]}", "tune": "trials = 6\nlanes = 6\nsampler = 'random'"}
    carried_out(tmp_path, place, **parts)
    space, trials = space_of(study_file.read(tmp_path / "small.toml")), study(place).trials
    bars, history, lr, _, width = picture.figure(
        trials, {"lr": 0.9, "gamma": 0.1, "width": 0.0}, space, "a $title"
    ).axes
    assert [bar.get_width() for bar in bars.patches] == [0.0, 0.1, 0.9]
    best = history.lines[-1]
    np.testing.assert_array_equal(best.get_ydata(), np.maximum.accumulate([trial.value for trial in trials]))
    assert lr.get_xscale() == "log"
    assert [label.get_text() for label in width.get_xticklabels()] == ["8", "16"]
    assert sorted(width.lines[1].get_xdata()) == sorted([8, 16].index(trial.params["width"]) for trial in trials)


def test_numbers_have_six_digits_within_their_range(tmp_path, place):
    carried_out(tmp_path, place, tune="trials = 4\nlanes = 4")
    tables = json.loads((place.root / "jobs.json").read_text())["jobs"][0]["settings"]["variants"]
    for table, trial in zip(tables, study(place).trials, strict=True):
        assert table == {name: float(f"{trial.params[name]:.6g}") for name in ("lr", "gamma")}


def test_settings_that_do_not_go_together_are_pruned(tmp_path, place):
    """Each is allowed by itself: n_step is 1 by default, and the buffer large."""
    search = "n_step = {choices = [1, 5]}\nbuffer = {choices = [3, 1000]}"
    code, launch = carried_out(tmp_path, place, search=search, tune="sampler = 'grid'\npruner = 'none'")
    refused = [trial for trial in study(place).trials if trial.state == TrialState.PRUNED]
    assert code == 0
    assert [trial.params for trial in refused] == [{"n_step": 5, "buffer": 3}]
    assert "--n-step 5 is more than --buffer 3" in refused[0].user_attrs[WHY]
    assert len({number for number, _ in launch.evaluated}) == 3


def test_a_program_has_as_many_trials_as_suits_it(tmp_path, place):
    """Ten lanes are good on any machine: five trials of two seeds."""
    _, launch = carried_out(tmp_path, place, tune="trials = 7\npruner = 'none'")
    assert launch.jobs == [["trials-00000-00004"], ["trials-00005-00006"]]
    with pytest.raises(UserError, match="lanes = 1000 trials of 11 seeds are more than the 10,000 lanes of a program"):
        carried_out(tmp_path, place, tune="lanes = 1000", settings=SETTINGS.replace("seeds = 2", "seeds = 11"))


def test_jobs_at_a_url(tmp_path):
    from teen.jobs.place import place

    where = place(f"file://{tmp_path / 'shared'}")
    code, _ = carried_out(tmp_path, where, tune=f"trials = 3\nlanes = 2\nstorage = '{tmp_path / 'journal.log'}'")
    assert code == 0
    assert (where.read("best.toml") or b"").startswith(b"# Trial")
    again, launch = carried_out(tmp_path, where, tune=f"trials = 3\nlanes = 2\nstorage = '{tmp_path / 'journal.log'}'")
    assert (again, launch.jobs) == (0, [])


def test_a_url_needs_a_storage(tmp_path):
    class Remote:
        read = names = write = remove = None

        def __str__(self):
            return "s3://bucket/study"

    with pytest.raises(UserError, match=r"s3://bucket/study is a URL, which SQLite cannot use"):
        tune(study_file.read(write(tmp_path)), Remote(), lambda jobs: 0)


def test_without_optuna_one_line_says_what_to_install(tmp_path, place, monkeypatch):
    monkeypatch.setitem(sys.modules, "optuna", None)
    with pytest.raises(UserError, match=r'tuning needs Optuna: pip install "teen-rl\[tune\]"'):
        carried_out(tmp_path, place)
    assert not place.root.exists()


def test_scores_rise_with_steps():
    """What the formula of these tests is."""
    config = {"lr": 1e-3, "gamma": 0.9}
    assert score(config, 0, 300) - score(config, 0, 200) == pytest.approx(1)
    assert tomllib.loads(SETTINGS)["steps"] == 300
