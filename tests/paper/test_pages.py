"""What is rendered of runs whose returns are known: scores, claims, gaps and captions."""

import csv
import shutil

import pytest

from teen.paper import claims, numbers, tables
from teen.paper.curves import evaluated_together
from teen.paper.experiments import EXPERIMENTS, MUJOCO, SUITE
from teen.paper.page import Table
from teen.paper.reproduce import render
from teen.paper.runs import planned_runs
from teen.paper.scale import Scale
from teen.paper.scores import cells
from teen.paper.store import Store
from teen.report.runs import read

from .synthetic import FEW, LEVELS, needs, rendered, trained, write


def test_scores_stand_beside_the_papers(tmp_path):
    """Seeds 0 to 3 return level + seed, and once one more. Their squared distances from the mean sum to 5."""
    trained(tmp_path, "table1")
    page, rows = rendered(tmp_path, "table1")
    (teen,) = [r for r in rows if (r["env"], r["step"], r["label"]) == ("Ant-v4", "1000000", "TEEN")]
    assert float(teen["last_mean"]) == float(teen["iqm"]) == 9001.5
    assert float(teen["last_std"]) == pytest.approx((5 / 3) ** 0.5)
    assert float(teen["best_mean"]) == float(teen["best_iqm"]) == 9002.5
    assert 9001 <= float(teen["best_iqm_low"]) < 9002.5 < float(teen["best_iqm_high"]) <= 9004
    assert float(teen["best_iqm_low"]) == pytest.approx(float(teen["iqm_low"]) + 1)
    assert (teen["paper_mean"], teen["paper_spread"], teen["seeds"], teen["missing"]) == ("5930.0", "486.0", "4", "")
    (control,) = [r for r in rows if (r["env"], r["step"], r["label"]) == ("Ant-v4", "500000", "TEEN α=0")]
    assert (control["last_mean"], control["paper_mean"]) == ("9001.5", "")
    assert "| TD3 | 6002 ± 1 (9759 ± 778) | 6002 ± 1 (3479 ± 147) |" in page
    assert "| TD3 | 4 | 6002 ± 1 | 6002 [6000, 6003] | 6002 ± 1 | 6002 [6001, 6004] |" in page
    assert "thu-ml/tianshou@39acf209 benchmark csv" in page
    assert "Ours are of 4 seeds, the paper's of 10." in page
    assert "v4" in page
    assert "SMOKE" not in page
    assert (tmp_path / "table1" / "table1.png").read_bytes().startswith(b"\x89PNG")
    assert (tmp_path / "table1" / "table1.pdf").read_bytes().startswith(b"%PDF")


def test_the_spread_of_a_single_seed_is_unknown(tmp_path):
    one = Scale(seeds=(2,))
    trained(tmp_path, "table1", one)
    page, rows = rendered(tmp_path, "table1", one)
    (teen,) = [r for r in rows if (r["env"], r["step"], r["label"]) == ("Ant-v4", "1000000", "TEEN")]
    assert (teen["last_mean"], teen["last_std"], teen["best_mean"], teen["best_std"]) == ("9002.0", "", "9003.0", "")
    assert "| TEEN | 1 | 9002 ± – | 9002 [9002, 9002] | 9003 ± – | 9003 [9003, 9003] | 5930 ± 486 |  |" in page


def test_what_is_missing_is_said_and_not_invented(tmp_path):
    trained(tmp_path, "table1", keep=lambda p: p.program.algo != "sac" and p.program.env != "Hopper-v4")
    page, rows = rendered(tmp_path, "table1")
    (sac,) = [r for r in rows if (r["env"], r["step"], r["label"]) == ("Ant-v4", "1000000", "SAC")]
    assert (sac["seeds"], sac["last_mean"], sac["paper_mean"], sac["missing"]) == ("0", "", "5084.0", "not trained")
    assert "| SAC | – | – | – | – | – | 5084 ± 901 | not trained |" in page
    (line,) = [line for line in page.splitlines() if line.startswith("- Missing")]
    hopper = "Hopper-v4 (TEEN, TEEN α=0, TD3, SAC, RND, SUNRISE)"
    assert line == f"- Missing seeds 0-3: HalfCheetah-v4 (SAC); {hopper}; Walker2d-v4 (SAC); Ant-v4 (SAC)."


