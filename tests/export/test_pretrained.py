"""The agents that come with the package reach the scores that they were saved with."""

import json

import pytest

import teen
from teen.disk import elsewhere
from teen.errors import UserError


@pytest.mark.parametrize("task", elsewhere.pretrained())
def test_it_reaches_its_score(task):
    """From other starts. Three percent are eight standard errors of five episodes of HalfCheetah-v4's."""
    agent = teen.load(f"pretrained/{task}")
    saved = json.loads((elsewhere.found(f"pretrained/{task}") / "score.json").read_text())
    for score, seed in zip(saved, agent.seeds, strict=True):
        returns = [episode.score for episode in agent.evaluate(5, seed=1) if episode.seed == seed]
        assert len(returns) == 5
        assert sum(returns) / 5 > 0.97 * score["mean"]
    assert agent.settings.env == task


def test_there_is_the_cheetah_and_it_is_small():
    assert "HalfCheetah-v4" in elsewhere.pretrained()
    folder = elsewhere.found("pretrained/HalfCheetah-v4")
    assert sum(path.stat().st_size for path in folder.rglob("*")) < 2_000_000
    assert 'teen.load("pretrained/HalfCheetah-v4")' in (folder / "README.md").read_text()


def test_another_task_is_one_line():
    with pytest.raises(UserError, match="no pretrained agent for 'Chess': there are HalfCheetah-v4"):
        teen.load("pretrained/Chess")


def test_a_folder_of_that_name_comes_first(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pretrained" / "HalfCheetah-v4").mkdir(parents=True)
    with pytest.raises(UserError, match="is not a run folder"):
        teen.load("pretrained/HalfCheetah-v4")
