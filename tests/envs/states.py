"""Running environments and the comparison of their states, for the tests of saved states."""

import json

import numpy as np
import safetensors.numpy

from teen.snapshot import Snapshot


def running(env, seed, steps):
    """Return the environment after so many random steps. Episodes that end meanwhile are followed by others."""
    env.reset(seed=seed)
    env.action_space.seed(seed)
    for _ in range(steps):
        *_, terminated, truncated, _ = env.step(env.action_space.sample())
        if terminated or truncated:
            env.reset()
    return env


def through_files(state):
    """Return a state that has been through the formats of a file."""
    return Snapshot(safetensors.numpy.load(safetensors.numpy.save(state.arrays)), json.loads(json.dumps(state.facts)))


def bits(obs):
    return [part.tobytes() for part in obs.values()] if isinstance(obs, dict) else np.asarray(obs).tobytes()


def outcome(env, action):
    obs, reward, terminated, truncated, _ = env.step(action)
    return bits(obs), np.float64(reward).tobytes(), bool(terminated), bool(truncated)


def assert_go_on_alike(one, other, steps=60):
    one.action_space.seed(0)
    for i in range(steps):
        action = one.action_space.sample()
        expected = outcome(one, action)
        assert outcome(other, action) == expected, f"step {i} after the restore"
        if expected[2] or expected[3] or i == steps // 2:
            assert bits(one.reset()[0]) == bits(other.reset()[0]), f"reset after step {i}"


def assert_same_state(one, other):
    assert one.facts == other.facts
    assert {path: array.tobytes() for path, array in one.arrays.items()} == {
        path: array.tobytes() for path, array in other.arrays.items()
    }