def test_a_page_says_that_its_settings_are_not_the_papers(tmp_path):
    tuned = FEW._replace(preset="tuned")
    trained(tmp_path, "table1", tuned)
    line = "- Ours have the settings of `--preset tuned`; the paper's numbers were obtained with the paper's."
    kept = "; ".join(f"{task}-v4 (RND, SUNRISE)" for task in ("HalfCheetah", "Hopper", "Walker2d", "Ant"))
    render(["table1", "table2"], tuned, tmp_path)
    lines = (tmp_path / "tuned-table1" / "table1.md").read_text().splitlines()
    assert {line, f"- Not changed by that preset: {kept}."} <= set(lines)
    lines = (tmp_path / "tuned-table2" / "table2.md").read_text().splitlines()
    assert "- `--preset tuned` changes nothing here: all have the paper's settings." in lines
    page, rows = rendered(tmp_path, "table1")
    assert line not in page.splitlines()
    assert {row["missing"] for row in rows if row["label"] in ("TEEN", "TEEN α=0", "TD3", "SAC")} == {"not trained"}


def test_runs_that_were_evaluated_less_often_serve_and_the_page_says_so(tmp_path):
    """TD3 on Hopper has one run of all four seeds every 20,000 steps, and one of the last two as often as the paper."""
    (td3,) = [p for p in planned_runs(needs("table1", scale=FEW), tmp_path) if p.folder.name.startswith("td3-Hopper")]

    coarser = td3.program._replace(changes=(("eval_every", 20_000), ("eval_episodes", 3)))
    write(td3._replace(folder=td3.folder.with_name("coarser"), program=coarser), 100.0)
    write(td3._replace(seeds=(2, 3)), 200.0)
    page, rows = rendered(tmp_path, "table1")
    (row,) = [r for r in rows if (r["env"], r["step"], r["label"]) == ("Hopper-v4", "1000000", "TD3")]
    assert float(row["last_mean"]) == (100 + 101 + 202 + 203) / 4
    line = "- Evaluated every 20,000 steps, 3 episodes each; the paper every 5,000, 10 each: Hopper-v4 (TD3). Their "
    assert page.splitlines().count(f"{line}best so far is a maximum over more or fewer evaluations.") == 1
    plan = planned_runs(needs("table1", scale=FEW), tmp_path)
    assert not any(p.left for p in plan if (p.program.algo, p.program.env) == ("td3", "Hopper-v4"))


def test_a_run_with_nonsense_for_its_evaluations_is_the_last_to_be_taken(tmp_path):
    (td3,) = [p for p in planned_runs(needs("table1", scale=FEW), tmp_path) if p.folder.name.startswith("td3-Hopper")]
    write(td3, 100.0)
    odd = write(td3._replace(folder=td3.folder.with_name("odd")), 200.0) / "config.toml"
    odd.write_text(odd.read_text().replace("eval_every = 5000", 'eval_every = "often"'))
    for level, said in ((100, False), (200, True)):
        page, rows = rendered(tmp_path, "table1")
        (row,) = [r for r in rows if (r["env"], r["step"], r["label"]) == ("Hopper-v4", "1000000", "TD3")]
        assert float(row["last_mean"]) == level + 1.5
        assert ("- Evaluated at unknown intervals, 10 episodes each; the paper" in page) == said
        shutil.rmtree(td3.folder, ignore_errors=True)


