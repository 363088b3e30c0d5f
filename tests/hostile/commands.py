"""Every command that reads a run folder, given to a hostile one."""

import http.client
import json
import os
import re
import sys
import threading
from collections.abc import Callable
from html import unescape
from pathlib import Path
from typing import NamedTuple
from unittest import mock
from urllib.parse import parse_qsl, urlsplit

import numpy as np

from teen.cli.main import EXIT_CODES, main
from teen.disk.loading import load
from teen.errors import printable
from teen.report.serve import Server

from . import bases
from .values import SCRIPTS
from .victim import Victim

OUT = "out"  # a folder of the scene for everything that commands are asked to write
SECONDS = 60  # for an answer of the server


class Wrong(Exception):
    """A command did what it must not, in a way that its exit code does not show."""


class Command(NamedTuple):
    run: Callable[[Victim], int]  # returns the exit code
    writes: bool = False  # into the run folder
    light: bool = False  # cheap enough for every folder
    leaves: tuple[str, ...] = ()  # what else in the scene it may write


def path(victim: Victim, to: Path) -> str:
    """Return a path as a user types it, from where commands are given."""
    relative = os.path.relpath(to, victim.here)
    return f"./{relative}" if relative.startswith("-") else relative


def compare(victim: Victim) -> int:
    runs = path(victim, victim.root), path(victim, victim.scene / "runs" / "healthy")
    return main(["compare", *runs, "--csv", path(victim, victim.scene / OUT / "scores.csv")])


def report(victim: Victim) -> int:
    out = victim.scene / OUT / "report"
    code = main(["report", path(victim, victim.root), "--out", path(victim, out)])
    if code == 0:
        check_page((out / "index.html").read_text("utf-8"), "index.html")
    return code


def report_over(victim: Victim) -> int:
    """Write a report into the hostile folder, as if it were an earlier one."""
    return main(["report", path(victim, victim.scene / "runs" / "healthy"), "--out", path(victim, victim.root)])


def serve(victim: Victim) -> int:
    with Server(victim.scene / "runs", port=0) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        try:
            _browse(server)
        finally:
            server.shutdown()
            thread.join()
    return 0


def _browse(server: Server) -> None:
    """Look at the list and at every run on it."""
    listing = _ask(server, "/")
    check_page(listing, "the list")
    addresses = [unescape(address) for address in re.findall(r'href="(/run\?[^"]*)"', listing)]
    if "/run?name=healthy" not in addresses:
        raise Wrong("the healthy run is not listed")
    for address in addresses[:12]:
        check_page(_ask(server, address), address)
        data = json.loads(_ask(server, address.replace("/run", "/data", 1)))
        if address == "/run?name=healthy" and "error" in data:
            raise Wrong(f"the healthy run is not shown: {data['error']}")
        names = dict(parse_qsl(urlsplit(address).query, keep_blank_values=True))
        check_page(_ask(server, f"{address}&name=healthy".replace("/run", "/compare", 1)), f"compare {names}")


def _ask(server: Server, address: str) -> str:
    connection = http.client.HTTPConnection("127.0.0.1", server.server_port, timeout=SECONDS)
    try:
        connection.request("GET", address, headers={"Host": "localhost"})
        answer = connection.getresponse()
        text = answer.read().decode()
    except (OSError, http.client.HTTPException) as error:
        raise Wrong(f"the server does not answer {address:.80}: {type(error).__name__} {error}") from None
    finally:
        connection.close()
    if answer.status != 200:
        raise Wrong(f"the server answers {address:.80} with {answer.status}")
    return text


def check_page(text: str, what: str) -> None:
    if payloads := [payload for payload in SCRIPTS if payload in text]:
        raise Wrong(f"{what:.80} has the script {payloads[0]!r}")


def evaluate(victim: Victim) -> int:
    return main(["eval", path(victim, victim.run), "--episodes", "1"])


def play(victim: Victim) -> int:
    """Ask for a film on a machine without OpenGL: what is read counts, and to draw takes long."""
    with mock.patch("teen.play.gl.works", return_value=False):
        return main(["play", path(victim, victim.run), "--video", path(victim, victim.scene / OUT / "film.mp4")])


def analyze(victim: Victim) -> int:
    return main(["analyze", path(victim, victim.root), "--episodes", "1"])


def predict(victim: Victim) -> int:
    try:
        agent = load(path(victim, victim.run))
        agent.act(np.zeros(bases.observations(agent.settings.env), np.float32))
    except tuple(EXIT_CODES) as error:
        print(f"teen: {printable(str(error))}", file=sys.stderr)
        return next(code for kind, code in EXIT_CODES.items() if isinstance(error, kind))
    return 0


def export(victim: Victim) -> int:
    out = victim.scene / OUT / "policy.npz"
    return main(["export", path(victim, victim.run), "--to", "numpy", "--out", path(victim, out)])


def resume(victim: Victim) -> int:
    steps = bases.PAPER_MORE if victim.base == "paper" else bases.MORE
    return main(["train", "--resume", path(victim, victim.root), "--steps", str(steps)])


def train_again(victim: Victim) -> int:
    """Begin the same run again, for so few steps that the learner does not begin: programs of odd shapes take long to
    compile."""
    config, out = victim.run / "config.toml", victim.scene / OUT / "trained"
    return main(["train", "--config", path(victim, config), "--steps", f"{bases.FEW}", "--out", path(victim, out)])


def draw(victim: Victim) -> int:
    return main([*bases.PAPER, "--draw", "--out", path(victim, victim.scene)])


def status(victim: Victim) -> int:
    """Ask for an experiment without runs: all that are there are read, and no speed is measured."""
    return main(["paper", "theory", "--out", path(victim, victim.scene)])


def jobs(victim: Victim) -> int:
    return main(["status", path(victim, victim.scene)])


COMMANDS: dict[str, Command] = {
    "compare": Command(compare, light=True),
    "report": Command(report),
    "serve": Command(serve, light=True),
    "paper status": Command(status, light=True),
    "status": Command(jobs, light=True),
    "eval": Command(evaluate),
    "play": Command(play),
    "load and predict": Command(predict),
    "export": Command(export),
    "train --config": Command(train_again),
    "analyze": Command(analyze, writes=True),
    "train --resume": Command(resume, writes=True),
    "paper --draw": Command(draw, writes=True, leaves=("ablation-alpha",)),
    "report --out": Command(report_over, writes=True),
}
