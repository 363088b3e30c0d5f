"""Models, as users of Stable-Baselines3 know them."""

import gymnasium
import numpy as np
import pytest

import teen
from teen.errors import UserError

SMALL = {"warmup": 20, "eval_every": 50, "eval_episodes": 1, "width": 8, "batch": 16, "show": False}
ENV = "tests.toys:PointMass-v0"
OBS = np.array([0.5])


OFTEN, SELDOM = ("TEEN", "TD3"), ("SAC", "REDQ", "SUNRISE", "RND")


@pytest.mark.parametrize("name", [*OFTEN, *(pytest.param(name, marks=pytest.mark.full) for name in SELDOM)])
def test_each_algorithm_has_a_class(name, tmp_path):
    more = {"n": 2, "epsilon": 0.05} if name == "TEEN" else {"n": 2} if name == "SUNRISE" else {}
    model = getattr(teen, name)(ENV, out=tmp_path / "run", **more, **SMALL)
    assert repr(model) == f"<{name}: {name.lower()} on {ENV}, seed 0, 0 steps>"
    before = model.act(OBS)
    assert model.learn(60) is model
    assert model.agent.settings.algo == name.lower()
    assert model.agent.step == 60
    assert before.shape == model.act(OBS).shape == (1,)
    assert not np.array_equal(before, model.act(OBS))
    action, state = model.predict(OBS, deterministic=True)
    np.testing.assert_array_equal(action, model.act(OBS))
    assert state is None
    assert teen.load(tmp_path / "run").step == 60


def test_learning_again_is_resuming(tmp_path):
    model = teen.TD3(ENV, out=tmp_path / "twice", seeds=2, **SMALL)
    model.learn(60).learn(40)
    teen.train("td3", ENV, out=tmp_path / "resumed", seeds=2, steps=60, **SMALL)
    teen.resume(tmp_path / "resumed", show=False, steps=100)
    assert model.agent.step == 100
    for name in ("eval.csv", "agent/weights.safetensors"):
        assert (tmp_path / "twice" / name).read_bytes() == (tmp_path / "resumed" / name).read_bytes()
    assert {episode.step for episode in model.outcome.episodes[0]} == {100}
    with pytest.raises(UserError, match="has 100 steps already: --steps 80 is less"):
        teen.resume(tmp_path / "twice", show=False, shorter=True, steps=80)


def test_an_untrained_model_acts_as_training_begins(tmp_path):
    """Before its first gradient step a trained one has the same weights."""
    model = teen.TD3(ENV, out=tmp_path / "run", seeds="5,", **{**SMALL, "warmup": 19})
    steps = {**SMALL, "warmup": 19, "sync": 1, "delay": 100}  # the actor has not been updated yet
    trained = teen.train("td3", ENV, out=tmp_path / "other", seeds="5,", steps=20, **steps)
    np.testing.assert_array_equal(model.act(OBS), trained.agents[0].act(OBS))
    with pytest.raises(UserError, match="has not been trained"):
        _ = model.folder


def test_saved_alone_and_loaded(tmp_path, capsys):
    model = teen.TD3(ENV, out=tmp_path / "run", seeds=2, **SMALL).learn(60)
    model.save(tmp_path / "agent")
    agent = teen.load(tmp_path / "agent")
    assert sorted(path.name for path in (tmp_path / "agent").iterdir()) == ["agent", "config.toml"]
    np.testing.assert_array_equal(agent.act(OBS, seed=1), model.act(OBS, seed=1))
    model.save(tmp_path / "agent")  # over itself
    with pytest.raises(UserError, match=r"run holds .*, which is no part of a saved agent: choose another folder"):
        model.save(tmp_path / "run")
    assert [episode.seed for episode in agent.evaluate(episodes=1)] == [0, 1]


def test_a_function_that_makes_the_environment(tmp_path, capsys):
    class Halved(gymnasium.ActionWrapper):
        def action(self, action):
            return action / 2

    def halved():
        return Halved(gymnasium.make("PointMass-v0"))

    model = teen.TD3(halved, out=tmp_path / "run", **SMALL).learn(60)
    assert model.agent.settings.env == "given/halved"
    assert len(teen.load(tmp_path / "run").evaluate(1)) == 1
    model.learn(40)
    assert model.agent.step == 100


def test_an_agent_whose_environment_no_file_can_hold(tmp_path, capsys, monkeypatch):
    model = teen.TD3(lambda: gymnasium.make("PointMass-v0"), out=tmp_path / "run", **SMALL).learn(60)
    action = model.act(OBS)
    monkeypatch.setattr("teen.envs.given._given", {})  # another process
    agent = teen.load(tmp_path / "run")
    assert "was given as a Python object, which no file holds" in capsys.readouterr().err
    with pytest.raises(UserError, match="give it again"):
        agent.act(OBS)
    with pytest.raises(UserError, match="give it again"):
        teen.resume(tmp_path / "run", show=False, steps=100)
    again = teen.load(tmp_path / "run", env=ENV)
    np.testing.assert_array_equal(again.act(OBS), action)
    with pytest.raises(UserError, match=r"does not fit tests\.toys:Composite-v0"):
        teen.load(tmp_path / "run", env="tests.toys:Composite-v0").act(OBS)
    assert teen.resume(tmp_path / "run", show=False, env=lambda: gymnasium.make("PointMass-v0"), steps=100).step == 100


def test_arguments_of_the_environment_reach_files_and_agents(tmp_path):
    model = teen.TD3("Pendulum-v1", env_kwargs={"g": 2.0}, out=tmp_path / "run", **SMALL).learn(60)
    assert model.agent.settings.env == "Pendulum-v1{g = 2.0}"
    assert teen.load(tmp_path / "run").settings.env == "Pendulum-v1{g = 2.0}"
    assert 'env = "Pendulum-v1{g = 2.0}"' in (tmp_path / "run" / "config.toml").read_text()


def test_a_task_without_a_version_is_the_newest(tmp_path):
    assert teen.TD3("Pendulum").agent.settings.env == "Pendulum-v1"


def test_what_is_wrong_is_said_when_the_model_is_made():
    with pytest.raises(UserError, match=r"give them to learn\(steps\)"):
        teen.TD3(ENV, steps=60)
    with pytest.raises(UserError, match="TD3 is an algorithm by itself"):
        teen.TD3(ENV, algo="sac")
    with pytest.raises(UserError, match=r"no setting 'alpha'"):
        teen.TD3(ENV, alpha=1)
    with pytest.raises(UserError, match="No-such-v0"):
        teen.TD3("No-such-v0")
