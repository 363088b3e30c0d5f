"""An agent as a folder that others can load: what it holds, what it says, and the Hub's own client with it."""

import json
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from types import SimpleNamespace

import huggingface_hub
import jax
import numpy as np
import pytest
import safetensors.numpy
from huggingface_hub import ModelCard

import teen
from teen.cli.main import main
from teen.disk import elsewhere, saved
from teen.disk.agent import Agent
from teen.errors import UserError
from teen.snapshot import named
from tests.export.hub_server import serving

SMALL = {"steps": 60, "warmup": 20, "eval_every": 30, "eval_episodes": 1, "width": 8, "batch": 16, "show": False}


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """Return the folder of a TEEN with three members and seeds 3 and 7, which normalises observations."""
    out = tmp_path_factory.mktemp("runs") / "run"
    teen.train("teen", "Pendulum-v1", seeds="3,7", n=3, epsilon=0.05, normalise_obs=True, out=out, **SMALL)
    return out


@pytest.fixture(scope="module")
def shared(run, tmp_path_factory):
    out = tmp_path_factory.mktemp("shared") / "agents" / "pendulum"  # folders above it are made
    assert main(["share", str(run), "--out", str(out), "--episodes", "2"]) == 0
    return out


OBS = np.random.default_rng(0).normal(size=(50, 3))


def test_a_shared_agent_acts_as_the_run_does(run, shared):
    ours, theirs = teen.load(run), teen.load(shared)
    assert theirs.seeds == (3, 7)
    assert theirs.step == 60
    assert not theirs.complete
    for how in ({}, {"seed": 7}, {"seed": 7, "member": 2}):
        np.testing.assert_array_equal(theirs.act(OBS, **how), ours.act(OBS, **how))
    np.testing.assert_array_equal(theirs.act(OBS, deterministic=False), ours.act(OBS, deterministic=False))


def test_it_holds_actors_and_statistics_alone(run, shared):
    arrays = safetensors.numpy.load_file(shared / "agent" / "weights.safetensors")
    assert {name.split(".")[-2] if "statistics" in name else name.split(".")[-3] for name in arrays} == {
        "actor",
        "statistics",
    }
    whole = safetensors.numpy.load_file(run / "agent" / "weights.safetensors")
    for name, array in arrays.items():
        np.testing.assert_array_equal(array, whole[name])
    weights = named(teen.load(shared).weights)
    assert all(np.isnan(weights[name]).all() for name in whole.keys() - arrays.keys())


def test_the_score_is_that_of_the_files(shared):
    scores = json.loads((shared / "score.json").read_text())
    played = teen.load(shared).evaluate(2)
    for score, seed in zip(scores, (3, 7), strict=True):
        returns = [episode.score for episode in played if episode.seed == seed]
        assert score["seed"] == seed
        assert score["episodes"] == 2
        assert score["step"] == 60
        assert score["mean"] == pytest.approx(sum(returns) / 2)
        assert score["std"] == pytest.approx(abs(returns[0] - returns[1]) / 2**0.5)


def test_the_page_is_one_that_the_hub_reads(shared):
    page = ModelCard.load(shared / "README.md")
    scores = json.loads((shared / "score.json").read_text())
    result = page.data.eval_results[0]
    assert page.data.library_name == "teen"
    assert result.dataset_name == "Pendulum-v1"
    assert result.metric_value == pytest.approx(np.mean([score["mean"] for score in scores]), abs=0.06)
    assert 'teen.load("pendulum")' in page.text
    assert "](curve.png)" in page.text
    settings = tomllib.loads(page.text.partition("```toml\n")[2].partition("```")[0])
    config = tomllib.loads((shared / "config.toml").read_text())
    assert settings == {key: value for key, value in config.items() if key != "versions"}


