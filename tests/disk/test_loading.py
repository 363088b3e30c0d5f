"""Loading an agent: the saved one, or the checkpoint's where that is newer, as after a kill."""

import hashlib
import json
import shutil

import jax
import numpy as np
import pytest

import teen
from teen.cli import main as cli
from teen.errors import UserError
from teen.training.analyze import analyze

SMALL = {
    "env": "tests.toys:PointMass-v0", "seeds": "3,7", "steps": 60, "warmup": 20, "eval_every": 60, "eval_episodes": 1,
    "width": 8, "batch": 16, "gamma": 0.8, "checkpoint_every": 20, "show": False,
}  # fmt: skip


@pytest.fixture(scope="module")
def sweep(tmp_path_factory):
    """Return a run with two variants, each with its agent of step 60, and checkpoints of steps 40 and 60."""
    out = tmp_path_factory.mktemp("runs") / "sweep"
    teen.train("teen", n=3, epsilon=0.05, alpha=[0.2, 0], normalise_obs=True, out=out, **SMALL)
    return out


@pytest.fixture
def run(sweep, tmp_path):
    """Return one variant of a copy of the sweep."""
    shutil.copytree(sweep, tmp_path / "sweep")
    return tmp_path / "sweep" / "alpha=0"


def same(a, b):
    jax.tree.map(np.testing.assert_array_equal, a.weights, b.weights)
    assert (a.config, a.seeds, a.step) == (b.config, b.seeds, b.step)


def aged(run, step):
    """Make the saved agent say that it is of another step."""
    card = json.loads((run / "agent" / "agent.json").read_text())
    (run / "agent" / "agent.json").write_text(json.dumps({**card, "step": step}))


def checkpoint_file(run, step, name="state.safetensors"):
    return run.parent / "checkpoint" / f"step-{step:012}" / name


def test_each_variant_gets_its_lanes_of_the_checkpoint(sweep, run):
    for variant in ("alpha=0", "alpha=0.2"):
        shutil.rmtree(run.parent / variant / "agent")
        same(teen.load(run.parent / variant), teen.load(sweep / variant))
    alone, among = teen.load(run), teen.load(sweep / "alpha=0.2")
    weights = [agent.weights.inner.members.actor[0].weight for agent in (alone, among)]
    assert not np.array_equal(*weights)


def test_a_single_variant_and_its_analysis(tmp_path):
    teen.train("td3", out=tmp_path / "run", **SMALL)
    saved = teen.load(tmp_path / "run")
    shutil.rmtree(tmp_path / "run" / "agent")
    same(teen.load(tmp_path / "run"), saved)
    assert analyze(tmp_path / "run", episodes=1).step == 60
    assert "\n7,60,entropy_all," in (tmp_path / "run" / "diagnostics.csv").read_text()


@pytest.mark.parametrize(("said", "expected"), [(20, 60), (60, 60), (80, 80)])
def test_the_newer_of_the_two_is_loaded(run, said, expected):
    aged(run, said)
    assert teen.load(run).step == expected


def test_a_damaged_checkpoint_is_skipped(run):
    checkpoint_file(run, 60).write_bytes(b"")
    aged(run, 50)
    assert teen.load(run).step == 50  # newer than the whole one of step 40
    aged(run, 30)
    assert teen.load(run).step == 40
    checkpoint_file(run, 40).write_bytes(b"")
    assert teen.load(run).step == 30
    shutil.rmtree(run / "agent")
    with pytest.raises(UserError, match=r"no checkpoint in .* is whole"):
        teen.load(run)


def sign(manifest, **changes):
    """Write a manifest anew, with a checksum that fits."""
    content = {**json.loads(manifest.read_text())["content"], **changes}
    text = json.dumps(content, sort_keys=True, separators=(",", ":"))
    manifest.write_text(json.dumps({"sha256": hashlib.sha256(text.encode()).hexdigest(), "content": content}))


def test_a_checkpoint_of_an_older_format_leaves_the_saved_agent(run, capsys):
    for step in (40, 60):
        sign(checkpoint_file(run, step, "manifest.json"), format=1)
    aged(run, 30)
    assert teen.load(run).step == 30
    notice = capsys.readouterr().err
    assert "has format 1" in notice
    assert "the agent saved at step 30 is taken" in notice
    assert cli.main(["eval", str(run), "--episodes", "1"]) == 0
    shutil.rmtree(run / "agent")
    with pytest.raises(UserError, match=r"has format 1, which teen 0\.1\.0 writes .* reads format 3"):
        teen.load(run)


def test_the_replay_need_not_be_whole(run):
    for path in (run.parent / "checkpoint").glob("rows-*"):
        path.unlink()
    shutil.rmtree(run / "agent")
    assert teen.load(run).step == 60


def test_a_checkpoint_of_something_else_is_named(run):
    other = run.with_name("alpha=5")
    run.rename(other)
    shutil.rmtree(other / "agent")
    with pytest.raises(UserError, match=r"checkpoint of step 60 .* does not fit"):
        teen.load(other)


def test_a_run_that_was_killed_before_its_first_step_has_an_agent(run):
    shutil.rmtree(run / "agent")
    shutil.rmtree(checkpoint_file(run, 40).parent)
    checkpoint_file(run, 60).parent.rename(checkpoint_file(run, 0).parent)
    sign(checkpoint_file(run, 0, "manifest.json"), step=0, rows=[])
    assert teen.load(run).step == 0


def test_only_a_variant_has_its_checkpoints_in_the_folder_above(run):
    """What lies beside other runs is not theirs, and no reason to refuse them."""
    single = run.with_name("single")
    run.rename(single)
    aged(single, 30)
    (run.parent / "checkpoint").rename(run.parent / "elsewhere")
    (run.parent / "checkpoint").symlink_to(run.parent / "elsewhere")
    assert teen.load(single).step == 30
    single.rename(run)
    with pytest.raises(UserError, match="links in a run folder are not followed"):
        teen.load(run)


@pytest.mark.parametrize("name", ["nowhere", "file"])
def test_what_is_no_folder_is_named(name, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(UserError, match=name):
        teen.load(tmp_path / name)
