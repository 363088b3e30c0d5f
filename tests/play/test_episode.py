"""Moments of episodes."""

import itertools

import numpy as np
import pytest

from teen.errors import UserError
from teen.play import episode as module
from teen.play.episode import Moment, episode, side_by_side


class Count:
    """A scene whose k-th step is rewarded with k, and whose picture is the step."""

    name = "Count"

    def __init__(self, last):
        self.last, self.taken = last, 0

    def reset(self, seed):
        self.taken = seed
        return seed

    def step(self, action):
        self.taken += 1
        self.actions = [*getattr(self, "actions", []), int(action[0])]
        return self.taken, float(self.taken), self.taken == self.last

    def picture(self):
        return self.taken


def act(obs):
    return np.array([obs])


def test_a_moment_for_each_step():
    assert list(episode(Count(3), act, 0)) == [
        Moment(0, 0, False, 0),
        Moment(1, 1, False, 1),
        Moment(3, 2, False, 2),
        Moment(6, 3, True, 3),
    ]


def test_actions_are_repeated_and_steps_left_out():
    """Seven steps, three for each action, of which every second is drawn, and the last."""
    scene = Count(7)
    moments = list(episode(scene, act, 0, repeat=3, every=2))
    assert scene.actions == [0, 0, 0, 3, 3, 3, 6]
    assert [moment.picture for moment in moments] == [0, 2, 4, 6, 7]
    assert [moment.length for moment in moments] == [0, 1, 2, 2, 3]
    assert [moment.score for moment in moments] == [0, 3, 10, 21, 28]
    assert [moment.ended for moment in moments] == [False] * 4 + [True]


def test_the_last_moment_stays_until_all_have_ended():
    together = list(side_by_side([episode(Count(last), act, 0) for last in (2, 4)]))
    assert [[moment.picture for moment in moments] for moments in together] == [[0, 0], [1, 1], [2, 2], [2, 3], [2, 4]]
    assert [[moment.ended for moment in moments] for moments in together][2:] == [[True, False]] * 2 + [[True, True]]


def test_what_never_ends_and_what_is_not_finite(monkeypatch):
    monkeypatch.setattr(module, "LONGEST_EPISODE", 10)
    with pytest.raises(
        UserError, match=r"an episode of Count ran 10 steps without an end: register .* max_episode_steps"
    ):
        list(itertools.islice(episode(Count(99), act, 0), 20))
    with pytest.raises(UserError, match="action in step 1 is not finite: its training has diverged"):
        list(episode(Count(3), lambda obs: np.array([np.nan]), 0))
