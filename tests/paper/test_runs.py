"""Which programs are needed: shared, found again, gone on with; and what happens when one fails."""

import os
import signal
import sys

import pytest

from teen.disk.lock import locked
from teen.errors import EnvironmentFault, UserError
from teen.paper import runs
from teen.paper.experiments import EXPERIMENTS, MUJOCO
from teen.paper.needs import Entry, Need, folder_name
from teen.paper.runs import Failure, programs
from teen.paper.scale import Scale
from teen.paper.store import Store
from teen.training import run as training
from teen.training.recorder import Recorder

from ..survival import stopped_by
from .synthetic import write

TOY = Need("td3", "tests.toys:PointMass-v0", None, (), (0, 1), 300, smoke=True)
MILLION, HALF = 1_000_000, 500_000


def needs(*names, scale=Scale()):  # noqa: B008  # it cannot be changed
    return [entry.need for name in names for entry in EXPERIMENTS[name].entries(scale)]


def short(found):
    """What tells programs apart."""
    return [(p.like.algo, p.like.env, p.like.changes, p.alphas, len(p.seeds), p.steps) for p in found]


def lanes(found):
    return [(p.like, alpha, seed) for p in found for alpha in p.alphas or (None,) for seed in p.seeds]


def test_a_run_that_several_experiments_need_is_one_run(tmp_path):
    table1, table2 = programs(needs("table1"), tmp_path), programs(needs("table2"), tmp_path)
    assert programs(needs("curves-mujoco"), tmp_path) == table1
    assert programs(needs("claims"), tmp_path) == table1 + table2
    assert programs(needs("table1", "claims", "curves-dmc"), tmp_path) == table1 + table2
    assert len(table1) == 20
    assert len(table2) == 25


def test_teen_and_its_control_are_variants_of_one_program(tmp_path):
    for name in EXPERIMENTS:
        for program in programs(needs(name), tmp_path):
            if program.like.algo == "teen":
                assert 0 in program.alphas
                assert len(program.alphas) > 1
    assert {p.alphas for p in programs(needs("table1"), tmp_path)} == {(0.2, 0), ()}
    assert {p.alphas for p in programs(needs("table2"), tmp_path)} == {(0.02, 0), ()}


def test_all_values_of_alpha_are_lanes_of_one_program(tmp_path):
    found = programs(needs("ablation-alpha"), tmp_path)
    assert sorted(p.like.env for p in found) == sorted(MUJOCO)
    assert {(p.alphas, p.seeds) for p in found} == {((0, 0.2, 0.5, 1), (0, 1, 2, 3, 4))}
    assert len(found[0].job().variants) == 4


def test_no_lane_is_trained_twice(tmp_path):
    """The tables have ten seeds of two values of alpha, the ablation five of four."""
    found = programs(needs(*EXPERIMENTS), tmp_path)
    own = [p for p in found if (p.like.algo, p.like.env, p.like.changes, p.like.agent) == ("teen", "Ant-v4", (), False)]
    assert [(p.alphas, len(p.seeds)) for p in own] == [((0.2, 0), 10), ((0.5, 1), 5)]
    assert len(set(lanes(found))) == len(lanes(found))


def test_folders_are_named_by_what_tells_runs_apart(tmp_path):
    found = programs([*needs(*EXPERIMENTS), *needs(*EXPERIMENTS, scale=Scale(smoke=True))], tmp_path)
    names = [p.folder.name for p in found]
    assert len(set(names)) == len(names)
    assert "teen-Ant-v4,n=5,alpha=0.2+0,seeds=0-4" in names
    assert "sac-dm_control-fish-swim,seeds=0-9" in names
    assert "td3-Ant-v4,seeds=0,steps=500000" in names
    assert folder_name(TOY, (), (0, 1, 2, 7)) == "smoke-td3-tests.toys-PointMass-v0,seeds=0-2+7"


