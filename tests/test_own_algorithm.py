"""DDPG as docs/extending.md prints it: coloured noise in the memo, both collectors, a resume."""

import filecmp
import re
from pathlib import Path

import jax.numpy as jnp
import numpy as np
import pytest

from teen import algos
from teen.cli import main as cli
from teen.config import modules
from teen.disk import checkpoint
from tests.engine.collecting import Bench

TEXT = (Path(__file__).parents[1] / "docs" / "extending.md").read_text()
SMALL = (
    "--seeds 2 --width 8 --batch 16 --warmup 100 --buffer 400 --eval-every 200 --eval-episodes 1 --log-every 100 "
    "--checkpoint-every 200 --n-step 3"
)


@pytest.fixture
def package(tmp_path, monkeypatch):
    """Return the folder of `my_package`, from which the commands of the page are run."""
    (tmp_path / "my_package").mkdir()
    code = re.search(r"`my_package/ddpg.py`:\n\n```python\n(.*?)```", TEXT, re.S).group(1)
    (tmp_path / "my_package" / "ddpg.py").write_text(code)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.chdir(tmp_path)
    modules.import_named({"algo": "my_package.ddpg"})
    return tmp_path


def ddpg():
    return algos.find("my_package.ddpg")


def test_the_noise_is_an_ornstein_uhlenbeck_process(package):
    """By hand with θ = 0.25 and σ = 0.5, from 0: 0.5·1, then 0.75·0.5 + 0.5·(−1), then 0.75·(−0.125) + 0.5·0.5."""
    cfg = ddpg().Config(theta=0.25, noise=0.5)
    actor = (algos.td3.nets.Linear(jnp.zeros((2, 3)), jnp.zeros(2)),)  # always 0
    memo, seen = ddpg().begin(cfg, None, algos.td3.Spec(3, 2)), []
    for number in (1.0, -1.0, 0.5, 9.0):
        action, _, memo = ddpg().act(cfg, actor, memo, jnp.zeros(3), jnp.array([number, 0.0]))
        seen.append(action.tolist())
    np.testing.assert_allclose(seen, [[0.5, 0], [-0.125, 0], [0.15625, 0], [1, 0]], atol=1e-6)
    assert memo[0] == pytest.approx(0.75 * 0.15625 + 4.5)  # the action is clipped, the noise is not


def test_both_collectors_colour_the_noise_alike(package):
    """Untrained: the noise is what an action lies beside the policy's. It moves by σξ, and begins at 0 in episodes."""
    rows = {kind: Bench(kind, ddpg(), "Hopper-v4", [0, 1], 10, noise=0.05, lr=1e-12) for kind in ("python", "compiled")}
    for kind, bench in rows.items():
        rows[kind] = bench.collect(0, 300)
        weights = bench.trainer.weights().result()
        bench.close()
    obs, action = bench.layout.spec
    np.testing.assert_allclose(rows["compiled"], rows["python"], rtol=1e-3, atol=2e-3)
    ended = rows["python"][:-1, :, bench.layout.ended].astype(bool)
    assert ended.sum() > 4
    for lane in range(2):
        seen, done = rows["python"][:, lane, :obs], rows["python"][:, lane, obs : obs + action]
        layers = [np.array(part[lane]) for layer in weights.actor for part in layer]
        policy = seen
        for weight, bias in zip(layers[::2], layers[1::2], strict=True):
            policy = (np.maximum(policy, 0) if policy is not seen else policy) @ weight.T + bias
        noise = done - np.tanh(policy)
        before = np.where(ended[:, lane, None], 0, noise[:-1])
        steps = (noise[1:] - 0.85 * before) / 0.05  # ξ, where nothing was clipped
        free = (np.abs(done[1:]) < 1).all(1) & ((np.abs(done[:-1]) < 1).all(1) | ended[:, lane])
        assert free.sum() > 200
        assert steps[free].std() == pytest.approx(1, abs=0.1)
        assert abs(np.mean(steps[free][1:] * steps[free][:-1])) < 0.15  # white again


@pytest.mark.parametrize("collector", ["python", "compiled"])
def test_it_trains_and_goes_on_after_a_resume(package, collector, capsys):
    """Gymnasium's Hopper-v5 goes on where it was cut, its noise too; EnvPool's Hopper-v4 begins new episodes."""
    task = "--env Hopper-v5 --backend gymnasium" if collector == "python" else "--env Hopper-v4"
    train = ["train", "--algo", "my_package.ddpg", *task.split(), "--collector", collector, *SMALL.split()]
    assert cli.main([*train, "--steps", "400", "--out", "whole"]) == 0
    assert cli.main([*train, "--steps", "200", "--out", "cut"]) == 0
    assert cli.main(["train", "--resume", "cut", "--steps", "400"]) == 0
    saved = checkpoint.newest(package / "cut" / "checkpoint").snapshot
    cuts = saved.facts["engine"]["trainer"]["cuts"]
    if collector == "compiled":
        assert "begins a new episode" in capsys.readouterr().err
        assert cuts == [[200, [0, 1]]]
        return
    assert cuts == []
    memo = next(array for name, array in saved.arrays.items() if "memo" in name)
    assert memo.shape == (2, 3)
    assert (memo != 0).any()
    for name in ("eval.csv", "train.csv", "config.toml", "agent/weights.safetensors"):
        assert filecmp.cmp(package / "whole" / name, package / "cut" / name, shallow=False), name


@pytest.mark.full
def test_the_command_of_the_page_runs(package):
    command = re.search(r"    teen train (--algo my_package.ddpg .*?)\n\n", TEXT, re.S).group(1).replace("\\\n", " ")
    assert cli.main(["train", *command.split()]) == 0
    assert {path.name for path in (package / "runs" / "ddpg").glob("theta=*")} == {"theta=0.15", "theta=1"}
