"""Agents that an earlier version saved load, and act as they did. Those that somebody forged are refused in one line,
before they take memory or time."""

import json
import os
import re
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import teen
from teen import UserError
from teen.cli import main as cli
from teen.disk import saved
from teen.engine import memory
from teen.spec import Spec

SAVED = Path(__file__).parent / "agents-0.1.0"  # saved by version 0.1.0, format 2, with the actions it predicted
EXPECTED = json.loads((SAVED / "expected.json").read_text())


@pytest.mark.parametrize("name", EXPECTED["actions"])
def test_agents_of_format_2_load_and_act_as_they_did(name):
    agent = teen.load(SAVED / name)
    obs = np.array(EXPECTED["obs"], np.float32)
    for seed, action in EXPECTED["actions"][name].items():
        np.testing.assert_allclose(agent.act(obs, seed=int(seed)), action, rtol=1e-6)


@pytest.mark.parametrize("number", [1, 5, "2"])
def test_another_format_is_refused_by_number(tmp_path, number):
    shutil.copytree(SAVED / "teen", tmp_path / "run")
    card = tmp_path / "run" / "agent" / "agent.json"
    card.write_text(json.dumps({**json.loads(card.read_text()), "format": number}))
    with pytest.raises(UserError, match=f"has format {number!r}; this version reads 2, 3 and 4"):
        teen.load(tmp_path / "run")


@pytest.fixture
def run(tmp_path):
    shutil.copytree(SAVED / "teen", tmp_path / "run")
    return tmp_path / "run"


def forge(run: Path, **changes: Any) -> None:
    """Change settings in agent.json, and in config.toml alike."""
    card = json.loads((run / "agent" / "agent.json").read_text())
    text = (run / "config.toml").read_text()
    for name, value in changes.items():
        card["run" if name in card["run"] else "config"][name] = value
        text = re.sub(rf"^{name} = (?:\[[^\]]*\]|.*)$", f"{name} = {json.dumps(value)}", text, flags=re.M)
    (run / "agent" / "agent.json").write_text(json.dumps(card))
    (run / "config.toml").write_text(text)


def refused(run: Path, capsys, words: str) -> None:
    assert cli.main(["eval", str(run)]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("teen: ")
    assert re.search(words, line)
    assert len(line) < 600


def test_forging_nothing_changes_nothing(run):
    forge(run, depth=2, seeds=[0, 1])
    assert teen.load(run).seeds == (0, 1)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"depth": 10**8}, "--depth must be at most 100, not 100000000"),
        ({"width": 10**12}, "--width must be at most"),
        ({"n": 10**6, "m": 2}, "--n must be at most"),
        ({"steps": 10**400}, "--steps must be at most"),
        ({"width": 100_000, "depth": 100}, "settings and seeds imply 3[0-9,]{15,}$"),
        ({"n": 1_000}, "settings and seeds imply"),
        ({"seeds": [*range(10_000)]}, "settings and seeds imply"),
        ({"seeds": [*range(10_001)]}, "more than 10,000 seeds"),
        ({"seeds": [0]}, "weights.safetensors: .* should be float32"),
    ],
    ids=str,
)
def test_sizes_are_checked_before_anything_is_built(run, changes, words, capsys):
    forge(run, **changes)
    refused(run, capsys, words)


def test_a_sparse_file_is_not_read(run, capsys, monkeypatch):
    """It says to have 6 GiB, and takes no place on disk."""
    weights = run / "agent" / "weights.safetensors"
    size = weights.stat().st_size
    os.truncate(weights, 6 * 2**30)
    monkeypatch.setattr(saved, "arrays_of", None)  # nothing gets so far
    refused(run, capsys, r"it has 6,442,450,944 bytes, and settings and seeds imply [0-9,]{4,6}$")
    os.truncate(weights, size)
    monkeypatch.setattr(memory, "of_machine", lambda: size)
    refused(run, capsys, "do not fit in this machine's memory")


def with_card(**changes: Any) -> Any:
    return lambda card: json.dumps({**card, **changes})


