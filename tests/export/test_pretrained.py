"""The agents that come with the package reach the scores that they were saved with."""

import json
from pathlib import Path

import pytest

import teen
from teen.disk import elsewhere
from teen.envs import names
from teen.errors import UserError


@pytest.mark.parametrize("task", elsewhere.pretrained())
def test_it_reaches_its_score(task):
    """From other starts. Five per cent are five standard errors of five episodes on Ant-v4, and more on the others."""
    agent = teen.load(f"pretrained/{task}")
    saved = json.loads((elsewhere.found(f"pretrained/{task}") / "score.json").read_text())
    for score, seed in zip(saved, agent.seeds, strict=True):
        returns = [episode.score for episode in agent.evaluate(5, seed=1) if episode.seed == seed]
        assert len(returns) == 5
        assert sum(returns) / 5 > 0.95 * score["mean"]
    assert agent.settings.env.removeprefix(names.SUITE) == task


def test_they_are_small_and_the_page_lists_them():
    page = (Path(__file__).parents[2] / "docs" / "share.md").read_text()
    gymnasium, suite = (
        ["Ant-v4", "HalfCheetah-v4", "Hopper-v4", "Walker2d-v4"],
        ["cheetah-run", "finger-spin", "walker-run"],
    )
    assert elsewhere.pretrained() == [*gymnasium, *suite]
    for task in elsewhere.pretrained():
        folder = elsewhere.found(f"pretrained/{task}")
        assert sum(path.stat().st_size for path in folder.rglob("*")) < 2_000_000
        assert f'teen.load("pretrained/{task}")' in (folder / "README.md").read_text()
        (score,) = json.loads((folder / "score.json").read_text())
        assert f"| {task} | {score['mean']:.0f} ± {score['std']:.0f} |" in page


def test_another_task_is_one_line():
    with pytest.raises(UserError, match="no pretrained agent for 'Chess': there are Ant-v4, HalfCheetah-v4"):
        teen.load("pretrained/Chess")


def test_a_folder_of_that_name_comes_first(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pretrained" / "HalfCheetah-v4").mkdir(parents=True)
    with pytest.raises(UserError, match="is not a run folder"):
        teen.load("pretrained/HalfCheetah-v4")