def test_done_cut_under_way_and_missing(tmp_path):
    td3, sac, rnd, sunrise = programs(needs("table1"), tmp_path)[1:5]
    assert td3.state == sac.state == "missing"
    write(td3, 1.0)
    write(sac, 1.0, until=HALF, checkpoint=475_000)
    with locked(rnd.folder):
        again = {p.folder: p for p in programs(needs("table1"), tmp_path)}
    assert [again[p.folder].state for p in (td3, sac, rnd, sunrise)] == ["done", "cut", "under way", "missing"]
    assert [again[p.folder].left for p in (td3, sac, sunrise)] == [0, 525_000, MILLION]


def test_the_longest_run_serves_fewer_steps(tmp_path):
    for program in programs(needs("table1"), tmp_path):
        write(program, 1.0)
    assert {p.state for p in programs(needs("table1", scale=Scale(steps=HALF)), tmp_path)} == {"done"}
    assert {p.state for p in programs(needs("table1", scale=Scale(seeds=(3, 4))), tmp_path)} == {"done"}


def test_a_shorter_run_goes_on(tmp_path):
    for program in programs(needs("table1", scale=Scale(steps=HALF)), tmp_path):
        write(program, 1.0, checkpoint=HALF)
    found = programs(needs("table1"), tmp_path)
    assert {(p.state, p.reached, p.steps, p.resumable) for p in found} == {("cut", HALF, MILLION, True)}


def test_more_seeds_train_beside_those_that_are_there(tmp_path):
    few = programs(needs("table1", scale=Scale(seeds=(0, 1, 2))), tmp_path)
    for program in few:
        write(program, 1.0)
    found = programs(needs("table1"), tmp_path)
    assert [p.seeds for p in found if p.state == "missing"] == [(3, 4, 5, 6, 7, 8, 9)] * 20
    (first,) = [p for p in found if p.state == "missing" and p.like.env == "Ant-v4" and p.like.algo == "td3"]
    write(first, 5.0)
    (entry,) = [e for e in EXPERIMENTS["table1"].entries(Scale()) if e.label == "TD3" and e.need.env == "Ant-v4"]
    trained = Store(tmp_path).trained(entry)
    assert [run.seeds for run in trained.runs] == [[0, 1, 2], [3, 4, 5, 6, 7, 8, 9]]
    assert trained.lacking == ""


def test_the_ablations_take_the_tables_runs(tmp_path):
    for program in programs(needs("table1"), tmp_path):
        write(program, 1.0)
    left = [p for p in programs(needs("ablation-n", "ablation-m"), tmp_path) if p.state == "missing"]
    assert {dict(p.like.changes).get("n") for p in left} == {2, 5, 20, None}
    assert {dict(p.like.changes).get("m") for p in left} == {1, 5, 10, None}
    assert () not in {p.like.changes for p in left}


def test_runs_that_end_at_half_of_training_are_kept_apart(tmp_path):
    half = programs(needs("region"), tmp_path)
    assert {(p.steps, p.seeds, p.folder.parent.name) for p in half} == {(HALF, (0,), "agents")}
    for program in half:
        write(program, 1.0)
    assert {p.state for p in programs(needs("region"), tmp_path)} == {"done"}
    assert {p.state for p in programs(needs("table1"), tmp_path)} == {"missing"}
    other = programs(needs("region", scale=Scale(steps=HALF)), tmp_path)
    assert {p.state for p in other} == {"missing"}


def test_a_run_with_other_settings_does_not_count(tmp_path):
    (program, *_) = programs(needs("table1"), tmp_path)
    config = write(program, 1.0) / "alpha=0" / "config.toml"
    config.write_text(config.read_text().replace("lr = 0.0003", "lr = 0.001"))
    again = [p for p in programs(needs("table1"), tmp_path) if (p.like.algo, p.like.env) == ("teen", program.like.env)]
    assert [(p.state, p.alphas) for p in again] == [("done", (0, 0.2)), ("missing", (0,))]