def test_half_precision_some_seeds_and_the_best(run, tmp_path, capsys):
    out = tmp_path / "half"
    options = ["--half", "--seeds", "7,", "--best", "--episodes", "1"]
    assert main(["share", str(run), "--out", str(out), *options]) == 0
    assert main(["share", str(run), "--out", str(out), *options]) == 0  # again over its own
    arrays = safetensors.numpy.load_file(out / "agent" / "weights.safetensors")
    assert {str(a.dtype) for name, a in arrays.items() if name.endswith(".weight")} == {"float16"}
    assert {str(a.dtype) for name, a in arrays.items() if not name.endswith(".weight")} == {"float32"}
    half, best = teen.load(out), teen.load(run, best=True)
    assert half.seeds == (7,)
    assert half.steps == (best.steps[1],)
    np.testing.assert_allclose(half.act(OBS), best.act(OBS, seed=7), atol=5e-3)
    assert all(leaf.dtype == np.float32 for leaf in jax.tree.leaves(half.weights))
    assert "seed 7: " in capsys.readouterr().out


def test_a_whole_one_can_be_diagnosed_and_a_slim_one_says_why_not(run, shared, tmp_path, capsys):
    whole = tmp_path / "whole"
    assert main(["share", str(run), "--out", str(whole), "--whole", "--episodes", "1"]) == 0
    assert teen.load(whole).complete
    (tmp_path / "slim").mkdir()
    for part in ("config.toml", "agent/agent.json", "agent/weights.safetensors"):
        target = tmp_path / "slim" / part
        target.parent.mkdir(exist_ok=True)
        target.write_bytes((shared / part).read_bytes())
    (tmp_path / "slim" / "eval.csv").write_bytes((run / "eval.csv").read_bytes())
    onward = ["train", "--config", str(run / "config.toml"), "--from", str(shared), "--out", str(tmp_path / "onward")]
    for command in (["analyze", str(tmp_path / "slim")], onward):
        assert main(command) == 2
        assert "needs critics, and this agent was shared without them" in capsys.readouterr().err
    assert not (tmp_path / "onward").exists()


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--whole", "--half"], "leave out --half"),
        (["--private"], "--private is for --push"),
        (["--episodes", "0"], "--episodes must be at least 1"),
        (["--seeds", "5,"], "this agent has seeds [3, 7], not 5"),
        (["--push", "me/pendulum"], "there is no token"),
        (["--push", "pendulum"], "write USER/NAME"),
    ],
)
def test_what_cannot_be_shared(run, tmp_path, capsys, monkeypatch, options, said):
    monkeypatch.setattr(huggingface_hub, "get_token", lambda: None)
    assert main(["share", str(run), "--out", str(tmp_path / "out"), *options]) == 2
    error = capsys.readouterr().err
    assert said in error
    assert error.count("\n") == 1
    assert not (tmp_path / "out").exists()


def test_a_folder_below_a_file_cannot_be_written(run, tmp_path, capsys):
    (tmp_path / "file").touch()
    assert main(["share", str(run), "--out", str(tmp_path / "file" / "out"), "--episodes", "1"]) == 2
    assert capsys.readouterr().err.endswith("file/out cannot be written: Not a directory\n")


def test_a_saved_model_and_the_run_itself_are_left_alone(run, tmp_path, capsys):
    model = tmp_path / "model"
    saved.export(model, teen.load(run))
    before = (model / "agent" / "weights.safetensors").read_bytes()
    other = tmp_path / "other"
    shutil.copytree(model, other)
    for out, said in ((model, "is what is to be shared"), (other, "holds agent, which is no part"), (run, "holds")):
        assert main(["share", str(model), "--out", str(out), "--episodes", "1"]) == 2
        assert said in capsys.readouterr().err
    assert [(f / "agent" / "weights.safetensors").read_bytes() for f in (model, other)] == [before, before]


def test_versions_are_those_of_the_training(run, tmp_path):
    old, out = tmp_path / "old", tmp_path / "out"
    shutil.copytree(run, old)
    config = (old / "config.toml").read_text()
    (old / "config.toml").write_text(re.sub(r'^jax = ".*"', 'jax = "0.0.1"', config, flags=re.MULTILINE))
    assert main(["share", str(old), "--out", str(out), "--episodes", "1"]) == 0
    assert tomllib.loads((out / "config.toml").read_text())["versions"]["jax"] == "0.0.1"
    assert json.loads((out / "agent" / "agent.json").read_text())["versions"]["jax"] == "0.0.1"
    assert re.search(r"Trained with .*jax 0\.0\.1.*; scored with .*jax", (out / "README.md").read_text())