def test_curves_have_no_evaluation_that_one_of_their_runs_skipped(tmp_path):
    """Seeds 0 and 1 every 100,000 steps up to 500,000, seeds 2 and 3 every 200,000 up to a million."""
    (td3,) = [p for p in planned_runs(needs("table1", scale=FEW), tmp_path) if p.folder.name.startswith("td3-Hopper")]
    write(td3._replace(seeds=(0, 1)), 100.0, until=500_000)
    half = read(write(td3._replace(seeds=(2, 3), folder=td3.folder.with_name("half")), 100.0))
    rarer = half._replace(steps=half.steps[1::2], returns=half.returns[:, 1::2], episodes=half.episodes[:, 1::2])
    first, second = evaluated_together([read(td3.folder), rarer])
    assert first.steps.tolist() == [200_000, 400_000]
    assert second.steps.tolist() == [200_000, 400_000, 600_000, 800_000, 1_000_000]
    assert first.returns.tolist() == [[100, 100], [101, 101]]
    assert second.returns.shape == (2, 5)


def test_shorter_runs_are_not_set_beside_longer_ones(tmp_path):
    short = FEW._replace(steps=200_000)
    trained(tmp_path, "table1", short)
    page, rows = rendered(tmp_path, "table1", short)
    assert "Ours are up to step 200,000, the paper's up to 1,000,000." in page
    for row in rows:
        assert bool(row["last_mean"]) == (row["step"] == "200000")
        assert not (row["last_mean"] and row["paper_mean"])
    assert "ours end at 200,000" in page


@pytest.mark.parametrize(("steps", "end"), [(200_000, 200_000), (234_567, 300_000)])
def test_of_longer_runs_no_more_is_shown_than_was_asked_for(tmp_path, steps, end):
    """Where there is no evaluation at that step, curves go on to the next."""
    short = FEW._replace(steps=steps)
    trained(tmp_path, "curves-mujoco")
    page, rows = rendered(tmp_path, "curves-mujoco", short)
    assert f"Ours are up to step {steps:,}, the paper's up to 1,000,000." in page
    assert {row["step"] for row in rows if row["last_mean"]} == {str(steps)}
    with (tmp_path / "curves-mujoco" / "curves-mujoco-curves.csv").open() as file:
        assert max(int(row["step"]) for row in csv.DictReader(file)) == end
    assert "Missing" not in page


def test_a_run_that_was_cut_shows_as_far_as_it_came(tmp_path):
    for planned in planned_runs(needs("table1", scale=FEW), tmp_path):
        write(planned, 100.0, until=500_000, checkpoint=500_000)
    page, rows = rendered(tmp_path, "table1")
    assert all(bool(row["last_mean"]) == (row["step"] == "500000") for row in rows)
    assert "seeds 0-3 after step 500,000" in page


@pytest.mark.parametrize(("end", "before"), [(100_000, 3), (0, 3), (600_000, 4)])
def test_a_quarantined_seed_is_missed(tmp_path, end, before):
    for planned in planned_runs(needs("table1", scale=FEW), tmp_path):
        write(planned, 100.0, quarantined={0: end} if planned.program.algo == "td3" else {})
    page, rows = rendered(tmp_path, "table1")
    words = f"seed 0, quarantined after step {end:,}"
    td3 = {int(r["step"]): r for r in rows if (r["env"], r["label"]) == ("Ant-v4", "TD3")}
    assert (td3[500_000]["seeds"], td3[500_000]["wanted"]) == (str(before), "4")
    assert (td3[1_000_000]["seeds"], td3[1_000_000]["missing"]) == ("3", words)
    assert float(td3[1_000_000]["last_mean"]) == 102.0
    assert "| TD3 | 3 of 4 | 102 ± 1 |" in page
    assert f"- Missing {words}: HalfCheetah-v4 (TD3); Hopper-v4 (TD3); Walker2d-v4 (TD3); Ant-v4 (TD3)." in page
    assert "| SAC | 4 | " in page