@pytest.mark.parametrize(("algo", "setting", "state"), [("td3", "noise", "missing"), ("sac", "target_entropy", "done")])
def test_a_run_that_does_not_name_a_setting_had_not_just_any_value_of_it(tmp_path, algo, setting, state):
    """Only of settings that were added later it is known what older runs had."""
    (need,) = [need for need in needs("table1") if (need.algo, need.env) == (algo, "Ant-v4")]
    (program,) = programs([need], tmp_path)
    config = write(program, 1.0) / "config.toml"
    lines = config.read_text().splitlines(keepends=True)
    kept = [line for line in lines if not line.startswith(f"{setting} =")]
    assert len(kept) == len(lines) - 1
    config.write_text("".join(kept))
    assert [p.state for p in programs([need], tmp_path)] == [state]


@pytest.fixture
def counted(monkeypatch):
    """Training takes no time, and is counted: the jobs that were run, and the folders that went on."""
    calls = {"run": [], "resume": []}
    by_folder = {}

    def run(job, out, show=True):
        calls["run"].append(job)
        write(by_folder[out], 1.0)
        return training.Outcome([], [], [], job.run.steps, None)

    def resume(path, show=True, **changes):
        calls["resume"].append((path, changes))
        return training.Outcome([], [], [], changes["steps"], None)

    original = runs.programs

    def remember(needed, out):
        found = original(needed, out)
        by_folder.update({p.folder: p for p in found})
        return found

    monkeypatch.setattr(runs, "programs", remember)
    monkeypatch.setattr(training, "run", run)
    monkeypatch.setattr(training, "resume", resume)
    return calls


def test_variants_share_a_program_and_are_trained_once(tmp_path, counted):
    one_task = [need for need in needs("ablation-alpha") if need.env == "Ant-v4"]
    assert runs.train(one_task, tmp_path, []) is None
    assert [[v.config.alpha for v in job.variants] for job in counted["run"]] == [[0, 0.2, 0.5, 1]]
    assert runs.train(one_task, tmp_path, []) is None
    assert len(counted["run"]) == 1
    assert counted["resume"] == []


def test_each_size_of_the_ensemble_is_a_program(tmp_path, counted):
    one_task = [need for need in needs("ablation-n") if need.env == "Ant-v4"]
    runs.train(one_task, tmp_path, [])
    assert [job.variants[0].config.n for job in counted["run"]] == [2, 5, 10, 20]
    assert {tuple(v.config.alpha for v in job.variants) for job in counted["run"]} == {(0.2, 0)}


def test_a_cut_run_is_resumed(tmp_path, counted):
    (program, *others) = programs(needs("table1"), tmp_path)
    write(program, 1.0, until=300_000, checkpoint=275_000)
    runs.train(needs("table1"), tmp_path, [])
    assert counted["resume"] == [(program.folder, {"steps": MILLION})]
    assert len(counted["run"]) == len(others)


def test_a_run_that_was_cut_before_its_first_checkpoint_begins_again(tmp_path, counted, capsys):
    (program, *_) = programs([TOY], tmp_path)
    write(program, 7.0, until=30)
    runs.train([TOY], tmp_path, [])
    assert len(counted["run"]) == 1
    kept = tmp_path / "set-aside" / f"{program.folder.name}-1"
    assert "8.0" in (kept / "eval.csv").read_text()
    assert str(kept) in capsys.readouterr().out
    assert [p.state for p in programs([TOY], tmp_path)] == ["done"]


def test_a_run_with_settings_of_before_makes_room(tmp_path, counted, capsys):
    """A preset has changed since: the new run's folder has the same name."""
    (program,) = programs([TOY], tmp_path)
    config = write(program, 7.0) / "config.toml"
    config.write_text(config.read_text().replace("lr = 0.0003", "lr = 0.001"))
    assert [p.state for p in programs([TOY], tmp_path)] == ["missing"]
    failures: list[Failure] = []
    runs.train([TOY], tmp_path, failures)
    assert (len(counted["run"]), failures) == (1, [])
    kept = tmp_path / "set-aside" / f"{program.folder.name}-1"
    assert "lr = 0.001" in (kept / "config.toml").read_text()
    assert f"is no run with these settings: it is now in {kept}" in capsys.readouterr().out
    assert [p.state for p in programs([TOY], tmp_path)] == ["done"]


