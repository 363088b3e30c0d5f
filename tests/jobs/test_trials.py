"""What a job tells its study: values, who is pruned, and that an attempt which tells it again changes nothing."""

import math
import sys

import optuna
import pytest
from optuna.trial import TrialState

from teen.errors import StorageFault, UserError
from teen.jobs import study, trials
from teen.jobs.planned import PlannedJob
from teen.jobs.trials import DIVERGED, PRUNED_AT, WHY, reporter
from teen.training.callbacks import Event, Silence

SETTINGS = {
    "algo": "td3", "env": "Pendulum-v1", "seeds": [3, 5], "steps": 400, "warmup": 50, "eval_every": 100,
    "variants": [{"gamma": 0.9}, {"gamma": 0.95}, {"gamma": 0.99}],
}  # fmt: skip
NAMES = ["gamma=0.9", "gamma=0.95", "gamma=0.99"]
MEDIAN = {"name": "median", "n_startup_trials": 1}


@pytest.fixture
def storage(tmp_path):
    """Return a study with one trial that is complete, with 0 at each evaluation, and three that are running."""
    url = f"sqlite:///{tmp_path / 'study.db'}"
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    made = optuna.create_study(storage=url, study_name="s", direction="maximize")
    whole = made.ask()
    for step in (100, 200, 300, 400):
        whole.report(0.0, step)
    made.tell(whole, 0.0)
    for _ in NAMES:
        made.ask({"gamma": optuna.distributions.FloatDistribution(0.9, 0.99)})
    return url


def job(storage, pruner=MEDIAN):
    where = {"storage": storage, "name": "s", "pruner": pruner}
    return PlannedJob("trials-1-3", SETTINGS, {**where, "trials": dict(zip(NAMES, (1, 2, 3), strict=True))})


def evaluation(step, scores):
    """Of each variant and seed, two episodes of the evaluated policy around its score, and one of a member."""
    rows = [
        {"variant": name, "seed": seed, "step": step, "policy": policy, "return": score + off}
        for name, seeds in scores.items()
        for seed, score in zip((3, 5), seeds, strict=False)
        if not math.isnan(score)
        for policy, off in (("mean", -1.0), ("mean", 1.0), ("0", 1e6))
    ]
    return Event("evaluation", step, rows)


def kept(storage):
    return optuna.load_study(storage=storage, study_name="s").trials[1:]


def silenced(answer):
    assert isinstance(answer, Silence)
    return sorted(answer.variants)


def test_the_mean_over_seeds_is_reported_and_the_worse_are_pruned(storage):
    told = reporter(job(storage))
    assert told(Event("log", 50, [{"variant": NAMES[0], "seed": 3, "step": 50}])) is None
    scores = {NAMES[0]: (1.0, 4.0), NAMES[1]: (-8.0, 2.0), NAMES[2]: (0.0, 0.5)}
    assert silenced(told(evaluation(100, scores))) == [NAMES[1]]  # -3 is less than 0, the median
    states = [(trial.state, trial.intermediate_values, trial.value) for trial in kept(storage)]
    assert states == [
        (TrialState.RUNNING, {100: 2.5}, None),
        (TrialState.PRUNED, {100: -3.0}, -3.0),
        (TrialState.RUNNING, {100: 0.25}, None),
    ]
    assert kept(storage)[1].user_attrs[PRUNED_AT] == 100
    del scores[NAMES[1]]
    assert silenced(told(evaluation(200, scores))) == [NAMES[1]]  # it stays silent
    assert kept(storage)[1].intermediate_values == {100: -3.0}


def test_at_the_last_step_nothing_is_pruned(storage):
    scores = dict.fromkeys(NAMES, (-9.0, -9.0))
    assert silenced(reporter(job(storage))(evaluation(400, scores))) == []
    assert [trial.intermediate_values for trial in kept(storage)] == [{400: -9.0}] * 3


@pytest.mark.parametrize("score", [(math.nan, 7.0), (math.nan, math.nan), (math.inf, -math.inf)])
@pytest.mark.filterwarnings("ignore:invalid value")
def test_a_trial_with_a_seed_in_quarantine_is_pruned(storage, score):
    """Seed 5 alone would make it the best."""
    told = reporter(job(storage, {"name": "none"}))
    told(evaluation(100, dict.fromkeys(NAMES, (1.0, 1.0))))
    assert silenced(told(evaluation(200, {**dict.fromkeys(NAMES, (1.0, 1.0)), NAMES[2]: score}))) == [NAMES[2]]
    trial = kept(storage)[2]
    assert (trial.state, trial.value, trial.user_attrs) == (TrialState.PRUNED, 1.0, {PRUNED_AT: 200, WHY: DIVERGED})


