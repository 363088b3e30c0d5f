"""Average gains with intervals, of runs whose returns are known."""

import csv

import numpy as np
import pytest
from scipy.stats import t as student

from teen.paper.runs import planned_runs
from teen.paper.scale import Scale

from .synthetic import FEW, needs, rendered, trained, write


def test_average_gains_have_intervals(tmp_path):
    """TEEN's four seeds have 9000 to 9003 on every task, TD3's 6000 to 6003: a sample variance of 5 / 3."""
    fish = "dm_control/fish-swim"
    trained(tmp_path, "claims", keep=lambda p: p.program.algo in ("teen", "td3") and p.program.env != fish)
    page, _ = rendered(tmp_path, "claims")
    with (tmp_path / "claims" / "claims-average.csv").open() as file:
        rows = {(r["label"], r["over"], r["tasks"]): r for r in csv.DictReader(file) if r["step"] == "500000"}
    mujoco = rows["TEEN", "TD3", "MuJoCo"]
    assert float(mujoco["gain"]) == pytest.approx(9001.5 / 6001.5 - 1)
    parts = np.array([5 / 3 / 4 / mean**2 for mean in (9001.5, 6001.5)])  # variances of log(mean)
    freedom = 4 * 3 * parts.sum() ** 2 / (parts**2).sum()
    half = student.ppf(0.975, freedom) * (parts.sum() / 4) ** 0.5  # of four tasks
    ends = [9001.5 / 6001.5 * np.exp(sign * half) - 1 for sign in (-1, 1)]
    assert [float(mujoco[end]) for end in ("low", "high")] == pytest.approx(ends)
    control = rows["TEEN", "TEEN α=0", "all nine"]
    assert (float(control["gain"]), control["tasks_known"], control["tasks_asked"]) == (pytest.approx(0), "8", "9")
    assert {rows["TEEN", other, "MuJoCo"]["gain"] for other in ("SAC", "RND", "SUNRISE")} == {""}
    table = page.partition("## Average gains at step 500,000")[2].partition("##")[0]
    shown = [f"50.0 % [50.0, 50.0]{part}" for part in ("", " (4 of 5 tasks)", " (8 of 9 tasks)")]
    assert f"| TEEN over TD3 | {' | '.join(shown)} |" in table
    assert "over SAC" not in table


def test_tasks_differ_and_some_do_not_count(tmp_path):
    """TEEN has twice TD3's on Ant-v4, half of it on Hopper-v4 and as much on Walker2d-v4, with the same spread; TD3's
    mean on HalfCheetah-v4 is hardly above 0."""
    levels = {
        "Ant-v4": (2000, 1000),
        "Hopper-v4": (1000, 2000),
        "Walker2d-v4": (1000, 1000),
        "HalfCheetah-v4": (9000, -1.4),
    }
    for planned in planned_runs(needs("table1", scale=FEW), tmp_path):
        if planned.program.algo in ("teen", "td3"):
            write(planned, levels[planned.program.env][planned.program.algo == "td3"])
    rendered(tmp_path, "claims")
    with (tmp_path / "claims" / "claims-average.csv").open() as file:
        (row,) = [
            r
            for r in csv.DictReader(file)
            if (r["label"], r["over"], r["tasks"], r["step"]) == ("TEEN", "TD3", "MuJoCo", "500000")
        ]
    assert (row["tasks_known"], row["tasks_asked"]) == ("3", "4")
    ratios = 2001.5 / 1001.5, 1001.5 / 2001.5, 1
    assert float(row["gain"]) == pytest.approx(np.prod(ratios) ** (1 / 3) - 1, abs=1e-9)
    assert float(row["low"]) < 0 < float(row["high"])


def test_a_single_seed_has_no_average_gain(tmp_path):
    trained(tmp_path, "claims", scale=Scale(seeds=(0,)))
    page, _ = rendered(tmp_path, "claims", Scale(seeds=(0,)))
    assert "| SUNRISE | all nine | 41 % |" in page
    assert "verage gain" not in page
