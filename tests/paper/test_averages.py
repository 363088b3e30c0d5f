"""Average gains with intervals, of runs whose returns are known."""

import csv

import numpy as np
import pytest
from scipy.stats import t as student

from teen.paper.scale import Scale

from .synthetic import rendered, trained


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
    assert (float(control["gain"]), control["known"], control["asked"]) == (pytest.approx(0), "8", "9")
    assert {rows["TEEN", other, "MuJoCo"]["gain"] for other in ("SAC", "RND", "SUNRISE")} == {""}
    table = page.partition("## Average gains at step 500,000")[2].partition("##")[0]
    shown = [f"50.0 % [50.0, 50.0]{part}" for part in ("", " (4 of 5 tasks)", " (8 of 9 tasks)")]
    assert f"| TEEN over TD3 | {' | '.join(shown)} |" in table
    assert "over SAC" not in table


def test_a_single_seed_has_no_average_gain(tmp_path):
    trained(tmp_path, "claims", scale=Scale(seeds=(0,)))
    page, _ = rendered(tmp_path, "claims", Scale(seeds=(0,)))
    assert "| SUNRISE | all nine | 41 % |" in page
    assert "## Average gains" not in page
