"""Episodes of an agent as a Minari dataset: Minari loads it, and what is in it was played."""

import sys

import minari
import numpy as np
import pytest

from teen import UserError
from teen.export import minari_dataset

from .agents import MEMBERS, untrained


@pytest.fixture(autouse=True)
def storage(tmp_path, monkeypatch):
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path / "minari"))
    return tmp_path / "minari"


@pytest.fixture(scope="module")
def pendulum():
    return untrained("td3", "Pendulum-v1", seeds="3,7")


def test_minari_loads_what_was_played(pendulum, storage):
    """As `Agent.evaluate` plays it; and the environment gives the same again for the stored seeds and actions."""
    told = []
    folder, rows = minari_dataset.write(pendulum, "pendulum/td3-v0", 3, 5, seed=7, played=told.append)
    assert folder == storage / "pendulum" / "td3-v0"
    assert told == rows
    dataset = minari.load_dataset("pendulum/td3-v0")
    assert (dataset.total_episodes, dataset.total_steps) == (3, 600)
    assert dataset.spec.env_spec.id == "Pendulum-v1"
    assert "seed 7 after 0 steps, without noise" in dataset.storage.metadata["description"]
    expected = [row.score for row in pendulum.evaluate(3, 5) if row.seed == 7]
    np.testing.assert_allclose([row.score for row in rows], expected, rtol=1e-6)
    np.testing.assert_allclose([episode.rewards.sum() for episode in dataset], [row.score for row in rows])

    env = dataset.recover_environment()
    seeds = [facts["seed"] for facts in dataset.storage.get_episode_metadata(range(3))]
    assert len({int(seed) for seed in seeds}) == 3
    for seed, episode in zip(seeds, dataset, strict=True):
        obs, _ = env.reset(seed=int(seed))
        np.testing.assert_array_equal(episode.observations[0], obs)
        for step, action in enumerate(episode.actions):
            np.testing.assert_allclose(pendulum.act(obs, seed=7), action, rtol=1e-6, atol=1e-6)
            obs, reward, *_ = env.step(action)
            np.testing.assert_array_equal(episode.observations[step + 1], obs)
            assert episode.rewards[step] == pytest.approx(reward)
        assert episode.truncations.tolist() == [False] * 199 + [True]
        assert not episode.terminations.any()
    assert sorted(path.name for path in storage.iterdir()) == ["pendulum"]  # no folders of Minari's are left behind


def test_exploring_adds_noise(pendulum):
    minari_dataset.write(pendulum, "explored-v0", 1, explore=True)
    minari_dataset.write(pendulum, "plain-v0", 1)
    explored, plain = (minari.load_dataset(name)[0] for name in ("explored-v0", "plain-v0"))
    np.testing.assert_array_equal(explored.observations[0], plain.observations[0])
    noise = (explored.actions - pendulum.act(explored.observations[:-1]))[:, 0]
    inside = np.abs(explored.actions[:, 0]) < 2
    assert noise[inside].std() == pytest.approx(0.2, rel=0.3)  # 0.1 of half the range, which is 2
    assert "with exploration noise" in minari.load_dataset("explored-v0").storage.metadata["description"]


def test_dicts_actions_with_axes_members_and_a_spec_that_cannot_be_stored():
    agent = untrained("teen", n=MEMBERS, epsilon=0.05)
    _, rows = minari_dataset.write(agent, "composite-v0", 2, member=1)
    dataset = minari.load_dataset("composite-v0")
    assert dataset.spec.env_spec is None  # it was registered with a class, of which Gymnasium makes no text
    episode = dataset[1]
    assert episode.observations["grid"].shape == (6, 2, 3)
    assert episode.actions.shape == (5, 2, 2)
    obs = {key: part[0] for key, part in episode.observations.items()}
    np.testing.assert_allclose(episode.actions[0], agent.act(obs, member=1), rtol=1e-6)
    assert [row.length for row in rows] == [5, 5]
    assert "member 1 alone" in dataset.storage.metadata["description"]


def test_every_step_of_a_repeated_action_is_stored():
    agent = untrained("td3", "tests.toys:PointMass-v0", seeds=1, action_repeat=3)
    _, (row,) = minari_dataset.write(agent, "point-v0", 1)
    episode = minari.load_dataset("point-v0")[0]
    x, actions = episode.observations[:, 0], episode.actions[:, 0]
    assert (row.length, len(x)) == (14, 41)  # 40 steps, the last action for one of them
    np.testing.assert_allclose(x[1:], np.clip(x[:-1] + 0.25 * actions, -2, 2), atol=1e-6)
    np.testing.assert_array_equal(actions[:39:3], actions[2:39:3])
    assert len({*actions.tolist()}) > 3
    assert row.score == pytest.approx(-np.sum(x[1:] ** 2))


# Minari removes its temporary folder; Python says so once more when the object goes.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning", "ignore::ResourceWarning")
def test_an_environment_that_fails_leaves_nothing(storage, monkeypatch):
    """Not even Minari's temporary folders."""
    agent = untrained("td3", "Pendulum-v1", seeds=1)
    monkeypatch.setattr("gymnasium.envs.classic_control.pendulum.PendulumEnv.step", lambda self, action: 1 / 0)
    with pytest.raises(RuntimeError, match="environment Pendulum-v1 failed in lane 0, seed 0, step 1"):
        minari_dataset.write(agent, "broken-v0", 1)
    assert list(storage.iterdir()) == []


@pytest.mark.parametrize("name", ["pendulum", "a b-v0", "../up-v0", "-v0", ""])
def test_what_is_no_name_of_a_dataset(pendulum, name):
    with pytest.raises(UserError, match=r"is no name of a Minari dataset: write such as cheetah/teen-v0"):
        minari_dataset.write(pendulum, name)


def test_what_is_refused(pendulum, storage, monkeypatch):
    (storage / "there-v0").mkdir(parents=True)
    with pytest.raises(UserError, match=r"there is a dataset there-v0 in .*: take another version, such as -v1"):
        minari_dataset.write(pendulum, "there-v0")
    with pytest.raises(UserError, match=r"has seeds \[3, 7\], not 5"):
        minari_dataset.write(pendulum, "new-v0", seed=5)
    mixture = untrained("teen", n=MEMBERS, epsilon=0.05, evaluate="mixture")
    with pytest.raises(UserError, match="a member acts without noise"):
        minari_dataset.write(mixture, "new-v0", member=1, explore=True)
    with pytest.raises(UserError, match="mixture draws a member for each episode"):
        minari_dataset.write(mixture, "new-v0")
    monkeypatch.setitem(sys.modules, "h5py", None)
    with pytest.raises(UserError, match=r'--to minari needs h5py: pip install "teen-rl\[minari\]"'):
        minari_dataset.write(pendulum, "new-v0")


def test_a_place_that_cannot_be_written_is_told_before_anything_is_played(pendulum, storage):
    storage.mkdir()
    (storage / "taken").write_text("a file, where the dataset's folder would be")
    told = []
    with pytest.raises(UserError, match="nothing can be written there; set MINARI_DATASETS_PATH"):
        minari_dataset.write(pendulum, "taken/td3-v0", 1, played=told.append)
    assert told == []