def test_where_all_wanted_seeds_are_quarantined_there_is_no_score(tmp_path):
    for planned in planned_runs(needs("table1", scale=FEW), tmp_path):
        write(planned, 100.0, quarantined={2: 600_000, 3: 600_000})
    _, rows = rendered(tmp_path, "table1", Scale(seeds=(2, 3)))
    wrong = "seeds 2-3, quarantined after step 600,000"
    assert {(r["seeds"], r["missing"]) for r in rows if r["step"] == "1000000"} == {("0", wrong)}


def test_claims_are_computed_from_our_runs_too(tmp_path):
    """TEEN 9001.5, the best baseline 6001.5, SUNRISE 3001.5 on every task."""
    trained(tmp_path, "claims")
    page, rows = rendered(tmp_path, "claims")
    ours = {(r["over"], r["tasks"]): r for r in rows if r["step"] == "1000000"}
    assert float(ours["SUNRISE", "all nine"]["ours_last"]) == pytest.approx(9001.5 / 3001.5 - 1)
    assert float(ours["the best baseline of each task", "MuJoCo"]["control_best"]) == pytest.approx(9002.5 / 6002.5 - 1)
    assert float(ours["SUNRISE", "MuJoCo"]["paper"]) == pytest.approx(0.413, abs=0.0005)
    assert ours["SUNRISE", "all nine"]["tasks_ours"] == "9"
    assert "| SUNRISE | all nine | 41 % | 36.2 % | 199.9 % |" in page


def test_claims_of_some_tasks_say_so(tmp_path):
    trained(tmp_path, "claims", keep=lambda p: p.program.env in ("Ant-v4", "Hopper-v4", "dm_control/fish-swim"))
    page, _ = rendered(tmp_path, "claims")
    assert "199.9 % (2 of 4 tasks)" in page
    assert "199.9 % (3 of 9 tasks)" in page


def test_gains_over_td3_and_sac_alone(tmp_path):
    """Where RND and SUNRISE are missing, the gain over the better of the other two is there all the same."""
    trained(tmp_path, "claims", keep=lambda p: p.program.algo not in ("rnd", "sunrise"))
    page, rows = rendered(tmp_path, "claims")
    ours = {r["over"]: r["ours_last"] for r in rows if (r["step"], r["tasks"]) == ("500000", "MuJoCo")}
    assert float(ours.pop("the better of TD3 and SAC")) == pytest.approx(9001.5 / 6001.5 - 1)
    assert set(ours.values()) == {""}
    # from the paper's Table 1 at 500k: 10139 / 9590, 3548 / 3332, 4034 / 3798, 5009 / 4179
    assert "| the better of TD3 and SAC | MuJoCo | – | 9.6 % | 50.0 % |" in page


def heights(axes):
    return [round(bar.get_height()) for bar in axes.patches]


def shown(tmp_path, name, scale=FEW):
    store = Store(tmp_path)
    return [store.trained(entry) for entry in EXPERIMENTS[name].entries(scale)]


def test_bars_are_of_the_step_that_most_runs_reached(tmp_path):
    """Four algorithms end at 500k on Ant-v4, and TD3 goes on; none is trained on Hopper-v4."""
    for planned in planned_runs(needs("table1", scale=FEW), tmp_path):
        if planned.program.env == "Ant-v4":
            write(planned, LEVELS[planned.program.algo], None if planned.program.algo == "td3" else 500_000)
    figure = tables.plot_bars(cells(shown(tmp_path, "table1"), numbers.STEPS))
    hopper, ant = figure.axes[1], figure.axes[3]
    assert (hopper.get_title(), ant.get_title()) == ("Hopper-v4, 1M", "Ant-v4, 500k")
    assert heights(hopper) == [3687, 3479, 3484, 3148, 3644]
    assert heights(ant) == [9002, 5009, 9002, 6002, 4179, 5002, 3302, 4002, 3666, 3002, 1964]


