"""Check commands without running them: their flags are parsed, and what they would train is resolved."""

import importlib.util
import re
import shutil
import subprocess
import tomllib
from pathlib import Path
from typing import Any, NoReturn
from unittest import mock

from teen.cli import main as cli
from teen.cli.parser import Parser
from teen.config.job import Job

ROOT = Path(__file__).parents[2]
ELIDED = {"…", "..."}  # stands for what the reader fills in
FILLED = ["--algo", "td3", "--env", "Pendulum-v1"]
OURS = ("teen", "benchmarks", "tests", "scripts")


class Understood(Exception):
    """The command would begin its work now."""


def check_script(code: str, words: list[list[str]]) -> None:
    """Check what a shell would make of it, and every command of ours in it."""
    subprocess.run([shutil.which("bash") or "bash", "-n", "-c", code], check=True)
    for command in words:
        check(command)


def check(words: list[str]) -> None:
    """Check one command. What is not ours is left alone."""
    program, *arguments = words
    name = program.rpartition("/")[2]
    if program.startswith("scripts/"):
        assert (ROOT / program).is_file(), f"there is no {program}"
    elif name == "teen":
        check_teen(arguments)
    elif name in ("python", "python3") and arguments[:1] == ["-m"]:
        _check_module(arguments[1], arguments[2:])
    elif name == "make":
        targets = set(re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
        assert {word for word in arguments if "=" not in word} <= targets, f"make has no {arguments}"
    elif name == "pip":
        extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
        asked = [part for word in arguments for part in re.findall(r"^(?:\.|teen-rl)\[(.*)\]$", word)]
        assert {extra for part in asked for extra in part.split(",")} <= extras.keys(), f"pip {arguments}"


def check_teen(arguments: list[str]) -> None:
    """Run a command up to where it has understood what it is asked for. A wrong flag raises an error."""
    if ELIDED & {*arguments}:
        arguments = [word for word in arguments if word not in ELIDED] + FILLED
    wrong: list[str] = []
    with (
        _nothing_begins(arguments[0]),
        mock.patch("teen.cli.main.printable", side_effect=lambda s: wrong.append(s) or s),
    ):
        try:
            code = cli.main(arguments)
        except (Understood, SystemExit) as end:  # the latter after --help
            code = getattr(end, "code", 0) or 0
    assert code == 0, f"teen {' '.join(arguments)}: {wrong}"


def _nothing_begins(command: str) -> Any:
    """Let `teen train` go as far as to resolve its settings, and other commands as far as to parse their flags."""

    def train(job: Job, *_: Any, **__: Any) -> NoReturn:
        job.settled()[0].check_learns()
        raise Understood

    def resume(*_: Any, **__: Any) -> NoReturn:
        raise Understood

    if command == "train":
        return mock.patch.multiple("teen.training.run", train_job=train, resume=resume)
    parse = Parser.parse_known_args

    def parsed(self: Parser, *given: Any) -> Any:
        flags, others = parse(self, *given)
        if others:  # which is an error, of `parse_args`
            return flags, others
        raise Understood

    return mock.patch.object(Parser, "parse_known_args", parsed)


def _check_module(name: str, arguments: list[str]) -> None:
    if name == "teen":
        check_teen(arguments)
    elif name.split(".")[0] in OURS:
        assert importlib.util.find_spec(name), f"there is no module {name}"
