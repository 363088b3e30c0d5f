"""fish-swim's reward: how much of it is posture, as docs/evidence.md says."""

import warnings

import numpy as np

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # dm_control looks for a display
    from dm_control import suite

TOUCH = 0.045  # metres between mouth and target


def target_part(distance):
    """One in touch, a tenth at three times that distance, in between and beyond it a Gaussian."""
    beyond = max(distance - TOUCH, 0) / (2 * TOUCH)
    return 0.1 ** (beyond**2)


def test_an_eighth_is_posture_and_the_rest_is_felt_near_the_target_alone():
    env = suite.load("fish", "swim", task_kwargs={"random": 0})
    env.reset()
    for distance in (0.0, TOUCH, 2 * TOUCH, 3 * TOUCH, 6 * TOUCH, 0.5):
        physics = env.physics
        offset = physics.named.data.geom_xpos["mouth"] + np.array([distance, 0, 0])
        physics.named.model.geom_pos["target"] = offset
        physics.forward()
        posture = (physics.upright() + 1) / 2
        expected = (7 * target_part(distance) + posture) / 8
        np.testing.assert_allclose(env.task.get_reward(physics), expected, rtol=1e-6)
    assert round(target_part(0.2), 3) == 0.001
    assert 7 * target_part(6 * TOUCH) < 1e-4  # so 1,000 steps far from the target have at most 1000 / 8 = 125
