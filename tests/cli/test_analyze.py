"""`teen analyze`: what it prints is what it writes."""

import csv
import shutil

import numpy as np

from teen.cli import main as cli


def test_analyze_prints_means_and_sample_deviations(trained, tmp_path, capsys):
    run = tmp_path / "run"
    shutil.copytree(trained, run)
    assert cli.main(["analyze", str(run), "--episodes", "2"]) == 0
    text = " ".join(capsys.readouterr().out.replace("│", " ").split())
    assert "after 60 steps" in text
    with (run / "diagnostics.csv").open() as file:
        rows = list(csv.DictReader(file))
    for name in ("entropy_all", "kl_members", "return_mean_action"):
        values = [float(row["value"]) for row in rows if row["quantity"] == name]
        assert len(values) == 2
        assert f"{name} 2 {np.mean(values):.4g} {abs(values[0] - values[1]) / np.sqrt(2):.4g}" in text


def test_a_single_seed_has_no_deviation(tmp_path, capsys):
    flags = (
        "--algo td3 --env tests.toys:PointMass-v0 --steps 20 --warmup 10 --eval-every 20 --eval-episodes 1 --width 8"
    )
    assert cli.main(["train", *flags.split(), "--out", str(tmp_path / "run")]) == 0
    assert cli.main(["analyze", str(tmp_path / "run"), "--episodes", "1"]) == 0
    text = capsys.readouterr().out.replace("│", " ")
    (line,) = [line.split() for line in text.splitlines() if "entropy_all" in line]
    assert line[1] == "1"
    assert line[3] == "–"