def test_a_run_that_another_process_begins_again_is_not_taken_away(tmp_path, counted, monkeypatch):
    (program,) = programs([TOY], tmp_path)
    write(program, 7.0, until=30)
    seen = runs.programs([TOY], tmp_path)
    monkeypatch.setattr(runs, "programs", lambda *_: seen)
    failures: list[Failure] = []
    with locked(program.folder):
        runs.train([TOY], tmp_path, failures)
    assert (counted["run"], failures) == ([], [])
    assert (program.folder / "eval.csv").exists()


def test_a_program_that_fails_does_not_keep_others_from_training(tmp_path, counted, monkeypatch, capsys):
    working = training.run

    def run(job, out, show=True):
        if job.run.algo == "sac":
            raise EnvironmentFault("the ant fell over")
        return working(job, out, show)

    monkeypatch.setattr(training, "run", run)
    failures: list[Failure] = []
    runs.train([need for need in needs("table1") if need.env == "Ant-v4"], tmp_path, failures)
    assert [job.run.algo for job in counted["run"]] == ["teen", "td3", "rnd", "sunrise"]
    assert [(f.program.like.algo, str(f.error)) for f in failures] == [("sac", "the ant fell over")]
    assert "the ant fell over" in capsys.readouterr().err


def test_a_program_that_another_process_has_just_taken_is_no_failure(tmp_path, counted, monkeypatch, capsys):
    """It takes it while this one prepares the same program."""
    working = training.run

    def run(job, out, show=True):
        if job.run.algo != "sac":
            return working(job, out, show)
        with locked(out), locked(out):
            pytest.fail("two processes train in one folder")

    monkeypatch.setattr(training, "run", run)
    failures: list[Failure] = []
    runs.train([need for need in needs("table1") if need.env == "Ant-v4"], tmp_path, failures)
    assert [job.run.algo for job in counted["run"]] == ["teen", "td3", "rnd", "sunrise"]
    assert not failures
    assert f"in use by process {os.getpid()}" in capsys.readouterr().out


def test_a_run_really_stopped_goes_on_to_the_same_end(tmp_path, capsys):
    """300 steps with a checkpoint every 100; the signal comes in the middle."""
    whole, cut = tmp_path / "whole", tmp_path / "cut"
    assert runs.train([TOY], whole, []) is None
    with stopped_by(signal.SIGTERM, Recorder, "stepped", 12):
        assert runs.train([TOY], cut, []) == signal.SIGTERM
    (program,) = programs([TOY], cut)
    assert (program.state, program.resumable) == ("cut", True)
    assert 0 < program.reached < 300
    entry = Entry("TD3", TOY)
    assert Store(cut).trained(entry).lacking == "seeds 0-1 after step 0"
    assert runs.train([TOY], cut, []) is None
    assert [p.state for p in programs([TOY], cut)] == ["done"]
    ends = [(out / "runs" / program.folder.name / "eval.csv").read_text() for out in (whole, cut)]
    assert ends[0] == ends[1]
    assert Store(cut).trained(entry).lacking == ""


def test_a_damaged_run_is_named(tmp_path):
    (program, *_) = programs([TOY], tmp_path)
    (write(program, 1.0) / "eval.csv").write_text("seed,step,policy,episode,return,length\n0,x,mean,0,1,1\n")
    with pytest.raises(UserError, match=r"eval\.csv is damaged"):
        programs([TOY], tmp_path)


def test_what_is_not_installed_is_said_before_anything_is_trained(tmp_path, monkeypatch):
    from teen.cli import paper as command

    monkeypatch.setitem(sys.modules, "sklearn.manifold", None)
    with pytest.raises(UserError, match="t-SNE needs scikit-learn"):
        command.run(["region"], Scale(smoke=True), tmp_path / "out")
    assert not (tmp_path / "out").exists()