def test_a_seed_without_a_finite_return_is_named(run, tmp_path, capsys):
    agent = teen.load(run)
    weights = jax.tree.map(lambda leaf: np.array(leaf), agent.weights)
    for leaf in jax.tree.leaves(weights):
        leaf[1] = np.nan
    saved.export(tmp_path / "diverged", Agent(agent.settings, agent.config, agent.step, weights))
    assert main(["share", str(tmp_path / "diverged"), "--out", str(tmp_path / "out"), "--episodes", "1"]) == 2
    assert "the policy of seed 7 has no finite return: leave it out with --seeds" in capsys.readouterr().err


def test_a_slim_agent_is_exported_too(shared, tmp_path):
    assert main(["export", str(shared), "--to", "numpy", "--out", str(tmp_path / "policy.npz")]) == 0
    assert main(["export", str(shared), "--to", "onnx", "--out", str(tmp_path / "policy.onnx")]) == 0


def test_a_small_file_cannot_ask_for_much_memory(shared, tmp_path, capsys):
    """What a slim agent leaves out has sizes that its settings name."""
    for part in ("config.toml", "agent/agent.json", "agent/weights.safetensors"):
        (tmp_path / part).parent.mkdir(exist_ok=True)
        (tmp_path / part).write_bytes((shared / part).read_bytes())
    card = json.loads((tmp_path / "agent" / "agent.json").read_text())
    card["config"]["critics"] = 10_000
    (tmp_path / "agent" / "agent.json").write_text(json.dumps(card))
    (tmp_path / "config.toml").write_text(
        (shared / "config.toml").read_text().replace("critics = 1", "critics = 10000")
    )
    assert main(["eval", str(tmp_path)]) == 2
    assert "it leaves out" in capsys.readouterr().err


def test_a_folder_with_other_things_is_left_alone(run, tmp_path, capsys):
    (tmp_path / "notes.txt").write_text("mine")
    assert main(["share", str(run), "--out", str(tmp_path)]) == 2
    assert "holds notes.txt" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["notes.txt"]


@pytest.fixture
def hub(monkeypatch, tmp_path):
    """Return a Hub on loopback, which children use."""
    with serving() as server:
        for name, value in {
            "HF_ENDPOINT": server.url, "HF_TOKEN": "hf_test", "TEEN_CACHE": str(tmp_path / "cache"),
            "HF_HOME": str(tmp_path / "hf"), "HF_HUB_DISABLE_TELEMETRY": "1", "HF_HUB_OFFLINE": "0",
        }.items():  # fmt: skip
            monkeypatch.setenv(name, value)
        yield server


def child(*arguments):
    """Run the command in a process of its own: the client reads its address when it is imported."""
    command = [sys.executable, "-m", "teen", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=300)


def test_to_the_hub_and_back(run, hub, tmp_path):
    hub.repositories["me/public"], hub.private["me/public"] = {}, False
    pushed = child("share", run, "--out", tmp_path / "mine", "--episodes", 1, "--push", "me/pendulum", "--private")
    assert pushed.returncode == 0, pushed.stderr
    assert hub.private["me/pendulum"]
    files = hub.repositories["me/pendulum"]
    assert set(files) == {
        "README.md", "config.toml", "agent/agent.json", "agent/weights.safetensors", "score.json", "curve.png",
    }  # fmt: skip
    assert b'teen.load("hf:me/pendulum")' in files["README.md"]
    files["evil.py"] = b"raise SystemExit('executed')"
    pulled = child("eval", "hf:me/pendulum", "--episodes", 1)
    assert pulled.returncode == 0, pulled.stderr
    (folder,) = (tmp_path / "cache" / "hub" / "me--pendulum").iterdir()
    assert not (folder / "evil.py").exists()
    for name in ("config.toml", "agent/agent.json", "agent/weights.safetensors"):
        assert not (folder / name).is_symlink()
        assert (folder / name).read_bytes() == files[name]
    np.testing.assert_array_equal(teen.load(folder).act(OBS), teen.load(run).act(OBS))
    public = child("share", run, "--out", tmp_path / "mine", "--episodes", 1, "--push", "me/public", "--private")
    assert public.returncode == 2
    assert "me/public is public: make it private first" in public.stderr
    assert hub.repositories["me/public"] == {}
    hub.down = True
    again = child("eval", "hf:me/pendulum", "--episodes", 1)
    assert again.returncode == 0
    assert "as it was downloaded before is taken" in again.stderr
    unknown = child("eval", "hf:me/other", "--episodes", 1)
    assert unknown.returncode == 2
    assert "cannot be downloaded" in unknown.stderr
    assert "Traceback" not in unknown.stderr
    hub.down = False
    absent = child("eval", "hf:me/other", "--episodes", 1)
    assert absent.returncode == 2, absent.stderr
    assert "has no agent me/other" in absent.stderr


