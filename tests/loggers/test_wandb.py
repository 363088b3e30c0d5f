"""Weights & Biases asks nobody for anything: without a login, and without a network, at a terminal or not."""

import os
import pty
import subprocess
import sys
import threading

import pytest

from tests.loggers.reading import from_wandb

CODE = """
import sys
from pathlib import Path
from teen.loggers.base import Row, Run, Variant
from teen.loggers.wandb import WandB

folder = Path(sys.argv[1])
logger = WandB()
logger.begin(Run(folder, 0, (Variant("", folder, "0123456789abcdef", {"seeds": [3]}),)))
logger.log([Row("", 3, 20, {"eval/return": 2.0}), Row("", 3, 10, {"train/q": 1.0})])
logger.close()
"""


def at_a_terminal(command, environment):
    """Run a command whose standard input, output and error are a terminal at which nobody sits."""
    ours, theirs = pty.openpty()
    with subprocess.Popen(command, env=environment, stdin=theirs, stdout=theirs, stderr=theirs) as process:
        os.close(theirs)
        guard = threading.Timer(300, process.kill)  # it would wait for an answer for ever
        guard.start()
        said = b""
        try:
            while part := os.read(ours, 10_000):
                said += part
        except OSError:  # the terminal is closed
            pass
        guard.cancel()
        os.close(ours)
        return process.wait(300), said.decode()


def without_terminal(command, environment):
    done = subprocess.run(
        command, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=300
    )
    return done.returncode, done.stdout + done.stderr


@pytest.mark.parametrize("how", [at_a_terminal, without_terminal])
def test_where_nobody_is_logged_in_it_logs_offline(how, tools, tmp_path):
    environment = {name: value for name, value in os.environ.items() if name not in ("WANDB_MODE", "WANDB_API_KEY")}
    environment |= {"HOME": str(tmp_path / "home"), "NETRC": str(tmp_path / "netrc"), "PYTHONPATH": "src"}
    (tmp_path / "run").mkdir()
    code, said = how([sys.executable, "-c", CODE, str(tmp_path / "run")], environment)
    assert code == 0, said
    assert said.strip() == "notice: wandb logs offline, and wandb sync uploads it: nobody is logged in"
    assert from_wandb(tmp_path / "run") == {(3, "eval/return"): [(20, 2.0)], (3, "train/q"): [(10, 1.0)]}


def test_where_the_server_does_not_answer_it_logs_offline(tools, tmp_path):
    environment = {name: value for name, value in os.environ.items() if name != "WANDB_MODE"} | {
        "WANDB_API_KEY": "a" * 40,
        "WANDB_BASE_URL": "http://127.0.0.1:9",  # where nobody listens
        "WANDB_HTTP_TIMEOUT": "1",
        "HOME": str(tmp_path / "home"),
        "PYTHONPATH": "src",
    }
    (tmp_path / "run").mkdir()
    code, said = without_terminal([sys.executable, "-c", CODE, str(tmp_path / "run")], environment)
    assert code == 0, said
    assert "notice: wandb logs offline, and wandb sync uploads it: Failed to authenticate" in said
    assert (3, "eval/return") in from_wandb(tmp_path / "run")
