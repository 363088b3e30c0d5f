import jax
import jax.numpy as jnp
import numpy as np
import pytest

from teen.algos import rnd
from teen.settings import flat, replace
from tests.support import SPEC, clock, compiled, random_batch, start


def small(base, **changes):
    return replace(rnd.on(base), {"width": 8, "rnd_width": 16, "embedding": 4, "rnd_lr": 3e-3, **changes})


ALGO = rnd.ALGORITHM


@pytest.mark.parametrize("base", ["td3", "sac", "teen"])
def test_without_weight_it_is_the_base_bit_for_bit(base):
    cfg = small(base, beta=0.0)
    plain, state = rnd.BASES[base], ALGO.init(cfg, jax.random.key(0), SPEC)
    alone = plain.init(cfg.member, jax.random.key(0), SPEC)
    for step in (1, 2):  # operation by operation: a compiler may fuse, and round, the larger program differently
        batch = random_batch(16, 3, seed=step)
        noise = ALGO.draw(cfg, jax.random.key(step), 16, SPEC)
        state, _ = ALGO.update(cfg, state, batch, clock(step), noise)
        alone, _ = plain.update(cfg.member, alone, batch, clock(step), noise)
        for a, b in zip(jax.tree.leaves(state.inner), jax.tree.leaves(alone), strict=True):
            np.testing.assert_array_equal(a, b)


def test_known_states_lose_their_novelty_and_new_ones_keep_it():
    cfg = small("td3")
    state = start(ALGO, cfg)
    known = random_batch(32, 1)
    new = jnp.array(np.random.default_rng(9).normal(size=(32, SPEC.obs)) * 3 + 4)
    first = None
    for step in range(1, 400):
        state, _ = compiled(ALGO)(cfg, state, known, clock(step), ALGO.draw(cfg, jax.random.key(step), 32, SPEC))
        first = first or float(rnd.intrinsic_reward(state.novelty, known.next_obs).mean())
    last = float(rnd.intrinsic_reward(state.novelty, known.next_obs).mean())
    assert last < 0.2 * first
    assert float(rnd.intrinsic_reward(state.novelty, new).mean()) > 5 * last


def test_the_bonus_is_the_error_over_its_running_std_times_beta():
    """Seen through the base's target: with γ = 0 the target is the reward itself."""
    cfg = small("td3", gamma=0.0, beta=0.5)
    state, batch = start(ALGO, cfg), random_batch(32, 1, gamma=0.0)
    noise = ALGO.draw(cfg, jax.random.key(0), 32, SPEC)
    obs = np.array(batch.next_obs)
    seen = np.clip((obs - obs.mean(0)) / obs.std(0), -5, 5)
    novelty = state.novelty
    error = np.array(
        [np.square(a - b).mean() for a, b in zip(*(rnd.nets.mlp(n, seen) for n in novelty[:2]), strict=True)]
    )
    _, losses = ALGO.update(cfg, state, batch, clock(1), noise)
    assert losses["intrinsic_reward"] == pytest.approx((error / error.std()).mean(), rel=1e-3)
    assert losses["target"] == pytest.approx(float(batch.reward.mean()) + 0.5 * (error / error.std()).mean(), rel=1e-3)


def test_settings_of_the_wrapped_algorithm_stay_flat():
    cfg = replace(rnd.on("teen"), {"n": 4, "beta": 0.3, "lr": 1e-3, "alpha": 1.0})
    assert (cfg.base, cfg.member.base, cfg.member.n, cfg.member.member.lr) == ("teen", "td3", 4, 1e-3)
    assert flat(cfg)["base"] == "teen"


def test_its_normaliser_survives_save_and_load(tmp_path):
    import teen

    settings = {"seeds": 2, "steps": 60, "warmup": 20, "eval_every": 60, "eval_episodes": 1, "width": 8, "batch": 16}
    outcome = teen.train(
        "rnd", "tests.toys:PointMass-v0", base="sac", rnd_width=8, **settings, out=tmp_path / "run", show=False
    )
    loaded, kept = teen.load(tmp_path / "run").weights.novelty, outcome.agents[0].weights.novelty
    assert float(kept.error.rows[0]) == 40 * 16
    for a, b in zip(jax.tree.leaves(loaded), jax.tree.leaves(kept), strict=True):
        np.testing.assert_array_equal(a, b)
