"""The folder of a report: what is written there, what is left alone, and what happens when writing is interrupted."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from teen import UserError
from teen.cli.compare import command as compare_command
from teen.cli.main import main
from teen.report import figures, write
from teen.report import runs as reading

from .synthetic import write_run


@pytest.fixture(autouse=True)
def small_figures(monkeypatch):
    """Figures take a second each, and these tests are not about them."""
    monkeypatch.setattr(figures, "plot", lambda data: [(f"{part['env']}.png", b"png") for part in data["environments"]])


@pytest.fixture
def run(tmp_path):
    return reading.read(write_run(tmp_path / "run", evaluations=2))


def content(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize("kill", range(6))
def test_a_report_that_was_interrupted_is_written_again(tmp_path, monkeypatch, run, kill):
    """Interrupted before its first file, and before each of the next."""
    replace, done = os.replace, []

    def interrupted(*names):
        if len(done) == kill:
            raise KeyboardInterrupt
        done.append(names)
        replace(*names)

    out = tmp_path / "out"
    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", interrupted)
        with pytest.raises(KeyboardInterrupt):
            write.write([run], out)
    assert list(out.rglob("*.part"))
    write.write([run], out)
    write.write([run], tmp_path / "whole")
    assert content(out) == content(tmp_path / "whole")


def test_what_an_interrupted_report_leaves_goes_with_it(tmp_path, run):
    write.write([run], tmp_path / "out")
    (tmp_path / "out/figures/Hopper-v5.png.part").write_bytes(b"half")
    write.write([reading.read(write_run(tmp_path / "other", env="Ant-v5"))], tmp_path / "out")
    assert os.listdir(tmp_path / "out/figures") == ["Ant-v5.png"]


@pytest.mark.parametrize("files", [("data/thesis.csv",), ("data/report.json.part", "thesis.txt"), ("data",)])
def test_a_folder_of_somebody_elses_things_is_refused(tmp_path, run, files):
    for name in files:
        (tmp_path / "out" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "out" / name).write_text("mine")
    before = content(tmp_path / "out")
    with pytest.raises(UserError, match="exists already and is no report"):
        write.write([run], tmp_path / "out")
    assert content(tmp_path / "out") == before


def test_a_run_is_no_report_whatever_is_in_it(tmp_path, run):
    write.write([run], tmp_path / "out")
    (tmp_path / "out/data").rename(tmp_path / "run/data")
    before = content(tmp_path / "run")
    with pytest.raises(UserError, match="run exists already and is no report"):
        write.write([run], tmp_path / "run")
    assert content(tmp_path / "run") == before


@pytest.mark.parametrize("earlier", [True, False])
@pytest.mark.parametrize("name", ["figures", "data", "index.html", "figures/Hopper-v5.png", "data/scores.csv"])
def test_nothing_is_written_or_removed_through_a_link(tmp_path, run, name, earlier):
    out, outside = tmp_path / "out", tmp_path / "outside"
    write.write([run], out)
    link = out / name
    link.rename(outside)
    if not earlier:
        (out / "data/report.json").unlink(missing_ok=True)
    link.symlink_to(outside)
    before = content(tmp_path)
    with pytest.raises(UserError, match="a link: remove it" if earlier and name != "data" else "is no report|a link"):
        write.write([reading.read(write_run(tmp_path / "other", env="Ant-v5"))], out)
    assert {path: data for path, data in content(tmp_path).items() if not path.startswith("other")} == before


def test_the_folder_itself_may_be_a_link(tmp_path, run):
    (tmp_path / "far").mkdir()
    (tmp_path / "out").symlink_to("far")
    write.write([run], tmp_path / "out")
    write.write([run], tmp_path / "out")
    assert (tmp_path / "far/index.html").is_file()


def test_names_in_an_earlier_summary_are_harmless(tmp_path, run):
    write.write([run], tmp_path / "out")
    names = [
        "data/..",
        "figures/.",
        "data/\0",
        "figures/\ud800",
        "data/a/b",
        "data//etc",
        "../run/config.toml",
        7,
        None,
    ]
    (tmp_path / "out/data/report.json").write_text(json.dumps({"files": names}))
    write.write([run], tmp_path / "out")
    assert (tmp_path / "run/config.toml").is_file()


@pytest.mark.parametrize("what", ["fifo", "folder", "loop"])
def test_a_summary_that_is_no_file_is_none(tmp_path, run, what):
    path = tmp_path / "out/data/report.json"
    path.parent.mkdir(parents=True)
    {"fifo": os.mkfifo, "folder": os.mkdir, "loop": lambda path: path.symlink_to(path)}[what](path)
    with pytest.raises(UserError, match="exists already and is no report"):
        write.write([run], tmp_path / "out")


@pytest.mark.parametrize(
    ("out", "reason"),
    [
        ("x" * 300, "File name too long"),
        ("x/" * 3000, "File name too long"),
        ("loop", "exists already and is no report"),
        ("loop/out", "Too many levels of symbolic links|not a directory"),
        ("file/out", "Not a directory"),
        ("/proc/teen", "No such file or directory|Permission denied"),
    ],
    ids=range(6),
)
def test_where_nothing_can_be_written(tmp_path, monkeypatch, capsys, run, out, reason):
    monkeypatch.chdir(tmp_path)
    Path("loop").symlink_to("loop")
    Path("file").write_text("")
    assert main(["report", "run", "--out", out]) == 2
    output, error = capsys.readouterr()
    assert (output, error.count("\n")) == ("", 1)
    assert any(part in error for part in reason.split("|"))


@pytest.mark.parametrize(
    ("csv", "reason"),
    [("x" * 300, "File name too long"), ("x" * 250, "File name too long"), (".", "Is a directory"), ("/", "directory")],
    ids=range(4),
)
def test_scores_that_cannot_be_written(tmp_path, monkeypatch, run, csv, reason):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UserError, match=f"cannot be written: .*{reason}"):
        compare_command(["run", "--csv", csv])


def test_a_machine_without_utf_8(tmp_path):
    write_run(tmp_path / "run", env="Ant-α")
    program = "import sys; from teen.cli.compare import command; sys.exit(command(sys.argv[1:]))"
    answer = subprocess.run(
        [sys.executable, "-c", program, "run", "--csv", "out.csv"],
        cwd=tmp_path,
        env={**os.environ, "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
        check=True,
        capture_output=True,
    )
    assert answer.stdout.startswith(b"Ant-?\n")
    assert "Ant-α".encode() in (tmp_path / "out.csv").read_bytes()
