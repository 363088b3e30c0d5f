"""Trained agents in films: who plays, from where, and what is seen."""

import gymnasium
import numpy as np
import pytest

import teen
from teen.engine.evaluate import Episode
from teen.envs import name_of
from teen.errors import UserError
from teen.play.picture import TILE, place
from teen.play.record import record
from teen.settings import replace
from teen.spec import Spec

from . import toys
from .agents import drawn
from .films import frames, probed

LAMP = "tests.play.toys:Lamp-v0"


def played(agent, start, repeat=1, env=None, **who):
    """Return the return and the length of an episode, in a plain loop of Gymnasium's, and the positions on the way."""
    env = env or gymnasium.make(agent.settings.env.partition(":")[2] or agent.settings.env)
    obs, _ = env.reset(seed=start)
    score, actions, seen, ended = 0.0, 0, [obs], False
    while not ended:
        action = agent.act(obs, **who)
        actions += 1
        for _ in range(repeat):
            obs, reward, terminated, truncated, _ = env.step(action)
            score, ended = score + float(reward), terminated or truncated
            seen.append(obs)
            if ended:
                break
    env.close()
    return score, actions, seen


def test_every_step_is_a_picture(lamp, tmp_path, capsys):
    """The lamp's colours say which step and which position is seen; two episodes, one after the other."""
    rows = record(lamp, tmp_path / "lamp.mp4", episodes=2, seed=5)
    paths = [played(lamp, start) for start in (5, 6)]
    assert rows == [Episode(3, 0, "mean", number, path[0], path[1]) for number, path in enumerate(paths)]
    expected = [toys.colour(step, x[0]) for _, _, seen in paths for step, x in enumerate(seen)]
    shown = frames(tmp_path / "lamp.mp4")
    assert shown.shape == (len(expected), 40, 50, 3)
    assert probed(tmp_path / "lamp.mp4")["r_frame_rate"] == "10/1"
    np.testing.assert_allclose(shown.mean((1, 2)), expected, atol=5)
    said = capsys.readouterr()
    assert "episode 2 of 2, step " in said.err
    assert said.out == ""


def test_repeated_actions_and_another_size(lamp, tmp_path, capsys):
    agent = teen.Agent(replace(lamp.settings, {"action_repeat": 3}), lamp.config, 0, lamp.weights)
    (row,) = record(agent, tmp_path / "lamp.gif", size=(64, 64), show=False)
    score, actions, seen = played(agent, 0, repeat=3)
    assert (row.score, row.length) == (score, actions)
    shown = frames(tmp_path / "lamp.gif")
    assert shown.shape == (len(seen), 64, 64, 3)
    assert capsys.readouterr().err == ""


def test_members_side_by_side(balancing, tmp_path, drawing):
    """All from one start; each falls in its own time, and stays as it fell."""
    agent = teen.load(balancing)
    rows = record(agent, tmp_path / "three.mp4", seed=2, policy=7, members=(0, 1, 2), show=False)
    scores = [played(agent, 2, seed=7, member=member)[:2] for member in range(3)]
    assert rows == [Episode(7, 0, str(k), 0, *scores[k]) for k in range(3)]
    assert len({row.length for row in rows}) > 1
    stream = probed(tmp_path / "three.mp4")
    assert (stream["r_frame_rate"], stream["nb_read_frames"]) == ("25/1", str(1 + max(row.length for row in rows)))
    shown = frames(tmp_path / "three.mp4").astype(int)
    width, height = TILE
    tiles, lines = [], []
    for member in range(3):
        x, y = place(member, 3, TILE)
        tiles.append(shown[:, y : y + height, x : x + width])
        lines.append(shown[:, :y, x : x + width])
    for member, (tile, line) in enumerate(zip(tiles, lines, strict=True)):
        assert tile[0].std() > 5  # something is seen
        assert np.abs(tile[0] - tiles[0][0]).mean() < 0.2  # the same start, but for the film's losses
        assert (line[0] > 180).sum() > 200  # written above it
        assert line[-1].max() < 200  # faded, since it has ended
        end = rows[member].length
        assert np.abs(tile[end] - tile[end - 1]).max() > 30
        assert np.abs(tile[end:] - tile[end]).mean() < 0.2  # and stays
    assert min(np.abs(tiles[a][-1] - tiles[b][-1]).max() for a, b in ((0, 1), (0, 2), (1, 2))) > 30
    assert np.abs(lines[0][0] - lines[1][0]).mean() > 0.1  # other numbers


def test_one_member_alone_has_the_whole_picture(balancing, tmp_path, drawing):
    agent = teen.load(balancing)
    (row,) = record(agent, tmp_path / "one.mp4", members=(1,), size=(101, 75), show=False)
    assert (row.seed, row.policy) == (4, "1")
    assert (row.score, row.length) == played(agent, 0, seed=4, member=1)[:2]
    assert frames(tmp_path / "one.mp4").shape == (1 + row.length, 76, 102, 3)


def test_a_given_environment(tmp_path):
    name = name_of(lambda render_mode=None: gymnasium.wrappers.TimeLimit(toys.Lamp(render_mode), 4))
    agent = drawn(Spec(1, 1), env=name, algo="td3", seeds="3,")
    (row,) = record(agent, tmp_path / "lamp.gif", show=False)
    env = gymnasium.wrappers.TimeLimit(toys.Lamp(), 4)
    assert (row.score, row.length) == played(agent, 0, env=env)[:2]


def test_tasks_of_envpool_alone_are_drawn_in_gymnasium(tmp_path, drawing, capsys):
    """The nearest one, with fewer steps so that it does not take long."""
    agent = drawn(Spec(17, 6), env="HalfCheetah-v3{max_episode_steps = 3}", algo="td3", seeds="3,")
    (row,) = record(agent, tmp_path / "cheetah.mp4", size=(64, 64), show=False)
    assert row.length == 3
    assert "notice: HalfCheetah-v3{max_episode_steps = 3} is drawn as HalfCheetah-v4{" in capsys.readouterr().err


def test_what_an_agent_does_not_have(balancing, lamp, tmp_path):
    agent = teen.load(balancing)
    for problem, who, options in [
        ("this agent has seeds [4, 7], not 5", agent, {"policy": 5}),
        ("there is no member 3: this agent has members 0 to 2", agent, {"members": (0, 3)}),
        ("this algorithm has no members: it is one policy", lamp, {"members": (0,)}),
    ]:
        with pytest.raises(UserError) as error:
            record(who, tmp_path / "film.mp4", **options)
        assert str(error.value) == problem
    assert not list(tmp_path.iterdir())
