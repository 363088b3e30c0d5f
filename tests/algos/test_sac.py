"""SAC, REDQ, and what they are to each other and to TEEN."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from teen import nets, ops
from teen.algos import redq, sac, td3, teen
from teen.settings import replace
from tests.reference import numpy_soft, translate
from tests.support import SPEC, clock, compiled, double, for_actors, random_batch, start

ROWS = 32
SMALL = {"width": 16, "lr": 3e-3, "gamma": 0.9, "tau": 0.1, "start_temperature": 0.3}
NUMBERS = {name: SMALL[name] for name in ("lr", "gamma", "tau")}


def learner(m, critics):
    """A SAC learner in the reference's words."""
    opt, temperature = m.critic_opt, m.temperature_opt
    return {
        "actor": translate.mlp(m.actor),
        "critics": [translate.mlp(translate.at(m.critics, c)) for c in range(critics)],
        "target_critics": [translate.mlp(translate.at(m.target_critics, c)) for c in range(critics)],
        "actor_opt": translate.adam(m.actor_opt),
        "critic_opts": [
            {
                "count": int(opt.count),
                "mu": translate.mlp(translate.at(opt.mu, c)),
                "nu": translate.mlp(translate.at(opt.nu, c)),
            }
            for c in range(critics)
        ],
        "log_temperature": float(m.log_temperature),
        "temperature_opt": {
            "count": int(temperature.count), "mu": float(temperature.mu), "nu": float(temperature.nu),
        },
    }  # fmt: skip


@pytest.mark.parametrize("changes", [{}, {"actor_q": "mean", "critics": 3}, {"temperature": "fixed"}], ids=str)
def test_four_updates_of_sac_equal_the_numpy_reference(changes):
    cfg = sac.Config(**SMALL, **changes)
    fixed = 0.3 if cfg.temperature == "fixed" else None
    with jax.enable_x64(True):
        state = double(start(sac.ALGORITHM, cfg))
        theirs = learner(state, cfg.critics)
        for step in range(1, 5):
            batch, noise = random_batch(ROWS, 1, seed=step), sac.draw(cfg, jax.random.key(step), ROWS, SPEC)
            state, losses = compiled(sac.ALGORITHM)(cfg, state, batch, clock(step), noise)
            theirs, info = numpy_soft.sac_update(
                theirs, translate.batch(batch), np.array(noise.next), np.array(noise.now),
                actor_q=cfg.actor_q, fixed_temperature=fixed, **NUMBERS,
            )  # fmt: skip
            translate.assert_close(learner(state, cfg.critics), theirs)
            np.testing.assert_allclose(losses["target"], info["y"].mean(), rtol=1e-5)


@pytest.mark.parametrize("per_action", [-1.0, -0.5, 0.25])
def test_the_temperature_aims_at_the_target_entropy(per_action):
    """Adam's first moment is a tenth of the first gradient, τ times the surplus over target × two action dimensions."""
    cfg = replace(sac.Config(**SMALL), {"target_entropy": per_action})
    state, batch = start(sac.ALGORITHM, cfg), random_batch(ROWS, 1)
    improved, losses = compiled(sac.ALGORITHM)(
        cfg, state, batch, clock(1), sac.draw(cfg, jax.random.key(3), ROWS, SPEC)
    )
    surplus = float(losses["entropy"]) - per_action * 2
    assert float(improved.temperature_opt.mu) == pytest.approx(0.1 * 0.3 * surplus, rel=1e-4)


def test_six_updates_of_redq_equal_the_numpy_reference():
    """Three gradient steps per environment step: the actor moves in every third."""
    cfg = redq.Config(m=2, **SMALL, critics=5)
    with jax.enable_x64(True):
        state = double(start(redq.ALGORITHM, cfg))
        theirs = learner(state, 5)
        for step in range(1, 7):
            batch, noise = random_batch(ROWS, 1, seed=step), redq.draw(cfg, jax.random.key(step), ROWS, SPEC)
            closing = step % 3 == 0
            state, _ = compiled(redq.ALGORITHM)(cfg, state, batch, clock(step, closing=closing), noise)
            theirs, _ = numpy_soft.redq_update(
                theirs, translate.batch(batch), np.array(noise.learner.next), np.array(noise.learner.now),
                np.array(noise.critics).tolist(), do_actor=closing, **NUMBERS,
            )  # fmt: skip
            translate.assert_close(learner(state, 5), theirs)