@pytest.mark.parametrize("how", ["median", "diverged", "hyperband"])
def test_an_attempt_that_tells_it_again_gets_the_same_answers(storage, how):
    """A first attempt comes to step 300 and dies; the second goes on from a checkpoint at step 60."""
    bad = (math.nan, 1.0) if how == "diverged" else (-5.0, -5.0)
    pruner = {"name": "hyperband", "min_resource": 100, "max_resource": 400, "reduction_factor": 2}
    run = job(storage, {"median": MEDIAN, "diverged": {"name": "none"}, "hyperband": pruner}[how])
    events = [
        evaluation(100, {NAMES[0]: (3.0, 3.0), NAMES[1]: (2.0, 2.0), NAMES[2]: (1.0, 1.0)}),
        evaluation(200, {NAMES[0]: (3.0, 3.0), NAMES[1]: (2.0, 2.0), NAMES[2]: bad}),
        evaluation(300, {NAMES[0]: (3.0, 3.0), NAMES[1]: (2.0, 2.0)}),
    ]
    first = reporter(run)
    answers = [silenced(first(event)) for event in events]
    assert answers[-1]  # otherwise this shows nothing
    before = [(t.state, t.intermediate_values, t.value, t.user_attrs, t.system_attrs) for t in kept(storage)]
    second = reporter(run)
    assert [silenced(second(event)) for event in events] == answers
    assert [(t.state, t.intermediate_values, t.value, t.user_attrs, t.system_attrs) for t in kept(storage)] == before


def test_a_storage_that_does_not_answer_is_tried_again(storage, monkeypatch):
    monkeypatch.setattr(trials, "PAUSE", 0.0)
    told, calls = reporter(job(storage)), []
    answered = told.handle.storage.set_trial_intermediate_value

    def failing(*args):
        calls.append(args)
        if len(calls) <= limit:
            raise optuna.exceptions.StorageInternalError("the server is\naway")
        return answered(*args)

    monkeypatch.setattr(told.handle.storage, "set_trial_intermediate_value", failing)
    limit = 2
    told(evaluation(100, dict.fromkeys(NAMES, (1.0, 1.0))))
    assert [trial.intermediate_values for trial in kept(storage)] == [{100: 1.0}] * 3
    limit = 10**6
    with pytest.raises(StorageFault, match=r"study 's' in sqlite:.* cannot be written: the server is away"):
        told(evaluation(200, dict.fromkeys(NAMES, (1.0, 1.0))))


def test_storages(tmp_path, monkeypatch):
    """A database, Optuna's journal, and a variable that holds either; none of their errors shows a password."""
    journal = str(tmp_path / "journal.log")
    optuna.create_study(storage=study.storage(journal), study_name="s")
    assert study.opened(journal, "s", {"name": "none"}).study.study_name == "s"
    monkeypatch.setenv("STUDY", journal)
    assert study.opened("env:STUDY", "s", {"name": "none"}).trial_id
    with pytest.raises(UserError, match="there is no study 't' in env:STUDY"):
        study.opened("env:STUDY", "t", {"name": "none"})
    with pytest.raises(UserError, match="there is no variable NOWHERE in this environment"):
        study.storage("env:NOWHERE")
    for url in ("sqlite:////no/such/folder/x.db", "what://me:secret@host/x", "mysql+pymysql://me:secret@127.0.0.1:1/x"):
        with pytest.raises(UserError, match="cannot be opened: ") as error:
            study.storage(url)
        assert "secret" not in str(error.value)
        assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("text", "hidden"),
    [
        ("postgresql://u:s3cret@host:5432/db", "postgresql://u:***@host:5432/db"),
        ("postgresql://u:s3@cret@host/db", "postgresql://u:***@host/db"),
        ("postgresql://u@corp:s3cret@host/db", "postgresql://u@corp:***@host/db"),
        ("postgresql://host:5432/db?user=u&password=s3cret", "postgresql://host:5432/db?…"),
        ("postgresql://u:s3cret@host/db?password=s3cret", "postgresql://u:***@host/db?…"),
        ("postgresql://host:5432/db?password=s3@cret", "postgresql://…"),
        ("postgresql://u:s3?cret@host/db", "postgresql://…"),
        ("no p://u:s3cret@h/x here, nor p://h/x?password=s3cret there", "no p://u:***@h/x here, nor p://h/x?… there"),
        ("sqlite:////runs/a@b/study.db", "sqlite:////runs/a@b/study.db"),
        ("/runs/what?/journal.log", "/runs/what?/journal.log"),
    ],
)
def test_a_storage_is_shown_without_its_secrets(text, hidden):
    assert study.hidden(text) == hidden


def test_without_optuna_one_line_says_what_to_install(storage, monkeypatch):
    monkeypatch.setitem(sys.modules, "optuna", None)
    with pytest.raises(UserError, match=r'tuning needs Optuna: pip install "teen-rl\[tune\]"'):
        reporter(job(storage))
