"""The command `teen`: help, bad input and exit codes."""

import importlib
import subprocess
import sys

import pytest

from teen import algos, settings
from teen.cli import main as cli
from teen.config.run import RunSettings

from .conftest import TRAIN


def test_every_command_has_a_module_and_a_parser():
    for name in cli.COMMANDS:
        module = importlib.import_module(f"teen.cli.{name}")
        assert callable(module.command)
        assert module.parser().prog == f"teen {name}"


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
            source = "our choice" if leaf.source == "ours" else f"from {leaf.source}"
            assert f"(default {leaf.value}; {source})" in text
    assert cli.main([]) == 0
    assert "teen eval" in capsys.readouterr().out


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
        ["export", LONG, "--to", "onnx", "--out", "p.onnx"],
        [*TRAIN, "--from", LONG, "--out", "run"],
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
