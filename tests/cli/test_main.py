"""The command `teen`: help, bad input and exit codes."""

import importlib
import subprocess
import sys
from pathlib import Path

import pytest

from teen import algos, settings
from teen.cli import main as cli
from teen.config.run import RunSettings

from .conftest import TRAIN


def test_every_command_has_a_module():
    for name in cli.COMMANDS:
        assert callable(importlib.import_module(f"teen.cli.{name}").command)


@pytest.mark.parametrize("argument", ["--help", "--version"])
def test_help_and_version_load_neither_jax_nor_simulators(argument):
    code = (
        f"import sys; from teen.cli.main import main; main([{argument!r}]); "
        "print({'jax', 'gymnasium', 'mujoco', 'envpool', 'matplotlib', 'rich', 'numpy'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "set()"


def test_help_shows_every_setting_with_default_and_source(capsys):
    for name in algos.NAMES:
        with pytest.raises(SystemExit) as stop:
            cli.main(["train", "--algo", name, "--help"])
        assert stop.value.code == 0
        text = " ".join(capsys.readouterr().out.split())
        for leaf in [*settings.leaves(RunSettings()), *settings.leaves(algos.find(name).Config())]:
            assert leaf.flag in text
            assert leaf.help.split()[0] in text
        for leaf in settings.leaves(algos.find(name).Config()):
            assert leaf.source
            assert f"(default {leaf.value}; from {leaf.source})" in text
    assert cli.main([]) == 0
    assert "teen eval" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["fly"], "unknown command 'fly'"),
        ([*TRAIN, "--env", "NoSuch-v9"], "NoSuch"),
        ([*TRAIN, "--env", "NoSuch-v9", "--epsilon", "0.4"], "NoSuch"),  # not after a notice of its settings
        ([*TRAIN, "--algo", "ppo"], "unknown algorithm 'ppo'"),
        ([*TRAIN, "--env", "CartPole-v1"], "Discrete"),
        ([*TRAIN, "--env", "tests.toys:Unbounded-v0"], "unbounded actions"),
        ([*TRAIN, "--env", "tests.toys:Image-v0"], "image observations"),
        ([*TRAIN, "--m", "4"], "--m 4 is more than --n 3"),
        ([*TRAIN, "--steps", "-1"], "--steps must be at least 1"),
        ([*TRAIN, "--lr", "-1"], "--lr must be greater than 0"),
        ([*TRAIN, "--alpha", "nan"], "--alpha must be a finite number"),
        ([*TRAIN, "--alpha", "0,x"], "--alpha must be a number"),
        ([*TRAIN, "--alpa", "1"], "unrecognized arguments: --alpa"),
        ([*TRAIN, "--config", "missing.toml"], "cannot be read"),
        ([*TRAIN, "--config", "damaged.toml"], "is damaged"),
        ([*TRAIN, "--config", "unknown.toml"], "unknown setting 'colour'"),
        ([*TRAIN, "--config", "table.toml"], "unknown table"),
        ([*TRAIN, "--out", "full"], "exists already"),
        ([*TRAIN, "--out", "file/inside"], "cannot be written"),
        (["eval", "full"], "not a run folder"),
        (["eval", "empty-run"], "holds no agent yet"),
        (["eval", "full", "--episodes", "0"], "--episodes must be at least 1"),
        (["eval"], "required: run"),
        (["train", "--resume", "full"], "there is no checkpoint"),
        (["train", "--resume", "nowhere"], "not a run folder"),
        (["compare", "full"], "holds no run"),
        (["paper", "table9"], "unknown experiment 'table9'"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_bad_input_is_one_line_and_leaves_nothing(arguments, message, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    Path("damaged.toml").write_text("steps = = 3")
    Path("unknown.toml").write_text('colour = "blue"')
    Path("table.toml").write_text("[network]\nwidth = 3")
    Path("full").mkdir()
    Path("full/notes.txt").write_text("keep me")
    Path("file").write_text("")
    Path("empty-run").mkdir()
    Path("empty-run/config.toml").write_text("")
    before = sorted(p for p in tmp_path.rglob("*"))
    assert cli.main(arguments) == 2
    output = capsys.readouterr()
    assert message in output.err
    assert output.err.startswith("teen: ")
    assert output.err.count("\n") == 1
    assert output.out == ""
    assert sorted(p for p in tmp_path.rglob("*")) == before


def test_a_second_ctrl_c_stops_at_once_in_one_line(monkeypatch, capsys):
    def interrupted(arguments):
        raise KeyboardInterrupt

    monkeypatch.setattr("teen.cli.train.command", interrupted)
    assert cli.main(["train"]) == 130
    assert capsys.readouterr().err == (
        "teen: stopped at once; logs and the last checkpoint are kept, the agent is not saved\n"
    )
    monkeypatch.setattr("teen.cli.compare.command", interrupted)
    assert cli.main(["compare"]) == 130
    assert capsys.readouterr().err == "teen: stopped at once\n"


LONG = "x" * 300  # file systems take names of 255 bytes


@pytest.mark.parametrize(
    "arguments",
    [
        [*TRAIN, "--out", LONG],
        ["train", "--resume", LONG],
        ["train", "--config", LONG],
        ["eval", LONG],
        ["analyze", LONG],
        ["compare", LONG],
        ["report", LONG, "--out", "report"],
        ["serve", LONG],
        ["paper", "all", "--draw", "--out", LONG],
    ],
)
def test_a_path_that_is_too_long_is_one_line(arguments, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert cli.main(arguments) == 2
    (line,) = [line for line in capsys.readouterr().err.splitlines() if not line.startswith("notice: ")]
    assert line.startswith("teen: ")


def test_a_current_folder_that_was_deleted_is_one_line(tmp_path, monkeypatch, capsys):
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    assert cli.main(TRAIN) == 2  # without --out
    assert "cannot be made" in capsys.readouterr().err
    assert cli.main(["train", "--env", "no_such_module:X-v0"]) == 2
    assert "no_such_module cannot be imported" in capsys.readouterr().err


def test_the_current_folder_is_not_on_the_path(tmp_path):
    """A stranger's runs may lie beside a `numpy.py`. `python -m` puts the current folder first."""
    (tmp_path / "numpy.py").write_text("raise SystemExit('executed')")
    command = [sys.executable, "-m", "teen", "compare", "nothing"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    assert (done.returncode, done.stderr) == (2, "teen: nothing is not a folder\n")
