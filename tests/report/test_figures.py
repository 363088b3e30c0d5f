"""Figures and tables on disk."""

import csv
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from matplotlib.figure import Figure
from PIL import Image

from teen import UserError
from teen.cli.report import command
from teen.report import curve, figures
from teen.report import runs as reading
from teen.report.write import write

from .synthetic import EVERY, HOSTILE, evaluate, score, write_run


def rows(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def names(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    root = tmp_path_factory.mktemp("report")
    for algo, level in (("td3", 1), ("teen", 2)):
        for env in ("Hopper-v5", "dm_control/fish-swim"):
            write_run(root / "runs" / f"{algo}-{env}".replace("/", "-"), algo, env, level, members=2)
    assert command([str(root / "runs"), "--out", str(root / "out")]) == 0
    return root / "out"


def test_a_report_holds_the_page_figures_and_tables(report):
    stems = [f"{env}-{kind}" for env in ("Hopper-v5", "dm_control-fish-swim", "all") for kind in ("mean", "iqm")]
    tables = "curves members seeds scores improvement normalised training"
    assert names(report) == {
        "index.html",
        "data/report.json",
        *(f"data/{name}.csv" for name in tables.split()),
        *(f"figures/{stem}.{suffix}" for stem in stems for suffix in ("png", "pdf")),
    }


def test_figures_have_a_papers_widths_and_vector_fonts(report):
    for name, width in (("Hopper-v5-mean", 3.3), ("all-iqm", 6.8)):
        with Image.open(report / "figures" / f"{name}.png") as picture:
            assert picture.width == pytest.approx(width * 300, abs=1)
            assert len(picture.convert("RGB").getcolors(2**24)) > 10
        pdf = (report / "figures" / f"{name}.pdf").read_bytes()
        box = re.search(rb"/MediaBox \[ ?0 0 ([\d.]+) ", pdf)
        assert float(box[1]) == pytest.approx(width * 72, abs=1)
        assert b"/Type42" in pdf or b"/TrueType" in pdf or b"/CIDFontType2" in pdf
        assert b"/Type3" not in pdf


def test_tables_say_what_the_runs_did(report):
    curves = [row for row in rows(report / "data/curves.csv") if (row["env"], row["label"]) == ("Hopper-v5", "teen")]
    assert [(int(row["step"]), float(row["mean"])) for row in curves] == [
        (step, score(2, step, 1)) for step in range(10_000, 100_001, 10_000)
    ]
    last = next(r for r in rows(report / "data/scores.csv") if (r["env"], r["label"]) == ("Hopper-v5", "td3"))
    assert float(last["last_mean"]) == pytest.approx(np.mean([score(1, s, 1) for s in range(60_000, 100_001, 10_000)]))
    assert float(last["best_mean"]) == pytest.approx(score(1, 100_000, 1))
    assert len(rows(report / "data/seeds.csv")) == 2 * 2 * 3 * 10


def test_scores_are_given_at_the_steps_asked_for_too(tmp_path):
    write_run(tmp_path / "run")
    out = tmp_path / "out"
    assert command([str(tmp_path / "run"), "--out", str(out), "--steps", "20000,70000"]) == 0
    scores = {int(row["step"]): row for row in rows(out / "data/scores.csv")}
    assert list(scores) == [20_000, 70_000, 100_000]
    assert float(scores[20_000]["best_mean"]) == score(1, 20_000, 1)


def test_the_same_runs_give_the_same_files(tmp_path):
    runs = [reading.read(write_run(tmp_path / "a", evaluations=3))]
    write(runs, tmp_path / "one")
    write(runs, tmp_path / "two")
    assert names(tmp_path / "one") == names(tmp_path / "two")
    for name in names(tmp_path / "one"):
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes(), name


def test_a_report_takes_an_earlier_ones_place_and_nobody_elses(tmp_path):
    a = reading.read(write_run(tmp_path / "a", evaluations=2))
    b = reading.read(write_run(tmp_path / "b", env="Ant-v5", evaluations=2))
    out = tmp_path / "out"
    write([a], out)
    (out / "notes.txt").write_text("mine")
    write([b], out)
    assert (out / "notes.txt").read_text() == "mine"
    assert not [name for name in names(out) if "Hopper" in name]
    assert (out / "figures" / "Ant-v5-mean.pdf").exists()
    other = tmp_path / "other"
    other.mkdir()
    write([a], other)  # empty is as good as new
    for harm in ("thesis.txt", "data/report.json"):
        full = tmp_path / harm.replace("/", "-")
        (full / harm).parent.mkdir(parents=True)
        (full / harm).write_text("mine")
        with pytest.raises(UserError, match="exists already and is no report"):
            write([a], full)
        assert names(full) == {harm}


def test_an_earlier_report_cannot_name_files_outside(tmp_path):
    run = reading.read(write_run(tmp_path / "a", evaluations=1))
    out, victim = tmp_path / "out", tmp_path / "victim"
    write([run], out)
    victim.write_text("mine")
    (out / "data/report.json").write_text('{"files": ["../victim", "data/../../victim", "/tmp/x", 3]}')
    write([run], out)
    assert victim.read_text() == "mine"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["fresh", "--out", "new"], "no run has an evaluation yet"),
        (["empty", "--out", "new"], "holds no run"),
        (["missing", "--out", "new"], "is not a folder"),
        (["fine", "--out", "file/new"], "cannot be written"),
        (["fine", "--out", "fine/new"], "fine/new lies inside the run .*/fine, .*: choose another --out"),
        (["fine", "--out", "fresh/agent/new"], "fresh/agent/new lies inside the run"),
        (["fine", "--out", "fine"], "exists already and is no report"),
        (["fine", "--out", "new", "--steps", "999999"], "no run has a score at step 999999"),
        (["fine", "--out", "new", "--steps", "soon"], "names no steps"),
        (["fine"], "--out"),
    ],
)
def test_bad_input_is_named_and_leaves_nothing(arguments, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_run(Path("fresh"), evaluations=0)
    write_run(Path("fine"), evaluations=1)
    Path("empty").mkdir()
    Path("file").write_text("")
    with pytest.raises(UserError, match=message):
        command(arguments)
    assert not [*Path().rglob("new"), *Path().rglob("index.html")]


def test_odd_runs_are_plotted(tmp_path):
    """One seed and one evaluation; names that mean something to a file system, to TeX or to matplotlib."""
    one = write_run(tmp_path / "a", HOSTILE, "../../etc/passwd", seeds=(3,), evaluations=1)
    two = write_run(tmp_path / "b", "_hidden", f"$x^{HOSTILE}", evaluations=2)
    out = tmp_path / "reports" / "out"
    write([reading.read(one), reading.read(two)], out)
    assert {path.parent for path in tmp_path.rglob("*.pdf")} == {out / "figures"}
    assert len(list(out.rglob("*.pdf"))) == 6


def test_many_labels_and_environments_fit(tmp_path):
    runs = [
        reading.read(write_run(tmp_path / f"{env}{k}", f"algorithm-{k}", f"Env{env}-v0", evaluations=2))
        for env in range(4)
        for k in range(9)
    ]
    out = write(runs, tmp_path / "out").parent
    with Image.open(out / "figures" / "all-mean.png") as picture:
        assert picture.width == pytest.approx(6.8 * 300, abs=1)


def test_the_curve_of_a_run_goes_on_after_a_seed_has_ended(tmp_path):
    run = write_run(tmp_path / "a", evaluations=2)
    for number in (3, 4):
        evaluate(run, number * EVERY, 1, (0, 2))
    evaluate(run, 5 * EVERY, 1, (2,))
    (axes,) = curve.figure(reading.evaluations(run), "td3").axes
    middle = axes.lines[-1]
    np.testing.assert_array_equal(middle.get_xdata(), EVERY * np.arange(1, 6))
    assert middle.get_ydata()[1:].tolist() == [
        score(1, k * EVERY, seed) for k, seed in ((2, 1), (3, 1), (4, 1), (5, 2))
    ]
    assert middle.get_label() == "mean of 3 seeds, 1 at the end"
    (band,) = axes.collections
    corners = np.concatenate([path.vertices for path in band.get_paths()])
    assert corners[:, 0].max() == 4 * EVERY  # the seed that is left has no band
    assert np.ptp(corners[corners[:, 0] == 2 * EVERY, 1]) == pytest.approx(2)  # ± 1: of 0, 1 and 2
    assert np.ptp(corners[corners[:, 0] == 4 * EVERY, 1]) == pytest.approx(2 * 2**0.5)  # of 0 and 2


def test_a_curve_of_one_seed_has_no_band(tmp_path):
    run = write_run(tmp_path / "a", seeds=(0,), evaluations=3)
    (axes,) = curve.figure(reading.evaluations(run), "td3").axes
    assert [path for band in axes.collections for path in band.get_paths()] == []
    assert axes.lines[-1].get_ydata().tolist() == [score(1, k * EVERY, 0) for k in (1, 2, 3)]


def test_a_curve_that_cannot_be_plotted_leaves_the_earlier_picture(tmp_path, monkeypatch):
    evaluations, picture = reading.evaluations(write_run(tmp_path / "a", evaluations=2)), tmp_path / "curve.png"
    curve.plot(evaluations, picture, "td3")
    before = picture.read_bytes()
    assert before.startswith(b"\x89PNG")

    def fail(figure, file, **options):
        file.write(b"half")
        raise OSError("no space")

    monkeypatch.setattr(Figure, "savefig", fail)
    with pytest.raises(OSError, match="no space"):
        curve.plot(evaluations, picture, "td3")
    assert picture.read_bytes() == before


def test_file_names_are_harmless_and_distinct():
    assert figures.file_names(["all"]) == ["all-2"]
    assert figures.file_names(["a/b", "a:b", "a b", "", "..", "all", "x" * 500]) == [
        "a-b", "a-b-2", "a-b-3", "env", "env-2", "all-2", "x" * 80,
    ]  # fmt: skip


def test_a_curve_may_have_any_title(tmp_path):
    """Mathematics that is none, control codes, letters that the font lacks, and more than fits."""
    evaluations = reading.evaluations(write_run(tmp_path / "a", evaluations=2))
    for title in (f"teen on $x^{{{HOSTILE}$", "\x1b[31m\a\x00", "試験 \U0001f9e8", "x" * 500):
        curve.plot(evaluations, tmp_path / "curve.png", title)
        assert (tmp_path / "curve.png").read_bytes().startswith(b"\x89PNG")


def test_a_matplotlibrc_in_the_current_folder_changes_nothing(tmp_path):
    """It may be a stranger's: with `text.usetex` names would go through LaTeX."""
    (tmp_path / "matplotlibrc").write_text("text.usetex: True\naxes.facecolor: ff0000\n")
    code = (
        "import sys, hashlib, matplotlib; from teen.report.figures import files; from matplotlib.figure import Figure\n"
        "make = lambda: Figure().add_subplot().figure\n"
        "print(matplotlib.rcParams['text.usetex'], [hashlib.sha256(data).hexdigest() for _, data in files('a', make)])"
    )
    texts = [
        subprocess.run([sys.executable, "-c", code], cwd=folder, capture_output=True, text=True, check=True).stdout
        for folder in (tmp_path, tmp_path.parent)
    ]
    assert texts[0].startswith("True [")
    assert texts[1].startswith("False [")
    assert texts[0].partition("[")[2] == texts[1].partition("[")[2]
