"""The examples of docs/export.md run."""

import contextlib
import io
import re
from pathlib import Path

import numpy as np
import pytest

import teen
from teen.cli import main as cli
from teen.disk import saved

from .agents import untrained

PAGE = (Path(__file__).parents[2] / "docs" / "export.md").read_text()
BLOCKS = re.findall(r"```python\n(.*?)```", PAGE, re.S)


@pytest.fixture(scope="module")
def exported(tmp_path_factory):
    """Run the page's first commands, on a smaller task."""
    here = tmp_path_factory.mktemp("page")
    (here / "runs").mkdir()
    saved.export(here / "runs" / "cheetah", untrained("td3", "Pendulum-v1", seeds=2))
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(here)
        patch.setenv("MINARI_DATASETS_PATH", str(here / "minari"))
        for command in re.findall(r"^    teen (export .*)$", PAGE, re.M)[:3]:
            assert cli.main(command.replace("--episodes 100", "--episodes 2").split()) == 0
        patch.syspath_prepend(here)
        yield here


def run(block):
    printed = io.StringIO()
    names = {}
    with contextlib.redirect_stdout(printed):
        exec(block.replace("HalfCheetah-v5", "Pendulum-v1").replace("np.zeros(17)", "np.ones(3)"), names)
    return printed.getvalue(), names


def test_the_examples(exported):
    agent = teen.load(exported / "runs" / "cheetah")
    text, names = run(BLOCKS[0])
    assert "'task': 'Pendulum-v1'" in text
    env, obs = names["env"], names["env"].reset(seed=0)[0]
    score, over = 0.0, False
    while not over:
        obs, reward, terminated, truncated, _ = env.step(agent.act(obs))
        score, over = score + reward, terminated or truncated
    assert names["score"] == pytest.approx(score, rel=1e-3)
    _, names = run(BLOCKS[1])
    np.testing.assert_allclose(names["action"], agent.act(np.ones(3)), atol=1e-5)
    text, names = run(BLOCKS[2])
    assert text.startswith("2 [")
    assert names["env"].spec.id == "Pendulum-v1"
    assert len(BLOCKS) == 3
