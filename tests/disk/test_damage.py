"""Files that were damaged or changed: each is named in one line, or an older one is used; none is trusted."""

import shutil
from pathlib import Path

import numpy as np
import pytest

from teen.cli import main as cli
from teen.disk import checkpoint
from teen.errors import UserError
from tests.training.survival import STEPS, assert_same_end, newest, same


@pytest.fixture
def victim(stopped, tmp_path):
    """A run with a single checkpoint."""
    run = tmp_path / "run"
    shutil.copytree(stopped, run)
    shutil.rmtree(min(run.glob("checkpoint/step-*")))
    return run


def harmed(data: bytes, rng: np.random.Generator) -> bytes:
    """Return the data with one bit flipped, or cut off, at a random place."""
    place = int(rng.integers(len(data)))
    if rng.random() < 0.3:
        return data[:place]
    return data[:place] + bytes([data[place] ^ 1 << int(rng.integers(8))]) + data[place + 1 :]


def newest_or_why_not(run: Path) -> checkpoint.Checkpoint | str:
    try:
        return newest(run)
    except UserError as error:
        return str(error)


@pytest.mark.parametrize(
    ("first", "last"), [(0, 400), pytest.param(400, 8000, marks=pytest.mark.full)], ids=["some", "many"]
)
def test_a_flipped_or_missing_byte_is_always_noticed(first, last, reference, tmp_path):
    run = tmp_path / "run"
    shutil.copytree(reference, run)
    files = sorted(path for path in (run / "checkpoint").rglob("*") if path.is_file())
    assert {path.name[:4] for path in files} == {"rows", "stat", "mani"}
    whole = {newest(reference).step: newest(reference)}
    shutil.rmtree(run / "checkpoint" / f"step-{STEPS:012}")
    whole[newest(run).step] = newest(run)
    shutil.copytree(reference, run, dirs_exist_ok=True)
    older = min(whole)
    outcomes = []
    for number in range(first, last):
        path = files[number % len(files)]
        data = path.read_bytes()
        path.write_bytes(harmed(data, np.random.default_rng([1, number])))
        answer = newest_or_why_not(run)
        if isinstance(answer, str):
            assert "checkpoint" in answer
            assert "\n" not in answer
            outcomes.append("named")
        else:
            assert same(answer, whole[answer.step]), (number, path)
            assert (answer.step == older) == bool(answer.damaged)
            needed = path.name.startswith("rows") or f"{STEPS:012}" in path.parent.name
            assert answer.step == older or not needed or path.name == "manifest.json"  # there it may have been a space
            outcomes.append("older" if answer.damaged else "equal")
        path.write_bytes(data)
    assert set(outcomes) == {"named", "older", "equal"}
    assert newest(run).step == STEPS


@pytest.mark.parametrize("name", ["state.safetensors", "manifest.json"])
def test_a_damaged_checkpoint_is_skipped_and_the_end_is_the_same(name, stopped, reference, tmp_path, capsys):
    run = tmp_path / "run"
    shutil.copytree(stopped, run)
    path = max(run.glob("checkpoint/step-*")) / name
    path.write_bytes(harmed(path.read_bytes(), np.random.default_rng(2)))
    assert cli.main(["train", "--resume", str(run)]) == 0
    (notice,) = [line for line in capsys.readouterr().err.splitlines() if line.startswith("notice: ")]
    assert notice.startswith("notice: going on from step 180, because a newer checkpoint is damaged: ")
    assert name in notice
    assert_same_end(run, reference)


def refused(arguments: list[str], capsys, word: str = "") -> None:
    """Check for exit code 2 and one line beside that of the replay."""
    assert cli.main(arguments) == 2
    (line,) = [line for line in capsys.readouterr().err.splitlines() if not line.startswith("replay: ")]
    assert line.startswith("teen: ")
    assert word in line


@pytest.mark.parametrize(
    "text",
    ["", "not,an,episode\n" * 40, "\0" * 400, "seed,step\n" + "0,x,mean,0,1.0,40\n" * 30],
    ids=["empty", "words", "zeros", "no number"],
)
def test_a_log_that_was_changed_meanwhile_is_named(text, victim, capsys):
    (victim / "eval.csv").write_text(text)
    refused(["train", "--resume", str(victim)], capsys, "eval.csv")
    assert (victim / "eval.csv").read_text() == text


def test_a_run_without_a_checkpoint_is_named(victim, capsys):
    resume = ["train", "--resume", str(victim)]
    (step,) = victim.glob("checkpoint/step-*")
    shutil.rmtree(step)
    step.mkdir()
    refused(resume, capsys, "manifest.json is missing")
    step.rmdir()
    refused(resume, capsys, "there is no checkpoint")
    shutil.rmtree(victim / "checkpoint")
    refused(resume, capsys, "there is no checkpoint")
    shutil.rmtree(victim)
    refused(resume, capsys, "is not a run folder")
    assert not victim.exists()
    victim.write_text("")
    refused(resume, capsys, "is not a run folder")


@pytest.mark.parametrize(
    ("flags", "word"),
    [
        ("--lr 1e-3", "--lr"),
        ("--seeds 3", "--seeds"),
        ("--out elsewhere", "--out"),
        ("--config x.toml", "--config"),
        ("--steps 100", "--steps can be raised, not lowered"),
        ("--steps many", "--steps must be a whole number"),
        ("--steps 0", "--steps must be at least 1"),
        ("--checkpoint-every -1", "--checkpoint-every must be at least 0"),
    ],
)
def test_a_setting_that_may_not_change_is_refused(flags, word, victim, capsys):
    before = sorted(victim.rglob("*"))
    refused(["train", "--resume", str(victim), *flags.split()], capsys, word)
    assert sorted(victim.rglob("*")) == before
