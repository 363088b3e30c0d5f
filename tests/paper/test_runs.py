"""Which runs are planned: shared by experiments, found again, or gone on with."""

import pytest

from teen.disk.lock import locked
from teen.errors import UserError
from teen.paper.experiments import EXPERIMENTS, MUJOCO
from teen.paper.needs import Need, folder_name
from teen.paper.runs import planned_runs
from teen.paper.scale import Scale
from teen.paper.store import Store

from .synthetic import TOY, needs, write

MILLION, HALF = 1_000_000, 500_000


def lanes(plan):
    return [(p.program, alpha, seed) for p in plan for alpha in p.alphas or (None,) for seed in p.seeds]


def test_a_run_that_several_experiments_need_is_one_run(tmp_path):
    table1, table2 = planned_runs(needs("table1"), tmp_path), planned_runs(needs("table2"), tmp_path)
    assert planned_runs(needs("curves-mujoco"), tmp_path) == table1
    assert planned_runs(needs("claims"), tmp_path) == table1 + table2
    assert planned_runs(needs("table1", "claims", "curves-dmc"), tmp_path) == table1 + table2
    assert len(table1) == 20
    assert len(table2) == 25


def test_teen_and_its_control_are_variants_of_one_program(tmp_path):
    for name in EXPERIMENTS:
        for planned in planned_runs(needs(name), tmp_path):
            if planned.program.algo == "teen":
                assert 0 in planned.alphas
                assert len(planned.alphas) > 1
    assert {p.alphas for p in planned_runs(needs("table1"), tmp_path)} == {(0.2, 0), ()}
    assert {p.alphas for p in planned_runs(needs("table2"), tmp_path)} == {(0.02, 0), ()}


def test_all_values_of_alpha_are_lanes_of_one_program(tmp_path):
    plan = planned_runs(needs("ablation-alpha"), tmp_path)
    assert sorted(p.program.env for p in plan) == sorted(MUJOCO)
    assert {(p.alphas, p.seeds) for p in plan} == {((0, 0.2, 0.5, 1), (0, 1, 2, 3, 4))}
    assert len(plan[0].job().variants) == 4


def test_no_lane_is_trained_twice(tmp_path):
    """The tables have ten seeds of two values of alpha, the ablation five of four."""
    plan = planned_runs(needs(*EXPERIMENTS), tmp_path)
    teen = Need("teen", "Ant-v4", None, (), (), 0)
    assert [(p.alphas, len(p.seeds)) for p in plan if p.program == teen] == [((0.2, 0), 10), ((0.5, 1), 5)]
    assert len(set(lanes(plan))) == len(lanes(plan))


def test_folders_are_named_by_what_tells_runs_apart(tmp_path):
    plan = planned_runs([*needs(*EXPERIMENTS), *needs(*EXPERIMENTS, scale=Scale(smoke=True))], tmp_path)
    names = [p.folder.name for p in plan]
    assert len(set(names)) == len(names)
    assert "teen-Ant-v4,n=5,alpha=0.2+0,seeds=0-4" in names
    assert "sac-dm_control-fish-swim,seeds=0-9" in names
    assert "td3-Ant-v4,seeds=0,steps=500000" in names
    assert folder_name(TOY, (), (0, 1, 2, 7)) == "smoke-td3-tests.toys-PointMass-v0,seeds=0-2+7"


def test_done_cut_under_way_and_missing(tmp_path):
    td3, sac, rnd, sunrise = planned_runs(needs("table1"), tmp_path)[1:5]
    assert td3.state == sac.state == "missing"
    write(td3, 1.0)
    write(sac, 1.0, until=HALF, checkpoint=475_000)
    with locked(rnd.folder):
        again = {p.folder: p for p in planned_runs(needs("table1"), tmp_path)}
    assert [again[p.folder].state for p in (td3, sac, rnd, sunrise)] == ["done", "cut", "under way", "missing"]
    assert [again[p.folder].left for p in (td3, sac, sunrise)] == [0, 525_000, MILLION]


def test_the_longest_run_serves_fewer_steps(tmp_path):
    for planned in planned_runs(needs("table1"), tmp_path):
        write(planned, 1.0)
    assert {p.state for p in planned_runs(needs("table1", scale=Scale(steps=HALF)), tmp_path)} == {"done"}
    assert {p.state for p in planned_runs(needs("table1", scale=Scale(seeds=(3, 4))), tmp_path)} == {"done"}


def test_runs_with_another_presets_settings_serve_that_preset_alone(tmp_path):
    """RND and SUNRISE have the same settings in both."""
    tuned = Scale(preset="tuned")
    for planned in planned_runs(needs("table1", scale=tuned), tmp_path):
        write(planned, 1.0)
        assert planned.folder.name.startswith("tuned-") == (planned.program.algo in ("teen", "td3", "sac"))
    assert {p.state for p in planned_runs(needs("table1", scale=tuned), tmp_path)} == {"done"}
    paper = planned_runs(needs("table1"), tmp_path)
    done = {p.program.algo: p.state == "done" for p in paper}
    assert done == {"teen": False, "td3": False, "sac": False, "rnd": True, "sunrise": True}
    assert not any("tuned" in p.folder.name for p in paper)


