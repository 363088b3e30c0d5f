import numpy as np
import pytest

from teen import envs
from teen.engine.evaluate import episode_seeds, rollout
from teen.errors import CopyFault, EnvironmentFault


def test_rollouts_add_up_whole_episodes():
    """Counter pays 1 + 2 + 3 in odd episodes of a copy and 1 + … + 5 in even ones."""
    copies = envs.make("tests.toys:Counter-v0", 4)
    starts = np.array([[10, 11], [12, 13]])
    seen = []

    def policy(obs):
        seen.append(obs[..., 0].copy())
        return np.zeros((2, 2, 2))

    scores, lengths = rollout(copies, policy, [0, 1], starts)
    assert scores.tolist() == [[6, 6], [6, 6]]
    assert lengths.tolist() == [[3, 3], [3, 3]]
    assert (seen[0] == starts).all()
    scores, lengths = rollout(copies, policy, [0, 1], starts)
    assert scores.tolist() == [[15, 15], [15, 15]]
    assert lengths.tolist() == [[5, 5], [5, 5]]


def test_a_fault_names_the_lane_and_its_seed():
    copies = envs.make("tests.toys:Counter-v0", 6)
    send = copies.send

    def failing(ids, actions):
        if len(ids) == 4 and 4 in ids:  # the second copy of lane 1, whose block of copies is 3, 4, 5
            raise CopyFault(4, "step raised nothing in particular")
        return send(ids, actions)

    copies.send = failing
    with pytest.raises(EnvironmentFault, match=r"lane 1, seed 77, step 1 of an evaluation: step raised nothing"):
        rollout(copies, lambda obs: np.zeros((2, 2, 2)), [5, 77], np.array([[1, 2], [3, 4]]))


def test_start_seeds_depend_on_their_own_numbers_alone():
    both = episode_seeds([3, 4], 1000, [0], 5)
    assert (episode_seeds([4], 1000, [0], 5)[0] == both[1]).all()
    assert len(np.unique(np.concatenate([both, episode_seeds([3, 4], 2000, [0], 5)]))) == 20


def test_a_lane_of_envpool_draws_from_its_own_copies_whatever_its_neighbours():
    """More members than episodes: three copies a lane, of which a headline evaluation uses two."""

    def evaluations(lane_seeds):
        copies = envs.make("Hopper-v4", 3 * len(lane_seeds), "envpool")
        results = []
        for step, width in ((1, 2), (2, 3), (3, 2)):
            starts = episode_seeds(lane_seeds, step, [0], width)
            idle = np.zeros((len(lane_seeds), width, 3))
            results.append(rollout(copies, lambda obs: idle, lane_seeds, starts)[0][-1])  # noqa: B023
        return results

    for alone, among in zip(evaluations([9]), evaluations([1, 2, 9]), strict=True):
        np.testing.assert_allclose(alone, among, rtol=1e-6)


def test_envpool_that_cannot_start_is_a_named_fault(monkeypatch):
    import envpool

    def broken(*args, **options):
        raise RuntimeError("ParseXML: empty\nfile")

    monkeypatch.setattr(envpool, "make", broken)
    with pytest.raises(EnvironmentFault, match=r"Hopper-v4 failed .* step 0: reset raised ParseXML: empty file"):
        envs.Lanes(envs.make("Hopper-v4", 1, "envpool"), [0])
