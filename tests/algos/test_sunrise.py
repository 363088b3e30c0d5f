import jax
import jax.numpy as jnp
import numpy as np
import pytest

from teen import algos
from teen.algos import sac, sunrise
from tests.algos.test_sac import NUMBERS, ROWS, SMALL, close, learner
from tests.reference import numpy_soft, translate
from tests.support import SPEC, clock, compiled, double, random_batch, start

ALGO = sunrise.ALGORITHM


def masked_batch(members, seed=0):
    mask = np.random.default_rng(seed + 50).integers(0, 2, (ROWS, members))
    return random_batch(ROWS, 1, seed)._replace(extras={"mask": jnp.array(mask, float)})


def test_four_updates_equal_the_numpy_reference():
    cfg = sunrise.Config(n=3, confidence=5.0, member=sac.Config(**SMALL))
    with jax.enable_x64(True):
        state = double(start(ALGO, cfg))
        theirs = [learner(translate.at(state.members, k), 2) for k in range(3)]
        for step in range(1, 5):
            batch = masked_batch(3, step)
            noise = sunrise.draw(cfg, jax.random.key(step), ROWS, SPEC)
            state, losses = compiled(ALGO)(cfg, state, batch, clock(step), noise)
            theirs, info = numpy_soft.sunrise_update(
                theirs, translate.batch(batch), np.array(noise.next), np.array(noise.now),
                np.array(batch.extras["mask"]), temperature_weight=5.0, **NUMBERS,
            )  # fmt: skip
            translate.assert_close([learner(translate.at(state.members, k), 2) for k in range(3)], theirs)
            np.testing.assert_allclose(losses["backup_weight"], np.mean(info["weight"]), rtol=1e-5)


def test_weights_by_hand():
    np.testing.assert_allclose(
        sunrise.backup_weight(jnp.array([0.0, 0.1, 100.0]), jnp.array(20.0)),
        [1.0, 0.5 + 1 / (1 + np.e**2), 0.5],
        rtol=1e-5,
    )
    np.testing.assert_allclose(sunrise.backup_weight(jnp.array([7.0]), jnp.array(0.0)), [1.0])


def test_ucb_by_hand():
    """Proposal 0: mean 2, std 0; proposal 1: mean 1.5, std 1.5; proposal 2: mean 1, std 0."""
    q = jnp.array([[2.0, 0.0, 1.0], [2.0, 3.0, 1.0]])
    assert int(sunrise.ucb_choice(q, jnp.array(0.0))) == 0
    assert int(sunrise.ucb_choice(q, jnp.array(1.0))) == 1
    assert numpy_soft.ucb_choice(np.zeros((3, 1)), np.vstack([q, q[:1]]), 1.0) == 1


def test_masks_are_bernoulli_and_reach_the_extras():
    cfg = sunrise.Config(n=4, bootstrap=0.25, member=sac.Config(**SMALL))
    keys = jax.random.split(jax.random.key(0), 2000)
    masks = np.array(jax.vmap(lambda key: ALGO.unguided(cfg, key))(keys)["mask"])
    assert masks.shape == (2000, 4)
    assert set(np.unique(masks)) == {0, 1}
    np.testing.assert_allclose(masks.mean(0), 0.25, atol=0.04)
    weights = ALGO.weights(cfg, start(ALGO, cfg))
    noise = ALGO.draw_act(cfg, jax.random.key(1), SPEC)
    action, extras, _ = ALGO.act(cfg, weights, (), jnp.zeros(3), noise)
    np.testing.assert_array_equal(extras["mask"], np.array(noise.mask) < 0.25)
    proposals = [
        sac.explore(cfg.member, translate.at(weights.members.actor, k), jnp.zeros(3), noise.members[k])
        for k in range(4)
    ]
    assert any(np.allclose(action, proposal) for proposal in proposals)


def test_a_masked_row_teaches_nothing():
    """A learner whose rows are all masked keeps its critics and its actor."""
    cfg = sunrise.Config(n=2, member=sac.Config(**SMALL))
    state = start(ALGO, cfg)
    batch = masked_batch(2)._replace(extras={"mask": jnp.tile(jnp.array([[1.0, 0.0]]), (ROWS, 1))})
    noise = sunrise.draw(cfg, jax.random.key(0), ROWS, SPEC)
    after, _ = compiled(ALGO)(cfg, state, batch, clock(1), noise)
    for part in ("critics", "actor"):
        for new, old in zip(
            jax.tree.leaves(getattr(after.members, part)), jax.tree.leaves(getattr(state.members, part)), strict=True
        ):
            np.testing.assert_array_equal(new[1], old[1])
            assert not np.array_equal(new[0], old[0])


@pytest.mark.parametrize("base", ["sac", "td3"])
def test_one_learner_that_trusts_everything_is_its_base(base):
    """N = 1, every row unmasked, T = 0: all weights are σ(0) + 0.5 = 1."""
    algo = algos.find(base)
    member = algo.Config(width=16, lr=3e-3)
    cfg = sunrise.Config(n=1, bootstrap=1.0, confidence=0.0, base=base, member=member)
    state = start(ALGO, cfg)
    batch = masked_batch(1)._replace(extras={"mask": jnp.ones((ROWS, 1))})
    noise = algo.draw(member, jax.random.key(0), ROWS, SPEC)
    alone, _ = compiled(algo)(member, translate.at(state.members, 0), batch, clock(2), noise)
    one, losses = compiled(ALGO)(cfg, state, batch, clock(2), jax.tree.map(lambda x: x[None], noise))
    assert losses["backup_weight"] == 1
    close(alone, translate.at(one.members, 0))


def test_target_by_hand():
    """Constant critics of 3 and 7 and zero actors: each learner's y is its own, r + 0.9 (3 or 7 − 0.3 log π)."""
    cfg = sunrise.Config(n=2, member=sac.Config(**SMALL))
    state = start(ALGO, cfg)
    flat = jax.tree.map(jnp.zeros_like, state.members.target_critics)
    bias = jnp.broadcast_to(jnp.array([3.0, 7.0]).reshape(2, 1, 1), flat[-1].bias.shape)
    members = state.members._replace(
        target_critics=(*flat[:-1], flat[-1]._replace(bias=bias)),
        actor=jax.tree.map(jnp.zeros_like, state.members.actor),
    )
    batch = masked_batch(2)._replace(reward=jnp.ones(ROWS), discount=jnp.full(ROWS, 0.9))
    zero = sac.Noise(jnp.zeros((2, ROWS, 2)), jnp.zeros((2, ROWS, 2)))
    _, losses = compiled(ALGO)(cfg, state._replace(members=members), batch, clock(1), zero)
    assert losses["target"] == pytest.approx(1 + 0.9 * (5 + 0.3 * np.log(2 * np.pi)), rel=1e-5)
    assert losses["backup_weight"] == pytest.approx(0.5 + 1 / (1 + np.exp(20 * 2)), rel=1e-5)  # std of 3 and 7 is 2
