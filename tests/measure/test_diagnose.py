"""Every algorithm, with tiny networks on a point mass: the right rows, finite, and the same twice."""

from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from teen import envs
from teen.engine.evaluate import Abandoned
from teen.measure.diagnose import diagnose
from teen.measure.rollouts import Scene
from teen.measure.rows import _compiled
from teen.measure.visits import frozen_normaliser, visit
from teen.report.quantities import MEANING
from tests.measure.agents import TASK, agents_of

NUMBERS = ("value_mean", "return_mean", "raw_mean", "raw_std", "relative_mean", "relative_std", "normalised_mean")
BIAS = [f"bias_{name}" for name in ("states", *NUMBERS, "normalised_std")]
MIXTURE = [name.replace("bias", "bias_mixture") for name in BIAS]
DECOMPOSED = ["entropy_members_mean", "kl_members", "kl_members_any_episode"]
RECOGNISED = ["discriminator_bound", "discriminator_accuracy"]
RETURNS = [f"return_{name}" for name in ("mean_action", "random_member", "members_mean", "best_member")]
REST = ["entropy_particle", "entropy_ties"]
SINGLE = [*BIAS, "entropy_all", *REST]
ENSEMBLE = [*BIAS, *MIXTURE, "entropy_all", *DECOMPOSED, *REST, "action_distance", *RETURNS]
RECOGNISING = [*ENSEMBLE[:-5], *RECOGNISED, *ENSEMBLE[-5:]]


def quantities(*args, **options):
    """Return the quantities of each lane."""
    return [tables.get("diagnostics.csv", []) for tables in diagnose(*args, **options)]


@pytest.mark.parametrize(
    ("name", "base", "expected"),
    [
        ("teen", None, RECOGNISING),
        ("teen", "sac", RECOGNISING),
        ("td3", None, SINGLE),
        ("sac", None, SINGLE),
        ("rnd", None, SINGLE),
        ("sunrise", None, ENSEMBLE),
        ("redq", None, SINGLE),
        pytest.param("rnd", "teen", RECOGNISING, marks=pytest.mark.full),
    ],
)
def test_every_algorithm(name, base, expected):
    algo, _, configs, weights = agents_of(name, base, lanes=2)
    pool = envs.make(TASK, 6)
    lanes = quantities(algo, configs, weights, pool, [4, 5], 100, 4)
    assert [[quantity for quantity, _ in rows] for rows in lanes] == [expected] * 2
    assert np.isfinite([value for rows in lanes for _, value in rows]).all()
    assert lanes[0] != lanes[1]
    programs = _compiled.cache_info().currsize
    assert quantities(algo, configs, weights, pool, [4, 5], 100, 4) == lanes
    assert _compiled.cache_info().currsize == programs  # nothing is compiled again


@pytest.fixture(scope="module")
def ensemble():
    algo, _, configs, weights = agents_of("teen", None, lanes=2)
    return algo, configs, weights


def test_a_lane_alone_and_any_number_of_copies_give_the_same(ensemble):
    algo, *lanes = ensemble
    both = quantities(algo, *lanes, envs.make(TASK, 8), [4, 5], 100, 4)
    second = jax.tree.map(lambda leaf: leaf[1:], lanes)
    (alone,) = quantities(algo, *second, envs.make(TASK, 2), [5], 100, 4)
    assert [name for name, _ in alone] == [name for name, _ in both[1]]
    np.testing.assert_allclose([v for _, v in alone], [v for _, v in both[1]], rtol=2e-3, atol=2e-4)
    assert quantities(algo, *lanes, envs.make(TASK, 8), [4, 5], 200, 4) != both


def test_lanes_that_are_not_asked_for_or_not_finite_have_no_rows(ensemble):
    algo, configs, weights = ensemble
    pool = envs.make(TASK, 6)
    first, second = quantities(algo, configs, weights, pool, [4, 5], 100, 4, lanes=[1])
    assert not first
    assert len(second) == len(RECOGNISING)
    broken = jax.tree.map(lambda leaf: leaf.at[0].set(jnp.nan), weights)
    assert quantities(algo, configs, broken, pool, [4, 5], 100, 4) == [[], second]
    nobody = jax.tree.map(lambda leaf: leaf * jnp.nan, weights)
    assert quantities(algo, configs, nobody, pool, [4, 5], 100, 4) == [[], []]


def test_every_quantity_is_explained():
    page = (Path(__file__).parents[2] / "docs" / "diagnostics.md").read_text()
    for name in set(RECOGNISING) - set(MIXTURE):
        assert f"`{name}`" in page
    assert "`bias_mixture_…`" in page
    assert set(MEANING) == set(RECOGNISING)


def test_it_can_be_abandoned(ensemble):
    with pytest.raises(Abandoned):
        quantities(*ensemble, envs.make(TASK, 6), [4, 5], 100, 4, wanted=lambda: False)


def test_rewards_are_scaled_as_in_training(ensemble):
    one, ten = (
        dict(quantities(*ensemble, envs.make(TASK, 6), [4, 5], 100, 4, reward_scale=scale)[0]) for scale in (1, 10)
    )
    assert ten["bias_return_mean"] == pytest.approx(10 * one["bias_return_mean"])
    assert ten["bias_value_mean"] == one["bias_value_mean"]
    assert ten["return_mean_action"] == one["return_mean_action"]


def test_no_bias_where_episodes_are_too_short_for_the_discount():
    algo, _, configs, weights = agents_of("td3", None, lanes=1, gamma=0.99)
    rows = dict(quantities(algo, configs, weights, envs.make(TASK, 4), [4], 100, 4)[0])
    assert rows["bias_states"] == 0
    assert "bias_raw_mean" not in rows


def test_visits_are_as_many_of_each_member_and_half(ensemble):
    scene = Scene(*ensemble, envs.make(TASK, 6), [4, 5], 100, [0, 1])
    for visits in visit(scene, episodes=2, count=100):  # 40 steps an episode: two a member are too few
        assert visits.pairs().shape == (3, 100, 2)
        assert visits.half.sum(1).tolist() == [50, 50, 50]
        for actions, half in zip(visits.action[..., 0], visits.half, strict=True):
            assert not set(actions[half == 0]) & set(actions[half == 1])


def test_the_frozen_normaliser_is_the_tasks():
    normaliser = frozen_normaliser(TASK)
    assert normaliser.mean.shape == (2,)
    np.testing.assert_allclose(normaliser.mean[1], 0, atol=0.05)
    np.testing.assert_allclose(normaliser.std[1], 1 / np.sqrt(3), atol=0.02)
