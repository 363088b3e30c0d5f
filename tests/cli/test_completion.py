"""`teen completion`: real shells accept the script and complete with it."""

import contextlib
import importlib
import io
import os
import pty
import select
import shlex
import shutil
import subprocess
import sys
import time

import pytest

from teen import algos, settings
from teen.cli import main as cli
from teen.cli.completion import SHELLS
from teen.envs import catalogue

PATIENCE = 120  # seconds for a shell that shares its cores; an answer ends the waiting

# A line, and what it is completed to; in a folder that holds `runs/`, `results/` and `settings.toml`.
LINES = [
    ("teen tr", {"train"}),
    ("teen train --preci", {"--precision"}),
    ("teen train --precision ", {"float32", "tf32", "bf16"}),
    ("teen train --algo s", {"sac", "sunrise"}),
    ("teen train --base ", {"td3", "sac", "teen"}),  # of all algorithms
    ("teen train --env Pend", {"Pendulum-v1"}),
    ("teen train --env HalfCheetah-v", {"HalfCheetah-v3", "HalfCheetah-v4", "HalfCheetah-v5"}),
    ("teen train --preset ", {"paper", "tuned"}),
    ("teen train --config se", {"settings.toml"}),
    ("teen eval r", {"results", "runs"}),
    ("teen eval s", set()),  # a file is no run
    ("teen compare runs re", {"results"}),
    ("teen paper table", {"table1", "table2"}),
    ("teen completion ", set(SHELLS)),
]


@pytest.fixture(scope="module")
def scripts(tmp_path_factory):
    """Return a folder with the script for each shell, in files `teen.SHELL`."""
    folder = tmp_path_factory.mktemp("completion")
    for shell in SHELLS:
        with contextlib.redirect_stdout(io.StringIO()) as output:
            assert cli.main(["completion", shell]) == 0
        (folder / f"teen.{shell}").write_text(output.getvalue())
    return folder


@pytest.fixture
def place(tmp_path):
    for name in ("runs", "results"):
        (tmp_path / name).mkdir()
    (tmp_path / "settings.toml").write_text("")
    return tmp_path


def run(shell, script, cwd):
    assert shutil.which(shell), f"{shell} is missing, and its completion would go untested: apt-get install {shell}"
    done = subprocess.run([shell, "-c", script], cwd=cwd, capture_output=True, text=True, timeout=PATIENCE)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def in_bash(lines, scripts, cwd):
    """Return what the completion function answers for each line, as Tab at its end would ask it."""
    calls = [f"ask {shlex.join(line.split(' '))}" for line in lines]
    ask = 'ask() { COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMPREPLY=(); _shtab_teen; echo "${COMPREPLY[*]}"; }'
    return run("bash", "\n".join([f"source {scripts}/teen.bash", ask, *calls]), cwd).splitlines()


def in_fish(lines, scripts, cwd):
    """Return what fish offers for each line, without the descriptions."""
    calls = [f"echo (complete -C {shlex.quote(line)} | string split -f1 \\t)" for line in lines]
    return run("fish", "\n".join([f"source {scripts}/teen.fish", *calls]), cwd).splitlines()


@pytest.mark.parametrize("shell", SHELLS)
def test_the_shell_accepts_the_script(shell, scripts, tmp_path):
    assert run(shell, f"{shell} -n {scripts}/teen.{shell}", tmp_path) == ""


@pytest.mark.parametrize("complete", [in_bash, in_fish], ids=["bash", "fish"])
def test_a_line_is_completed(complete, scripts, place):
    answers = complete([line for line, _ in LINES], scripts, place)
    for (line, words), answer in zip(LINES, answers, strict=True):
        assert (line, {word.rstrip("/") for word in answer.split()}) == (line, words)


def test_every_command_offers_all_its_flags(scripts, tmp_path):
    answers = in_bash([f"teen {name} -" for name in cli.COMMANDS] + ["teen "], scripts, tmp_path)
    for name, answer in zip(cli.COMMANDS, answers[:-1], strict=True):
        parser = importlib.import_module(f"teen.cli.{name}").parser()
        assert set(answer.split()) == set(parser._option_string_actions)
    assert set(answers[-1].split()) == set(cli.COMMANDS)
    train = answers[cli.COMMANDS.index("train")].split()
    for algo in algos.NAMES:
        assert {leaf.flag for leaf in settings.leaves(algos.default_config(algo))} <= set(train)


@pytest.mark.parametrize(
    ("line", "completed"),
    [("teen tr", "teen train "), ("teen train --preci", "--precision "), ("teen eval ru", "teen eval runs/")],
)
def test_zsh_completes_at_a_tab(line, completed, scripts, place):
    """In a terminal of its own, with the script where zsh looks for such scripts."""
    assert shutil.which("zsh"), "zsh is missing, and its completion would go untested: apt-get install zsh"
    (place / "functions").mkdir()
    shutil.copy(scripts / "teen.zsh", place / "functions" / "_teen")
    ours, theirs = pty.openpty()
    environment = {**os.environ, "TERM": "dumb", "ZDOTDIR": str(place)}
    shell = subprocess.Popen(
        ["zsh", "-f", "-i"], stdin=theirs, stdout=theirs, stderr=theirs, cwd=place, env=environment,
        start_new_session=True,
    )  # fmt: skip
    os.close(theirs)
    try:
        os.write(ours, b"fpath=($PWD/functions $fpath); autoload -Uz compinit; compinit -D -u; PROMPT=; echo go'o'd\n")
        read_until(ours, "good")
        os.write(ours, f"{line}\t".encode())
        read_until(ours, completed)
    finally:
        shell.kill()
        shell.wait()
        os.close(ours)


def read_until(handle, text):
    """Read from a terminal until a text has come."""
    seen, end = "", time.monotonic() + PATIENCE
    while text not in seen:
        assert time.monotonic() < end, seen
        if select.select([handle], [], [], 1)[0]:
            seen += os.read(handle, 4096).decode(errors="replace")


@pytest.mark.full
def test_the_tasks_that_are_offered_can_be_trained_on():
    offered = catalogue.likely()
    assert {"Pendulum-v1", "HalfCheetah-v5", "dm_control/cheetah-run"} <= set(offered)
    assert set(offered) <= {task.name for task in catalogue.tasks()}


def test_without_shtab_the_extra_is_named(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "shtab", None)
    assert cli.main(["completion", "bash"]) == 2
    assert capsys.readouterr().err == 'teen: teen completion needs shtab: pip install "teen-rl[completion]"\n'


def test_another_shell_is_one_line(capsys):
    assert cli.main(["completion", "tcsh"]) == 2
    assert "choose from" in capsys.readouterr().err
