"""Recorded speeds: each is that of a benchmark, and estimates are what one works out from them by hand."""

import json
import re
from pathlib import Path
from statistics import median

import pytest

from teen.paper import estimate, recorded
from teen.paper.experiments import EXPERIMENTS
from teen.paper.needs import Need
from teen.paper.runs import planned_runs
from teen.paper.scale import Scale

from .synthetic import TOY, needs, write

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "benchmarks" / "results"
WHOLE = Scale()


def kept(name):
    return json.loads((RESULTS / name).read_text())


def seconds(out, *some, scale=WHOLE):
    """The seconds of a step by machine, then by kind of program."""
    return recorded.speeds(planned_runs(needs(*some, scale=scale), out))


def test_steps_are_those_of_the_benchmarks():
    teen, scaling = kept("h200/teen_loop.json")["us_a_step"], kept("2-core-epyc/scaling.json")
    h200, cores = recorded.machines()["H200"], recorded.machines()["2 cores"]
    updates = {int(n): us / 1000 for n, us in scaling["us_by_members"].items()}  # of one lane
    three = next(
        r["ms"] for r in kept("2-core-epyc/update_share.json")["updates"] if (r["algo"], r["lanes"]) == ("teen", 3)
    )
    assert dict(h200.steps) == pytest.approx(
        {
            10: kept("h200/td3_loop.json")["values"]["td3_loop"] / 1000,
            100: teen["HalfCheetah-v4"]["with"] / 1000,
            400: kept("h200/many_lanes.json")["loop_us"] / 1000,
        },
        rel=1e-3,
    )
    assert dict(cores.steps) == pytest.approx(
        {
            1: 1000 / median(kept("2-core-epyc/td3_peers.json")["steps_per_second"]["ours"]),
            **updates,
            30: three,
            100: scaling["us_by_lanes"]["10"] / 1000,
        },
        rel=1e-3,
    )


def test_ratios_are_those_of_the_benchmarks():
    """One lane of each: SAC against TD3 end to end, the others by the CPU time of a step, in turns."""
    ours = {algo: median(kept(f"2-core-epyc/{algo}_peers.json")["steps_per_second"]["ours"]) for algo in ("td3", "sac")}
    cpu = {name: median(values) for name, values in kept("2-core-epyc/step_cpu.json")["cpu_ms"].items()}
    sunrise = cpu["sunrise HalfCheetah-v4"] / cpu["teen HalfCheetah-v4"]  # five members against ten
    alike = {
        "humanoid": cpu["teen Humanoid-v4"] / cpu["teen HalfCheetah-v4"],
        **{f"m={m}": cpu[f"teen HalfCheetah-v4 m={m}"] / cpu["teen HalfCheetah-v4"] for m in (1, 5, 10)},
    }
    assert recorded.machines()["2 cores"].times == pytest.approx(
        {
            "sac": ours["td3"] / ours["sac"],
            "rnd": cpu["rnd HalfCheetah-v4"] / cpu["td3 HalfCheetah-v4"],
            "sunrise": sunrise * 24.13 / 11.80,  # steps of ten agents, and of five
            **alike,
        },
        rel=1e-2,
    )
    ant = kept("h200/teen_loop.json")["us_a_step"]
    assert recorded.machines()["H200"].times == pytest.approx(
        {
            "ant": ant["Ant-v4"]["with"] / ant["HalfCheetah-v4"]["with"],
            "sac": 23 / 24,
            "sunrise": sunrise * 0.989 / 0.7134,  # steps of 100 agents, and of 50: 0.493 + 0.496 · 40 / 90
            **alike,
        },
        rel=1e-2,
    )


def test_table1_by_hand(tmp_path):
    speeds = seconds(tmp_path, "table1")
    assert set(speeds) == {"H200", "2 cores"}
    h200, cores = speeds["H200"], speeds["2 cores"]
    assert len(h200) == len(cores) == 20
    assert h200["td3 HalfCheetah-v4 10 lanes"] == pytest.approx(0.493e-3)  # ten agents, as measured
    assert h200["teen Hopper-v4 20 lanes"] == pytest.approx(1.578e-3)  # a third of the way from 100 agents to 400
    assert h200["teen Ant-v4 20 lanes"] == pytest.approx(1.578e-3 * 1.57)
    assert h200["sac Ant-v4 10 lanes"] == pytest.approx(0.493e-3 * 0.96 * 1.57)
    assert cores["td3 Ant-v4 10 lanes"] == pytest.approx(24.13e-3)
    assert cores["teen HalfCheetah-v4 20 lanes"] == pytest.approx(2 * 311.2e-3)  # beyond what was measured


def test_members_and_settings_by_hand(tmp_path):
    speeds = seconds(tmp_path, "ablation-n", "ablation-m")
    assert speeds["H200"]["teen Hopper-v4 n=2 10 lanes"] == pytest.approx((0.493 + 0.496 / 9) / 1000)  # 20 agents
    assert speeds["H200"]["teen Hopper-v4 n=20 10 lanes"] == pytest.approx(1.578e-3)
    times = recorded.machines()["2 cores"].times
    assert speeds["2 cores"]["teen Hopper-v4 m=10 10 lanes"] == pytest.approx(311.2e-3 * times["m=10"])
    assert speeds["2 cores"]["teen Hopper-v4 10 lanes"] == pytest.approx(311.2e-3)


def test_two_updates_take_twice_as_long(tmp_path):
    speeds = seconds(tmp_path, "table1", scale=Scale(preset="tuned"))["H200"]
    assert speeds["teen Hopper-v4 tuned 20 lanes"] == pytest.approx(2 * 1.578e-3)
    assert speeds["td3 HalfCheetah-v4 tuned 10 lanes"] == pytest.approx(2 * 0.493e-3)
    assert speeds["rnd HalfCheetah-v4 10 lanes"] == pytest.approx(0.493e-3)  # has the paper's settings


def test_few_agents_take_no_less_than_the_fewest_that_were_measured(tmp_path):
    (planned,) = planned_runs([Need("td3", "Hopper-v4", None, (), (0,), 1000)], tmp_path)
    speeds = recorded.speeds([planned])
    assert speeds["H200"] == {"td3 Hopper-v4 1 lanes": pytest.approx(0.493e-3)}


def test_what_is_done_or_tiny_has_no_speed(tmp_path):
    for planned in planned_runs(needs("humanoid"), tmp_path):
        write(planned, 1.0)
    assert seconds(tmp_path, "humanoid") == {"H200": {}, "2 cores": {}}
    assert recorded.speeds(planned_runs([TOY], tmp_path)) == {"H200": {}, "2 cores": {}}


def test_the_page_shows_these_estimates(tmp_path):
    """The costs in docs/paper.md: of each experiment, what it needs beyond those above it."""
    rows = re.findall(r"^\| `([\w-]+)` .*\| ([^|]+) \| ([^|]+) \|$", (ROOT / "docs" / "paper.md").read_text(), re.M)
    assert [name for name, *_ in rows] == list(EXPERIMENTS)
    wanted = []
    before = dict.fromkeys(("H200", "2 cores"), 0.0)
    for name, *costs in rows:
        wanted += needs(name)
        plan = planned_runs(wanted, tmp_path)
        total = {machine: estimate.seconds_left(plan, speeds) for machine, speeds in recorded.speeds(plan).items()}
        further = [total[machine] - before[machine] for machine in ("H200", "2 cores")]
        assert costs == [estimate.words(time) if time > 1 else "–" for time in further], name
        before = total