def with_setting(part: str, **changes: Any) -> Any:
    return lambda card: json.dumps({**card, part: {**card[part], **changes}})


@pytest.mark.parametrize(
    "change",
    [
        *(with_card(step=value) for value in (-1, True, 1.5, "60", None, [60], 10**13, float("nan"), float("inf"))),
        *(with_card(obs=value) for value in (0, -3, True, 3.0, "3", None, [3], 10**30, float("nan"))),
        *(with_card(action=value) for value in (0, 2**40, {"a": 1}, float("-inf"))),
        *(with_card(format=value) for value in (None, True, [2], {}, 10**4000, float("nan"))),
        *(with_card(run=value) for value in (None, [], 5, "run", {})),
        *(with_card(config=value) for value in (None, [], 5, {"base": 5}, {"base": ["td3"]}, {"base": "sac"})),
        *(with_setting("run", env=value) for value in ("", 5, ["Pendulum-v1"], "a" * 10_000, "\x1b[2J", "\ud800")),
        *(with_setting("run", algo=value) for value in ("", 5, ["teen"], None, "os.path", "..a.b", "\ud800.x")),
        *(with_setting("run", seeds=value) for value in (None, [], [0.5], [True, False], {}, [[0]], [0, 0])),
        *(with_setting("run", steps=value) for value in (float("nan"), float("inf"), 10**4000, [60], {}, "many")),
        *(with_setting("config", lr=value) for value in (float("nan"), float("inf"), 10**4000, [0.1], {}, "fast", 0)),
        with_setting("config", m=3),
        lambda card: json.dumps(card).replace('"step": 60', '"step": 60, "step": 60'),
        lambda card: json.dumps(card).replace('"step": 60', f'"step": {"9" * 5000}'),
        lambda card: json.dumps(card)[:-20],
        lambda card: json.dumps(card) + "{}",
        lambda card: "[" * 100_000,
        lambda card: " " * 2**20 + json.dumps(card),
        lambda card: "\x00" * 100,
    ],
)
def test_a_card_with_anything_in_it_is_one_line(run, change, capsys):
    card = run / "agent" / "agent.json"
    card.write_text(change(json.loads(card.read_text())))
    refused(run, capsys, "")


@pytest.mark.parametrize("kind", ["link", "fifo", "folder"])
@pytest.mark.parametrize("name", ["config.toml", "agent", "agent/agent.json", "agent/weights.safetensors"])
def test_only_regular_files_of_the_run_folder_are_read(run, name, kind, capsys):
    path = run / name
    path.rename(run.parent / "elsewhere")
    if kind == "link":
        path.symlink_to(run.parent / "elsewhere")
    elif kind == "fifo":
        os.mkfifo(path)
    else:
        path.mkdir()
    refused(run, capsys, "links in a run folder are not followed" if kind == "link" else "")


def test_the_run_folder_itself_may_be_a_link(run):
    (run.parent / "link").symlink_to(run)
    assert teen.load(run.parent / "link").step == 60


def test_no_agent_is_saved_through_a_link(run):
    loaded = teen.load(run)
    (run / "agent").rename(run.parent / "elsewhere")
    (run / "agent").symlink_to(run.parent / "elsewhere")
    before = {path: path.read_bytes() for path in (run.parent / "elsewhere").iterdir()}
    with pytest.raises(OSError, match="links in a run folder are not followed"):
        saved.save(run / "agent", loaded, Spec(3, 1))
    assert {path: path.read_bytes() for path in (run.parent / "elsewhere").iterdir()} == before


def test_an_agent_for_another_environment_is_refused(run, capsys):
    forge(run, env="MountainCarContinuous-v0")
    refused(run, capsys, "does not fit MountainCarContinuous-v0, which has 2 observations and 1 actions")
    with pytest.raises(UserError, match="does not fit"):
        teen.load(run).act(np.zeros(2))


def test_too_many_episodes_are_refused(run):
    with pytest.raises(UserError, match="20,000 copies of the environment"):
        teen.load(run).evaluate(episodes=10_000)