def test_soft_target_by_hand():
    """Constant critics 3 and 5 and temperature 0.3: y = r + 0.9 (1 − terminated)(3 − 0.3 log π)."""
    cfg = sac.Config(**SMALL)
    state = start(sac.ALGORITHM, cfg)
    flat = jax.tree.map(jnp.zeros_like, state.target_critics)
    constant = (*flat[:-1], flat[-1]._replace(bias=jnp.array([[3.0], [5.0]])))
    # an actor of zeros has mean 0 and log-std 0: with zero noise log π = −(log 2π)/2 a dimension, and log(1−tanh²0) = 0
    actor = jax.tree.map(jnp.zeros_like, state.actor)
    state = state._replace(target_critics=constant, actor=actor)
    batch = random_batch(2, 1)._replace(reward=jnp.array([1.0, 2.0]), discount=jnp.array([0.9, 0.0]))
    noise = sac.Noise(jnp.zeros((2, 2)), jnp.zeros((2, 2)))
    _, losses = compiled(sac.ALGORITHM)(cfg, state, batch, clock(1), noise)
    log_prob = -np.log(2 * np.pi)
    assert losses["target"] == pytest.approx((1 + 0.9 * (3 - 0.3 * log_prob) + 2) / 2)


@pytest.mark.parametrize(("mean", "log_std"), [(0.0, 0.0), (0.7, -1.0), (-1.5, 0.5)])
def test_tanh_gaussian_is_a_density(mean, log_std):
    """exp(log π) integrates to 1 over actions, and its histogram is that of samples."""
    u = np.linspace(-12, 12, 200_001)
    noise = (u - mean) / np.exp(log_std)
    with jax.enable_x64(True):
        action, log_prob = ops.tanh_gaussian(
            jnp.full((len(u), 1), mean), jnp.full((len(u), 1), log_std), jnp.array(noise)[:, None]
        )
    density, a = np.exp(np.array(log_prob)), np.array(action)[:, 0]
    np.testing.assert_allclose(np.trapezoid(density, a), 1, rtol=1e-4)
    samples = np.tanh(mean + np.exp(log_std) * np.random.default_rng(0).normal(size=200_000))
    inside = (a > -0.5) & (a < 0.25)
    np.testing.assert_allclose(
        np.trapezoid(density[inside], a[inside]), ((samples > -0.5) & (samples < 0.25)).mean(), atol=5e-3
    )


def test_log_probabilities_stay_finite_at_saturated_actions():
    mean, log_std = jnp.array([[300.0, -300.0, 20.0]]), jnp.array([[2.0, -20.0, 2.0]])
    value, grads = jax.value_and_grad(lambda m: ops.tanh_gaussian(m, log_std, jnp.ones((1, 3)))[1].sum())(mean)
    assert np.isfinite(value)
    assert np.isfinite(grads).all()


def close(a, b):
    for x, y in zip(jax.tree.leaves(a), jax.tree.leaves(b), strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-5, atol=1e-6)


def test_redq_with_all_of_two_critics_is_sac_on_the_mean():
    cfg = redq.Config(m=2, **SMALL, critics=2)
    same = sac.Config(**SMALL, actor_q="mean")
    state, batch = start(sac.ALGORITHM, same), random_batch(ROWS, 1)
    noise = sac.draw(same, jax.random.key(3), ROWS, SPEC)
    soft, _ = compiled(sac.ALGORITHM)(same, state, batch, clock(1), noise)
    ensemble, _ = compiled(redq.ALGORITHM)(cfg, state, batch, clock(1), redq.Noise(noise, jnp.array([1, 0])))
    close(soft, ensemble)


def test_teen_of_one_without_diversity_is_td3_with_one_critic():
    member = td3.Config(width=16, critics=1, lr=3e-3)
    cfg = teen.Config(n=1, m=1, alpha=0.0, member=member)
    ensemble = start(teen.ALGORITHM, cfg)
    single = jax.tree.map(lambda leaf: leaf[0], ensemble.members)
    for step in (1, 2):
        batch = random_batch(ROWS, 1, seed=step)
        noise = td3.draw(member, jax.random.key(step), ROWS, SPEC)
        single, _ = compiled(td3.ALGORITHM)(member, single, batch, clock(step), noise)
        ensemble, _ = compiled(teen.ALGORITHM)(
            cfg, ensemble, batch, clock(step), teen.Noise(noise[None], jnp.array([0]))
        )
        close(single, jax.tree.map(lambda leaf: leaf[0], ensemble.members))