def test_bars_of_a_step_that_the_paper_does_not_print_stand_beside_its_last(tmp_path):
    short = FEW._replace(steps=200_000)
    trained(tmp_path, "table1", short)
    figure = tables.plot_bars(cells(shown(tmp_path, "table1", short), (200_000, *numbers.STEPS)))
    assert figure.axes[3].get_title() == "Ant-v4, 200k (the paper: 1M)"
    assert sorted(heights(figure.axes[3])) == sorted([9002, 9002, 6002, 5002, 4002, 3002, 5930, 5142, 5084, 4990, 3523])


def test_gains_are_drawn_where_all_tasks_have_one(tmp_path):
    """All on MuJoCo at 500k; of DeepMind Control one task, so that neither it nor all nine have a bar of ours."""
    for planned in planned_runs(needs("claims", scale=FEW), tmp_path):
        if planned.program.env in (*MUJOCO, "dm_control/cheetah-run"):
            write(planned, LEVELS[planned.program.algo], 500_000)
    rows = claims.gains(shown(tmp_path, "claims"), {"MuJoCo": MUJOCO, "DM Control": SUITE, "all nine": MUJOCO + SUITE})
    figure = claims.plot_gains(rows)
    assert [text.get_text() for text in figure.legends[0].get_texts()] == [
        "the paper at 500k", "ours at 500k, last 50k", "the same with α=0"
    ]  # fmt: skip
    assert [heights(axes) for axes in figure.axes] == [
        [67, 44, 54, 200, 200], [9, 13, 11, 50, 50], [10, 13, 11, 50, 50], [10, 13, 11, 50, 50]
    ]  # fmt: skip
    shutil.rmtree(tmp_path)
    for planned in planned_runs(needs("claims", scale=FEW), tmp_path):
        if planned.program.env in MUJOCO and planned.program.algo in ("teen", "td3", "sac"):
            write(planned, LEVELS[planned.program.algo], 500_000)
    (only,) = claims.plot_gains(claims.gains(shown(tmp_path, "claims"), {"MuJoCo": MUJOCO})).axes
    assert (only.get_title(), heights(only)) == ("over the better of TD3 and SAC", [10, 50, 50])


@pytest.mark.parametrize("name", ["curves-mujoco", "reward-scale"])
def test_curves_have_a_row_per_evaluation(tmp_path, name):
    trained(tmp_path, name)
    rendered(tmp_path, name)
    with (tmp_path / name / f"{name}-curves.csv").open() as file:
        rows = list(csv.DictReader(file))
    count = len(EXPERIMENTS[name].entries(FEW))
    assert len(rows) == 10 * count
    first = [row for row in rows if row["step"] == "100000"]
    assert len({(row["panel"], row["label"]) for row in first}) == count
    assert {row["count"] for row in rows} == {"4"}
    for kind in ("mean", "iqm"):
        assert (tmp_path / name / f"{name}-{kind}.png").exists()


def test_scaled_rewards_have_a_panel_for_the_control(tmp_path):
    trained(tmp_path, "reward-scale")
    _, rows = rendered(tmp_path, "reward-scale")
    labels = {row["label"] for row in rows}
    assert {"rewards × 0.1", "rewards × 0.1, α=0", "rewards × 100", "rewards × 100, α=0"} <= labels
    usual = [r for r in rows if r["label"] == "rewards × 1" and r["env"] == "Ant-v4" and r["step"] == "1000000"]
    assert [r["paper_mean"] for r in usual] == ["5930.0"]


def test_nothing_trained_shows_what_the_paper_has(tmp_path):
    for name in EXPERIMENTS:
        if name not in ("region", "theory"):
            page, rows = rendered(tmp_path, name)
            assert all(not row.get("last_mean") for row in rows)
            assert name == "claims" or "not trained" in page or name == "humanoid"


def test_a_bar_in_a_cell_does_not_end_it():
    table = Table("h", ["a|b"], [["c"]])
    assert table.markdown().splitlines()[2] == "| a\\|b |"
