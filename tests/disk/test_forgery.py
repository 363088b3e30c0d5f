"""Files that an attacker wrote, with valid checksums: each is refused in one line, nothing in them is executed, and
nothing outside the run is written."""

import hashlib
import json
import os
import pickle
import shutil
import struct
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import safetensors.numpy

from teen.cli import main as cli
from teen.disk import checkpoint, manifest
from teen.disk.checkpoint import CheckpointWriter
from teen.engine import memory
from teen.snapshot import Snapshot
from tests.training.survival import assert_same_end, newest


@pytest.fixture
def here(tmp_path, monkeypatch):
    """Return the working directory. Every payload would create a file `owned` in it."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    return tmp_path


@pytest.fixture
def victim(stopped, here):
    """Return a run with a single checkpoint, which a test then forges."""
    shutil.copytree(stopped, here / "run")
    shutil.rmtree(min(here.glob("run/checkpoint/step-*")))
    return here / "run"


class Payload:
    def __reduce__(self):
        return os.system, ("touch owned",)


PICKLE = pickle.dumps(Payload())
CODE = "__import__('os').system('touch owned')"
DEEP = "[" * 100_000


def nested(depth: int) -> Any:
    """Return a value that is nested, but not too deeply for a JSON parser."""
    value: Any = 0
    for _ in range(depth):
        value = {"list": [value]}
    return value


def refused(arguments: list[str], capsys, word: str = "") -> None:
    """Check for exit code 2, one line beside that of the replay, and that nothing was executed."""
    assert cli.main(arguments) == 2
    (line,) = [line for line in capsys.readouterr().err.splitlines() if not line.startswith("replay: ")]
    assert line.startswith("teen: ")
    assert word in line
    assert not list(Path.cwd().rglob("owned"))


def test_the_payload_works(here):
    pickle.loads(PICKLE)
    assert (here / "owned").exists()


class Forged:
    """A checkpoint with forged content and valid checksums."""

    def __init__(self, run: Path):
        self.folder = run / "checkpoint"
        (self.step,) = self.folder.glob("step-*")
        self.content = json.loads((self.step / "manifest.json").read_text())["content"]
        self.state = (self.step / "state.safetensors").read_bytes()
        self.arrays = safetensors.numpy.load(self.state)

    def sign(self) -> None:
        (self.step / "state.safetensors").write_bytes(self.state)
        self.content["state"] = signature(self.state)
        self.sign_content()

    def sign_arrays(self) -> None:
        self.state = safetensors.numpy.save(self.arrays)
        self.sign()

    def sign_content(self) -> None:
        text = json.dumps(self.content, sort_keys=True, separators=(",", ":"))
        manifest = {"sha256": hashlib.sha256(text.encode()).hexdigest(), "content": self.content}
        (self.step / "manifest.json").write_text(json.dumps(manifest))

    def sign_rows(self, data: bytes) -> None:
        """Replace the last file of rows."""
        entry = self.content["rows"][-1]
        (self.folder / f"rows-{entry['first']:012}-{entry['last']:012}.safetensors").write_bytes(data)
        entry |= signature(data)
        self.sign_content()


def signature(data: bytes) -> dict[str, Any]:
    return {"bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}


def test_signing_anew_what_was_not_altered_changes_nothing(victim, reference):
    Forged(victim).sign_arrays()
    assert cli.main(["train", "--resume", str(victim)]) == 0
    assert_same_end(victim, reference)


@pytest.mark.parametrize(
    "data",
    [PICKLE, b"", b"\xff\xfe", b"7", b"[]", b'"content"', b'{"content": 1}', DEEP.encode(), b'{"content":' * 50_000],
    ids=["pickle", "empty", "bytes", "number", "list", "text", "flat", "deep", "deeper"],
)
def test_what_is_no_manifest_is_refused(data, victim, capsys):
    (Forged(victim).step / "manifest.json").write_bytes(data)
    refused(["train", "--resume", str(victim)], capsys, "manifest.json is not a manifest")


def lanes(c: dict[str, Any]) -> dict[str, Any]:
    return c["facts"]["engine"]["collector"]["0"]["lanes"]


FORGERIES: dict[str, Any] = {
    "no step": lambda c: c.pop("step"),
    "another step": lambda c: c.update(step=7),
    "a step of two lines": lambda c: c.update(step="7\nteen: all is well"),
    "no rows": lambda c: c.pop("rows"),
    "rows that are none": lambda c: c.update(rows=None),
    "an empty list of rows": lambda c: c.update(rows=[]),
    "rows with a name": lambda c: c["rows"][0].update(file="../../x"),
    "rows without an end": lambda c: c["rows"][0].pop("last"),
    "rows from below zero": lambda c: c["rows"][0].update(first=-30),
    "rows from a word": lambda c: c["rows"][0].update(first="../../../x"),
    "rows from a truth": lambda c: c["rows"][0].update(first=False),
    "rows from beyond": lambda c: c["rows"][0].update(first=10**30),
    "rows from far beyond": lambda c: c["rows"][0].update(first=10**4000),
    "rows with a gap": lambda c: c["rows"].pop(1),
    "rows of later steps": lambda c: c["rows"].append({**c["rows"][-1], "first": c["step"], "last": c["step"] + 30}),
    "rows that begin too late": lambda c: c.update(rows=c["rows"][-1:]),
    "rows that end before they begin": lambda c: c["rows"][0].update(first=c["rows"][0]["last"]),
    "huge rows": lambda c: c["rows"][0].update(bytes=2**80),
    "rows of many digits": lambda c: c["rows"][0].update(bytes=10**4000),
    "rows of a word": lambda c: c["rows"][0].update(bytes="many"),
    "rows of no number": lambda c: c["rows"][0].update(last=float("nan")),
    "rows of rows": lambda c: c.update(rows=[[c["rows"][0]]]),
    "no state": lambda c: c.pop("state"),
    "a state that is none": lambda c: c.update(state=[]),
    "a huge state": lambda c: c["state"].update(bytes=2**80),
    "a state of many digits": lambda c: c["state"].update(bytes=10**4000),
    "a state of no number": lambda c: c["state"].update(bytes=float("nan")),
    "a state of a truth": lambda c: c["state"].update(bytes=True),
    "a checksum of no text": lambda c: c["state"].update(sha256=["0"]),
    "no facts": lambda c: c.pop("facts"),
    "facts that are none": lambda c: c.update(facts=None),
    "facts of nothing": lambda c: c.update(facts={}),
    "facts without an engine": lambda c: c["facts"].pop("engine"),
    "facts without a recorder": lambda c: c["facts"].pop("recorder"),
    "settings that are none": lambda c: c["facts"]["run"].update(settings=[1, 2]),
    "an algorithm of code": lambda c: c["facts"]["run"]["settings"].update(algo=CODE),
    "an algorithm of a number": lambda c: c["facts"]["run"]["settings"].update(algo=5),
    "an algorithm next door": lambda c: c["facts"]["run"]["settings"].update(algo=".os"),
    "an environment of code": lambda c: c["facts"]["run"]["settings"].update(env="os:system('touch owned')"),
    "an environment of more code": lambda c: c["facts"]["run"]["settings"].update(env=CODE),
    "an environment of a number": lambda c: c["facts"]["run"]["settings"].update(env=5),
    "seeds of code": lambda c: c["facts"]["run"]["settings"].update(seeds=CODE),
    "other seeds": lambda c: c["facts"]["run"]["settings"].update(seeds=[0, 1, 2]),
    "another width": lambda c: c["facts"]["run"]["settings"].update(width=9),
    "a width of a word": lambda c: c["facts"]["run"]["settings"].update(width=CODE),
    "a depth beyond all measure": lambda c: c["facts"]["run"]["settings"].update(depth=10**8),
    "a width of many digits": lambda c: c["facts"]["run"]["settings"].update(width=10**4000),
    "a base of a list": lambda c: c["facts"]["run"]["settings"].update(base=["td3"]),
    "an environment of a list": lambda c: c["facts"]["run"]["settings"].update(env=["Pendulum-v1"]),
    "a thousand variants": lambda c: c["facts"]["run"]["settings"].update(lr=[i / 1e4 for i in range(1, 1002)]),
    "a preset of a list": lambda c: c["facts"]["run"]["settings"].update(preset=[]),
    "a setting of the attacker's": lambda c: c["facts"]["run"]["settings"].update(colour="blue"),
    "a log beyond its end": lambda c: c["facts"]["recorder"]["logs"][0].update({"eval.csv": 10**9}),
    "a log before its beginning": lambda c: c["facts"]["recorder"]["logs"][0].update({"eval.csv": -1}),
    "a log until a word": lambda c: c["facts"]["recorder"]["logs"][0].update({"eval.csv": "all"}),
    "a log within a line": lambda c: c["facts"]["recorder"]["logs"][0].update({"eval.csv": 60}),
    "no log of evaluations": lambda c: c["facts"]["recorder"]["logs"][0].pop("eval.csv"),
    "no logs": lambda c: c["facts"]["recorder"].update(logs=[]),
    "logs that are none": lambda c: c["facts"]["recorder"].update(logs=["eval.csv"]),
    "logs of too many variants": lambda c: c["facts"]["recorder"].update(logs=[{}, {}]),
    "a missing lane of a word": lambda c: c["facts"]["recorder"].update(missing=["x"]),
    "a lane quarantined for a word": lambda c: c["facts"]["engine"].update(quarantined=[["x", "y", "z"]]),
    "a lane quarantined for ever": lambda c: c["facts"]["engine"].update(quarantined=[[0, float("inf"), "z"]]),
    "a lane quarantined that is not there": lambda c: c["facts"]["engine"].update(quarantined=[[99, 100, "z"]]),
    "no crews": lambda c: c["facts"]["engine"].update(collector={}),
    "lanes without an end": lambda c: lanes(c).update(steps=float("inf")),
    "no environments": lambda c: lanes(c).update(copies=[]),
    "environments that are none": lambda c: lanes(c).update(copies=[None, None]),
    "an environment too deep": lambda c: lanes(c)["copies"][0]["facts"].update({"env._elapsed_steps": nested(400)}),
    "an environment with a method": lambda c: lanes(c)["copies"][0]["facts"].update({"env.step": CODE}),
    "an evaluation of no lanes": lambda c: c["facts"]["engine"]["evaluator"]["0"].update(lanes=[]),
    "an evaluation of other lanes": lambda c: c["facts"]["engine"]["evaluator"]["0"].update(lanes=[99]),
    "an evaluation before the beginning": lambda c: c["facts"]["engine"]["evaluator"]["0"].update(step=-1),
    "an evaluation without an end": lambda c: c["facts"]["engine"]["evaluator"]["0"].update(step=float("inf")),
}


@pytest.mark.parametrize("name", FORGERIES)
def test_a_forged_manifest_is_refused(name, victim, capsys):
    forged = Forged(victim)
    FORGERIES[name](forged.content)
    forged.sign_content()
    refused(["train", "--resume", str(victim)], capsys)


@pytest.mark.parametrize(
    ("number", "words"),
    [
        (manifest.FORMAT + 1, f"has format {manifest.FORMAT + 1}"),
        (1, "has format 1, which teen 0.1.0 writes and reads; this version reads format 3"),
    ],
)
def test_another_format_is_named_and_no_older_checkpoint_is_used_instead(number, words, stopped, victim, capsys):
    forged = Forged(victim)
    shutil.copytree(stopped, victim, dirs_exist_ok=True)
    forged.content["format"] = number
    forged.sign_content()
    before = {path: path.stat().st_mtime_ns for path in victim.rglob("*") if path.is_file()}
    refused(["train", "--resume", str(victim)], capsys, words)
    assert {path: path.stat().st_mtime_ns for path in victim.rglob("*") if path.is_file()} == before


def header(claims: dict[str, Any], data: bytes = b"") -> bytes:
    text = json.dumps(claims).encode()
    return struct.pack("<Q", len(text)) + text + data


@pytest.mark.parametrize(
    "data",
    [
        PICKLE,
        b"",
        struct.pack("<Q", 2**63) + b"{}",
        struct.pack("<Q", 2**40) + b"{}",
        header({"x": {"dtype": "F32", "shape": [2**40], "data_offsets": [0, 2**42]}}),
        header({"x": {"dtype": "F32", "shape": [2**62, 4], "data_offsets": [0, 0]}}),
        header({"x": {"dtype": "BF16", "shape": [2], "data_offsets": [0, 4]}}, bytes(4)),
        header({"x": {"dtype": "O", "shape": [1], "data_offsets": [0, 8]}}, bytes(8)),
        struct.pack("<Q", len(DEEP)) + DEEP.encode(),
    ],
    ids=["pickle", "empty", "long header", "longer than the file", "huge", "overflow", "bfloat16", "objects", "deep"],
)
@pytest.mark.parametrize("what", ["state", "rows", "weights"])
def test_what_holds_no_arrays_is_refused(what, data, victim, capsys):
    if what == "weights":
        (victim / "agent" / "weights.safetensors").write_bytes(data)
        refused(["eval", str(victim)], capsys, "damaged")
        return
    forged = Forged(victim)
    if what == "state":
        forged.state = data
        forged.sign()
    else:
        forged.sign_rows(data)
    refused(["train", "--resume", str(victim)], capsys)


WEIGHT = "engine/trainer/state.actor.0.weight"


@pytest.mark.parametrize("harm", ["shape", "dtype", "missing", "surplus", "empty"])
@pytest.mark.parametrize(
    "name",
    [
        WEIGHT,
        "engine/trainer/env_step",
        "engine/collector/0/crew/spent",
        "engine/collector/0/acting/now",
        "engine/collector/0/lanes/obs",
        "engine/collector/0/lanes/copy/1/env.env.env.env.x",
        "engine/evaluator/0/actor.0.weight",
    ],
    ids=lambda name: name.removeprefix("engine/"),
)
def test_arrays_that_do_not_fit_are_refused(name, harm, victim, capsys):
    forged = Forged(victim)
    array = forged.arrays.pop(name)
    if harm == "shape":
        forged.arrays[name] = np.stack([array, array])
    elif harm == "dtype":
        forged.arrays[name] = array.astype(np.int32 if array.dtype.kind == "f" else np.float32)
    elif harm == "surplus":
        forged.arrays |= {name: array, f"{name}.more": array}
    elif harm == "empty":
        forged.arrays[name] = np.zeros(0, array.dtype)
    forged.sign_arrays()
    refused(["train", "--resume", str(victim)], capsys, "does not fit")


@pytest.mark.parametrize(
    "change",
    [
        lambda rows: {"other": rows},
        lambda rows: {"rows": rows[:1]},
        lambda rows: {"rows": rows[:, :, :-1]},
        lambda rows: {"rows": rows[:, :-1]},
        lambda rows: {"rows": np.repeat(rows, 2, axis=1)},
        lambda rows: {"rows": rows[:, :0]},
        lambda rows: {"rows": rows[0]},
        lambda rows: {"rows": rows.astype(np.float64)},
    ],
    ids=["name", "lanes", "columns", "too few", "too many", "none", "flat", "precision"],
)
def test_rows_that_do_not_fit_are_refused(change, victim, capsys):
    forged = Forged(victim)
    entry = forged.content["rows"][-1]
    path = forged.folder / f"rows-{entry['first']:012}-{entry['last']:012}.safetensors"
    changed = change(safetensors.numpy.load_file(path)["rows"])
    forged.sign_rows(safetensors.numpy.save({k: np.ascontiguousarray(v) for k, v in changed.items()}))
    refused(["train", "--resume", str(victim)], capsys, "does not fit")


@pytest.mark.parametrize("pattern", ["step-*/state.safetensors", "step-*/manifest.json", "rows-*"])
def test_a_link_out_of_the_run_is_not_followed(pattern, victim, capsys):
    path = max((victim / "checkpoint").glob(pattern))
    elsewhere = victim.parent / path.name
    path.rename(elsewhere)
    path.symlink_to(elsewhere)
    before = elsewhere.read_bytes()
    refused(["train", "--resume", str(victim)], capsys, path.name)
    assert elsewhere.read_bytes() == before


@pytest.mark.parametrize("pattern", ["step-*/state.safetensors", "step-*/manifest.json", "rows-*", "step-*"])
def test_nothing_waits_for_a_fifo(pattern, victim, capsys):
    path = max((victim / "checkpoint").glob(pattern))
    path.rename(victim.parent / "elsewhere")
    os.mkfifo(path)
    refused(["train", "--resume", str(victim)], capsys, path.name)


@pytest.mark.parametrize("command", ["train --resume", "eval"])
def test_checkpoints_are_not_read_through_a_link(command, victim, capsys):
    """They may be those of another run."""
    shutil.rmtree(victim / "agent")
    (victim / "checkpoint").rename(victim.parent / "elsewhere")
    (victim / "checkpoint").symlink_to(victim.parent / "elsewhere")
    before = {path: path.read_bytes() for path in victim.parent.rglob("*") if path.is_file()}
    refused([*command.split(), str(victim)], capsys, "links in a run folder are not followed")
    assert {path: path.read_bytes() for path in victim.parent.rglob("*") if path.is_file()} == before


def test_checkpoints_are_neither_written_nor_pruned_through_a_link(victim):
    (victim / "checkpoint").rename(victim.parent / "elsewhere")
    (victim / "checkpoint").symlink_to(victim.parent / "elsewhere")
    before = {path: path.read_bytes() for path in (victim.parent / "elsewhere").rglob("*") if path.is_file()}
    writer = CheckpointWriter(victim / "checkpoint", capacity=10)
    with pytest.raises(OSError, match="links in a run folder are not followed"):
        writer.save(
            300, Snapshot({"x": np.zeros(3)}, {}), lambda first, last: [(first, np.zeros((1, last - first, 2)))]
        )
    writer._prune()
    assert {path: path.read_bytes() for path in (victim.parent / "elsewhere").rglob("*") if path.is_file()} == before


@pytest.mark.parametrize("what", ["state", "rows"])
def test_a_sparse_file_is_not_read(what, victim, capsys, monkeypatch):
    """It takes no place on disk, and its manifest says that this is right."""
    forged = Forged(victim)
    entry = forged.content["state"] if what == "state" else forged.content["rows"][-1]
    name = "state.safetensors" if what == "state" else f"rows-{entry['first']:012}-{entry['last']:012}.safetensors"
    os.truncate(forged.step / name if what == "state" else forged.folder / name, 2**36)
    entry["bytes"] = 2**36
    forged.sign_content()
    monkeypatch.setattr(memory, "of_machine", lambda: 2**33)
    refused(["train", "--resume", str(victim)], capsys, "do not fit in this machine's memory")
    shutil.rmtree(victim / "agent")
    if what == "state":
        refused(["eval", str(victim)], capsys, "do not fit in this machine's memory")
    else:  # rows are not needed: a run whose replay is larger than this machine can be evaluated here
        assert cli.main(["eval", str(victim), "--episodes", "1"]) == 0


def test_a_manifest_that_says_something_twice_is_refused(victim, capsys):
    path = Forged(victim).step / "manifest.json"
    path.write_text(path.read_text().replace('"format": 3', '"format": 3, "format": 3'))
    refused(["train", "--resume", str(victim)], capsys, "it says something twice")


def test_a_thousand_damaged_checkpoints_are_summed_up(victim, capsys):
    shutil.rmtree(Forged(victim).step)
    for step in range(1_000):
        (victim / "checkpoint" / f"step-{step:012}").mkdir()
    refused(["train", "--resume", str(victim)], capsys, "and 995 more")


def test_a_checkpoint_before_the_first_step_has_no_rows(tmp_path):
    CheckpointWriter(tmp_path / "checkpoint", capacity=10).save(0, Snapshot({"x": np.ones(3)}, {"a": 1}), lambda *_: [])
    saved = checkpoint.newest(tmp_path / "checkpoint")
    assert (saved.step, saved.segments, list(saved.rows()), saved.snapshot.facts) == (0, [], [], {"a": 1})
    np.testing.assert_array_equal(saved.snapshot.arrays["x"], np.ones(3))


@pytest.mark.parametrize(
    "name",
    [
        *("config.toml.part", "agent/agent.json.part", "agent/weights.safetensors.part", "curve.png", "curve.png.part"),
        *("checkpoint/step-000000000240.part", "checkpoint/step-000000000240", "rows"),
    ],
)
def test_nothing_is_written_through_a_link_out_of_the_run(name, victim):
    """The link may be refused, or replaced by a file."""
    step = newest(victim).step
    name = f"checkpoint/rows-{step:012}-{step // 30 * 30 + 30:012}.safetensors.part" if name == "rows" else name
    elsewhere = victim.parent / "elsewhere"
    elsewhere.write_bytes((victim / name).read_bytes() if (victim / name).exists() else b"keep me")
    before = elsewhere.read_bytes()
    (victim / name).unlink(missing_ok=True)
    (victim / name).symlink_to(elsewhere)
    assert cli.main(["train", "--resume", str(victim)]) in (0, 2, 5)
    assert elsewhere.read_bytes() == before


@pytest.mark.parametrize(
    "text",
    [
        f'algo = "{CODE}"\nenv = "Pendulum-v1"',
        'algo = ".os"\nenv = "Pendulum-v1"',
        'algo = 5\nenv = "Pendulum-v1"',
        'algo = "td3"\nenv = "os:system(\'touch owned\')"',
        f'algo = "td3"\nenv = "{CODE}"',
        f'env = "Pendulum-v1"\nseeds = "{CODE}"',
        f'env = "Pendulum-v1"\nwidth = "{CODE}"',
        f'env = "Pendulum-v1"\nbase = "{CODE}"',
        f'env = "Pendulum-v1"\npreset = "{CODE}"',
        f"env = {DEEP}",
        PICKLE.decode("latin1"),
    ],
    ids=["algo", "relative", "number", "env", "more", "seeds", "width", "base", "preset", "deep", "pickle"],
)
def test_a_config_file_with_code_in_it_is_refused(text, here, capsys):
    (here / "config.toml").write_text(text, "latin1")
    refused(["train", "--config", "config.toml"], capsys)
    assert sorted(here.iterdir()) == [here / "config.toml"]


@pytest.mark.parametrize(
    "change",
    [
        lambda card: PICKLE.decode("latin1"),
        lambda card: DEEP,
        lambda card: json.dumps([card]),
        lambda card: json.dumps({**card, "obs": "many"}),
        lambda card: json.dumps({**card, "step": float("inf")}),
        lambda card: json.dumps({**card, "obs": -1}),
        lambda card: json.dumps({**card, "obs": 10**30}),
        lambda card: json.dumps({**card, "config": [1]}),
        lambda card: json.dumps({**card, "run": {**card["run"], "algo": CODE}}),
        lambda card: json.dumps({**card, "run": {**card["run"], "algo": 5}}),
        lambda card: json.dumps({**card, "run": {**card["run"], "env": "os:system('touch owned')"}}),
    ],
    ids=["pickle", "deep", "list", "word", "infinite", "negative", "huge", "config", "code", "number", "env"],
)
def test_an_agent_whose_card_was_forged_is_refused(change, victim, capsys):
    card = victim / "agent" / "agent.json"
    card.write_text(change(json.loads(card.read_text())), "latin1")
    refused(["eval", str(victim)], capsys)