def test_a_shorter_run_goes_on(tmp_path):
    for planned in planned_runs(needs("table1", scale=Scale(steps=HALF)), tmp_path):
        write(planned, 1.0, checkpoint=HALF)
    plan = planned_runs(needs("table1"), tmp_path)
    assert {(p.state, p.reached, p.steps, p.resumable) for p in plan} == {("cut", HALF, MILLION, True)}


def test_a_longer_run_that_was_cut_goes_on_to_its_own_end(tmp_path):
    """A run cannot be resumed for fewer steps than it was begun for."""
    for planned in planned_runs(needs("table1"), tmp_path):
        write(planned, 1.0, until=MILLION // 5, checkpoint=MILLION // 5)
    plan = planned_runs(needs("table1", scale=Scale(steps=HALF)), tmp_path)
    assert {(p.state, p.reached, p.steps) for p in plan} == {("cut", MILLION // 5, MILLION)}


def test_more_seeds_train_beside_those_that_are_there(tmp_path):
    few = planned_runs(needs("table1", scale=Scale(seeds=(0, 1, 2))), tmp_path)
    for planned in few:
        write(planned, 1.0)
    missing = [p for p in planned_runs(needs("table1"), tmp_path) if p.state == "missing"]
    assert [p.seeds for p in missing] == [(3, 4, 5, 6, 7, 8, 9)] * 20
    (first,) = [p for p in missing if p.program.env == "Ant-v4" and p.program.algo == "td3"]
    write(first, 5.0)
    (entry,) = [e for e in EXPERIMENTS["table1"].entries(Scale()) if e.label == "TD3" and e.need.env == "Ant-v4"]
    trained = Store(tmp_path).trained(entry)
    assert [run.seeds for run in trained.runs] == [[0, 1, 2], [3, 4, 5, 6, 7, 8, 9]]
    assert trained.lacking == ""


def test_the_ablations_take_the_tables_runs(tmp_path):
    for planned in planned_runs(needs("table1"), tmp_path):
        write(planned, 1.0)
    left = [p for p in planned_runs(needs("ablation-n", "ablation-m"), tmp_path) if p.state == "missing"]
    assert {dict(p.program.changes).get("n") for p in left} == {2, 5, 20, None}
    assert {dict(p.program.changes).get("m") for p in left} == {1, 5, 10, None}
    assert () not in {p.program.changes for p in left}


def test_runs_that_end_at_half_of_training_are_kept_apart(tmp_path):
    half = planned_runs(needs("region"), tmp_path)
    assert {(p.steps, p.seeds, p.folder.parent.name) for p in half} == {(HALF, (0,), "agents")}
    for planned in half:
        write(planned, 1.0)
    assert {p.state for p in planned_runs(needs("region"), tmp_path)} == {"done"}
    assert {p.state for p in planned_runs(needs("table1"), tmp_path)} == {"missing"}
    other = planned_runs(needs("region", scale=Scale(steps=HALF)), tmp_path)
    assert {p.state for p in other} == {"missing"}


def test_a_run_with_other_settings_does_not_count(tmp_path):
    (planned, *_) = planned_runs(needs("table1"), tmp_path)
    config = write(planned, 1.0) / "alpha=0" / "config.toml"
    config.write_text(config.read_text().replace("lr = 0.0003", "lr = 0.001"))
    again = [p for p in planned_runs(needs("table1"), tmp_path) if p.program == planned.program]
    assert [(p.state, p.alphas) for p in again] == [("done", (0, 0.2)), ("missing", (0,))]


@pytest.mark.parametrize(("algo", "setting", "state"), [("td3", "noise", "missing"), ("sac", "target_entropy", "done")])
def test_a_run_that_does_not_name_a_setting_had_not_just_any_value_of_it(tmp_path, algo, setting, state):
    """Only of settings that were added later it is known what older runs had."""
    (need,) = [need for need in needs("table1") if (need.algo, need.env) == (algo, "Ant-v4")]
    (planned,) = planned_runs([need], tmp_path)
    config = write(planned, 1.0) / "config.toml"
    lines = config.read_text().splitlines(keepends=True)
    kept = [line for line in lines if not line.startswith(f"{setting} =")]
    assert len(kept) == len(lines) - 1
    config.write_text("".join(kept))
    assert [p.state for p in planned_runs([need], tmp_path)] == [state]


def test_a_damaged_run_is_named(tmp_path):
    (planned, *_) = planned_runs([TOY], tmp_path)
    (write(planned, 1.0) / "eval.csv").write_text("seed,step,policy,episode,return,length\n0,x,mean,0,1,1\n")
    with pytest.raises(UserError, match=r"eval\.csv is damaged"):
        planned_runs([TOY], tmp_path)
