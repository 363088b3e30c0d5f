"""The command `teen export`: files, messages, exit codes."""

import json

import jax
import minari
import numpy as np
import onnxruntime
import pytest

import teen
from teen.cli import main as cli
from teen.disk import saved
from tests.export.agents import untrained


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """Return a run folder with an agent that was never trained, and another as its best."""
    folder = tmp_path_factory.mktemp("runs") / "run"
    agent = untrained("teen", "Pendulum-v1", n=2, epsilon=0.1, seeds="3,7", normalise_obs=True)
    agent.step, agent.steps = 300, (300, 300)
    saved.export(folder, agent)
    best = teen.Agent(agent.settings, agent.config, 300, jax.tree.map(lambda leaf: leaf / 2, agent.weights), (100, 200))
    saved.save(folder / saved.BEST, best, best.spec)
    return folder


OBS = np.random.default_rng(0).normal(size=(20, 3)).astype(np.float32)


def test_onnx(run, tmp_path, capsys):
    for how, asked in (([], {}), (["--policy", "7", "--member", "1"], {"seed": 7, "member": 1})):
        assert cli.main(["export", str(run), "--to", "onnx", "--out", str(tmp_path / "p.onnx"), *how]) == 0
        text = capsys.readouterr().out
        (actions,) = onnxruntime.InferenceSession(tmp_path / "p.onnx").run(None, {"obs": OBS})
        np.testing.assert_allclose(actions, teen.load(run).act(OBS, **asked), atol=2e-5)
    assert "p.onnx: teen (td3) on Pendulum-v1, seed 7, member 1, after 300 steps; acts as the agent on 1,000" in text


def test_numpy_with_the_best_weights(run, tmp_path, capsys):
    out = tmp_path / "p.npz"
    assert cli.main(["export", str(run), "--to", "numpy", "--out", str(out), "--best", "--policy", "7"]) == 0
    text = capsys.readouterr().out
    assert "seed 7, mean of 2 members, after 200 steps" in text
    assert f"{tmp_path / 'p.py'}: acts with it, without JAX" in text
    namespace = {}
    exec((tmp_path / "p.py").read_text(), namespace)
    policy = namespace["Policy"](out)
    np.testing.assert_allclose(policy.act(OBS), teen.load(run, best=True).act(OBS, seed=7), atol=2e-5)
    assert not np.allclose(policy.act(OBS), teen.load(run).act(OBS, seed=7), atol=1e-2)


def test_minari(run, tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path))
    command = ["export", str(run), "--to", "minari", "--out", "pendulum/teen-v0", "--episodes", "2", "--seed", "1"]
    assert cli.main(command) == 0
    text = " ".join(capsys.readouterr().out.replace("│", " ").split())
    dataset = minari.load_dataset("pendulum/teen-v0")
    returns = [episode.rewards.sum() for episode in dataset]
    assert f"3 2 {np.mean(returns):.1f} ± {np.std(returns, ddof=1):.1f} 200" in text
    assert f'in {tmp_path / "pendulum/teen-v0"}; minari.load_dataset("pendulum/teen-v0") reads it' in text
    assert cli.main(command) == 2
    assert "there is a dataset pendulum/teen-v0" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--to", "onnx", "--out", "p.bin"], "does not end in .onnx"),
        (["--to", "numpy", "--out", "."], "does not end in .npz"),
        (["--to", "onnx", "--out", "nowhere/p.onnx"], "nowhere/p.onnx cannot be written: No such file or directory"),
        (["--to", "numpy", "--out", "nowhere/p.npz"], "nowhere/p.npz cannot be written: No such file or directory"),
        (["--to", "onnx", "--out", "p.onnx", "--episodes", "3"], "--episodes is for --to minari"),
        (["--to", "numpy", "--out", "p.npz", "--explore"], "--explore is for --to minari"),
        (["--to", "minari", "--out", "p-v0", "--episodes", "0"], "--episodes must be at least 1"),
        (["--to", "onnx", "--out", "p.onnx", "--policy", "5"], "this agent has seeds [3, 7], not 5"),
        (["--to", "onnx", "--out", "p.onnx", "--member", "2"], "there is no member 2: this agent has members 0 to 1"),
        (["--to", "torch", "--out", "p.pt"], "invalid choice: 'torch'"),
        (["--to", "onnx"], "the following arguments are required: --out"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_mistakes_are_one_line(arguments, words, run, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert cli.main(["export", str(run), *arguments]) == 2
    (line,) = capsys.readouterr().err.strip().splitlines()
    assert words in line
    assert list(tmp_path.iterdir()) == []


def test_files_name_no_module_that_is_not_trusted(run, tmp_path, capsys):
    """As `teen.load`: to import a module is to execute it."""
    folder = tmp_path / "run"
    saved.export(folder, teen.load(run))
    for name in ("agent/agent.json", "config.toml"):
        text = (folder / name).read_text().replace("Pendulum-v1", "strange_module:Pendulum-v1")
        (folder / name).write_text(text)
    assert json.loads((folder / "agent/agent.json").read_text())["run"]["env"] == "strange_module:Pendulum-v1"
    assert cli.main(["export", str(folder), "--to", "onnx", "--out", str(tmp_path / "p.onnx")]) == 2
    assert "asks for the module 'strange_module'" in capsys.readouterr().err