def test_teen_on_sac_makes_the_soft_pooled_target():
    """Constant critics and zero actors: y = r + γ (min over two of [3, 5, 7] − mean over j of τ_j log π_j)."""
    cfg = teen.Config(n=3, m=2, epsilon=0.05, base="sac", member=sac.Config(**SMALL, critics=1))
    state = start(teen.ALGORITHM, cfg)
    flat = jax.tree.map(jnp.zeros_like, state.members.target_critics)
    constant = (*flat[:-1], flat[-1]._replace(bias=jnp.array([3.0, 5.0, 7.0]).reshape(3, 1, 1)))
    members = state.members._replace(
        target_critics=constant,
        actor=jax.tree.map(jnp.zeros_like, state.members.actor),
        log_temperature=jnp.log(jnp.array([0.1, 0.2, 0.6])),
    )
    batch = random_batch(2, 3)._replace(reward=jnp.array([1.0, 2.0]), discount=jnp.array([0.9, 0.0]))
    zero = sac.Noise(jnp.zeros((3, 2, 2)), jnp.zeros((3, 2, 2)))
    noise = teen.Noise(zero, jnp.array([2, 1]))
    _, losses = compiled(teen.ALGORITHM)(cfg, state._replace(members=members), batch, clock(1), noise)
    log_prob = -np.log(2 * np.pi)
    assert losses["target"] == pytest.approx((1 + 0.9 * (5 - 0.3 * log_prob) + 2) / 2, rel=1e-5)


def test_teen_on_sac_regularises_the_reparameterised_action():
    """With a flat Q and no entropy to speak of, the selected member becomes more recognisable, the others stay."""
    cfg = teen.Config(
        n=3, m=2, alpha=1.0, epsilon=1e-6, base="sac",
        member=sac.Config(width=16, critics=1, lr=1e-4, temperature="fixed", start_temperature=1e-8),
    )  # fmt: skip
    state, batch = start(teen.ALGORITHM, cfg), random_batch(ROWS, 3)
    state = state._replace(members=state.members._replace(critics=jax.tree.map(jnp.zeros_like, state.members.critics)))
    noise = teen.draw(cfg, jax.random.key(0), ROWS, SPEC)

    def recognised(s):
        rows = []
        for k in range(3):
            mean, log_std = nets.gaussian(translate.at(s.members.actor, k), batch.obs)
            action, _ = ops.tanh_gaussian(mean, log_std, noise.members.now[k])
            rows.append(nets.discriminator(s.discriminator, batch.obs, action)[:, k].mean())
        return np.array(rows)

    improved, _ = compiled(teen.ALGORITHM)(cfg, state, for_actors(batch), clock(1), noise)
    before, after = recognised(state), recognised(improved)
    gain = after - before
    assert (gain > 1e-6).sum() == 1
    assert (np.abs(gain) < 1e-6).sum() == 2


def test_redq_target_by_hand():
    """Constant critics 3, 5, 7: the smallest of the drawn two counts, the undrawn one does not."""
    cfg = redq.Config(m=2, **SMALL, critics=3)
    state = start(redq.ALGORITHM, cfg)
    flat = jax.tree.map(jnp.zeros_like, state.target_critics)
    constant = (*flat[:-1], flat[-1]._replace(bias=jnp.array([[3.0], [5.0], [7.0]])))
    actor = jax.tree.map(jnp.zeros_like, state.actor)
    state = state._replace(target_critics=constant, actor=actor)
    batch = random_batch(2, 1)._replace(reward=jnp.array([1.0, 2.0]), discount=jnp.array([0.9, 0.0]))
    zero = sac.Noise(jnp.zeros((2, 2)), jnp.zeros((2, 2)))
    for chosen, least in (([2, 1], 5.0), ([0, 2], 3.0)):
        noise = redq.Noise(zero, jnp.array(chosen))
        _, losses = compiled(redq.ALGORITHM)(cfg, state, batch, clock(1), noise)
        assert losses["target"] == pytest.approx((1 + 0.9 * (least + 0.3 * np.log(2 * np.pi)) + 2) / 2, rel=1e-5)