def test_a_forged_agent_that_names_a_module_is_refused(run, hub, tmp_path, monkeypatch):
    """Its module would be importable, and would leave a mark."""
    mark, place = tmp_path / "mark", tmp_path / "modules"
    (place / "forged").mkdir(parents=True)
    (place / "forged" / "__init__.py").write_text(f"open({str(mark)!r}, 'w')")
    monkeypatch.setenv("PYTHONPATH", f"{place}:{Path(teen.__file__).parents[1]}")
    for setting in ("env", "algo"):
        folder = tmp_path / f"forged-{setting}"
        assert main(["share", str(run), "--out", str(folder), "--episodes", "1"]) == 0
        card = json.loads((folder / "agent" / "agent.json").read_text())
        card["run"][setting] = {"env": "forged:Task-v0", "algo": "forged.algo"}[setting]
        (folder / "agent" / "agent.json").write_text(json.dumps(card))
        hub.repositories[f"me/{setting}"] = {
            str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()
        }
        refused = child("eval", f"hf:me/{setting}", "--episodes", 1)
        assert refused.returncode == 2, refused.stderr
        assert "forged" in refused.stderr
        assert "trust" in refused.stderr
        assert not mark.exists()


@pytest.mark.parametrize("name", ["hf:pendulum", "hf:../x", "hf:a/b/c", "hf:a/..@x"])
def test_names_of_no_agent(name, capsys):
    assert main(["eval", name]) == 2
    assert "names no agent" in capsys.readouterr().err


def test_a_damaged_slim_agent_is_named(shared, tmp_path, capsys):
    for part in ("config.toml", "agent/agent.json", "agent/weights.safetensors"):
        (tmp_path / part).parent.mkdir(exist_ok=True)
        (tmp_path / part).write_bytes((shared / part).read_bytes())
    card = json.loads((tmp_path / "agent" / "agent.json").read_text())
    (tmp_path / "agent" / "agent.json").write_text(json.dumps({**card, "half": True}))
    assert main(["eval", str(tmp_path)]) == 2
    assert "weights.safetensors" in capsys.readouterr().err


def test_a_download_that_is_cut_is_begun_again(monkeypatch, tmp_path):
    """The first time only config.toml comes."""
    calls = []

    def download(repository, *, local_dir, **_):
        calls.append(repository)
        local_dir.mkdir(parents=True)
        (local_dir / "config.toml").write_text("env = 'Pendulum-v1'")
        if len(calls) == 1:
            raise RuntimeError("the line is dead\nand more")

    monkeypatch.setenv("TEEN_CACHE", str(tmp_path))
    monkeypatch.setattr(elsewhere, "_commit", lambda *_: "a" * 40)
    monkeypatch.setattr(elsewhere, "hub", lambda: SimpleNamespace(snapshot_download=download))
    with pytest.raises(UserError, match=r"hf:me/cut cannot be downloaded: the line is dead$"):
        elsewhere.fetched("me/cut")
    folder = elsewhere.fetched("me/cut")
    assert (len(calls), [path.name for path in folder.parent.iterdir()]) == (2, ["a" * 40])
    assert elsewhere.fetched("me/cut") == folder
    assert len(calls) == 2


def test_what_a_run_began_with_is_not_shared(run, tmp_path):
    onward, out = tmp_path / "onward", tmp_path / "out"
    teen.train(
        "teen", "Pendulum-v1", seeds="3,7", n=3, epsilon=0.05, normalise_obs=True, out=onward, from_=str(run), **SMALL
    )
    assert main(["share", str(onward), "--out", str(out), "--episodes", "1"]) == 0
    for name in ("README.md", "config.toml", "agent/agent.json"):
        assert str(run) not in (out / name).read_text()
