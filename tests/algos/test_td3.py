import jax
import jax.numpy as jnp
import numpy as np
import pytest

from teen.algos import td3
from tests.reference import numpy_updates, translate
from tests.support import SPEC, clock, compiled, differ, double, random_batch

CFG = td3.Config(width=16, lr=3e-3, gamma=0.9, tau=0.1)
NUMBERS = {name: getattr(CFG, name) for name in ("lr", "gamma", "tau", "smoothing", "smoothing_clip")}


def start(cfg=CFG, seed=0):
    return jax.jit(td3.make(cfg).init, static_argnums=1)(jax.random.key(seed), SPEC, td3.hyper(cfg))


@pytest.mark.parametrize("critics", [1, 2])
def test_four_updates_equal_the_numpy_reference(critics):
    cfg = td3.Config(width=16, lr=3e-3, gamma=0.9, tau=0.1, critics=critics)
    with jax.enable_x64(True):
        state = double(start(cfg))
        theirs = translate.td3_learner(state.learner, critics)
        for step in range(1, 5):  # the actor moves in the 2nd and the 4th
            batch = random_batch(32, 1, seed=step)
            noise = jax.random.normal(jax.random.key(step), (32, SPEC.action))
            state, losses = compiled(td3.parts(cfg))[1](state, batch, clock(step), noise)
            theirs, info = numpy_updates.td3_update(
                theirs, translate.batch(batch), np.array(noise), do_actor=step % 2 == 0, **NUMBERS
            )
            translate.assert_close(translate.td3_learner(state.learner, critics), theirs)
            np.testing.assert_allclose(losses["critic_loss"], info["critic_loss"], rtol=1e-5)
            np.testing.assert_allclose(losses["target"], info["y"].mean(), rtol=1e-5)


def test_target_by_hand():
    """Constant critics: y is r + γ(1 − terminated)·min(3, 5), whatever the action."""
    state = start()
    flat = jax.tree.map(jnp.zeros_like, state.learner.target_critics)
    last = flat[-1]._replace(bias=jnp.array([[3.0], [5.0]]))
    state = state._replace(learner=state.learner._replace(target_critics=(*flat[:-1], last)))
    batch = random_batch(4, 1)._replace(
        reward=jnp.array([1.0, 2.0, 3.0, 4.0]), terminated=jnp.array([0.0, 1.0, 0.0, 1.0])
    )
    _, losses = compiled(td3.parts(CFG))[0].fit(state, batch, clock(1), jnp.zeros((4, SPEC.action)))
    assert losses["target"] == pytest.approx(((1 + 2.7) + 2 + (3 + 2.7) + 4) / 4)


def test_actor_and_targets_wait_for_every_second_step():
    state, batch = start(), random_batch(8, 1)
    update = jax.jit(td3.make(CFG).update)
    noise = jax.random.normal(jax.random.key(0), (8, SPEC.action))
    odd, _ = update(state, batch, clock(1), noise)
    even, _ = update(state, batch, clock(2), noise)
    for part in ("actor", "target_actor", "target_critics", "actor_opt"):
        assert not any(differ(getattr(odd.learner, part), getattr(state.learner, part)))
        assert any(differ(getattr(even.learner, part), getattr(state.learner, part)))
    assert all(differ(odd.learner.critics, state.learner.critics))


def test_online_actor_can_make_the_target():
    cfg = td3.Config(width=16, target_actors=False)
    state, batch = start(cfg), random_batch(8, 1)
    moved = state.learner._replace(target_actor=jax.tree.map(jnp.zeros_like, state.learner.actor))
    noise = jnp.zeros((8, SPEC.action))
    fit = compiled(td3.parts(cfg))[0].fit
    _, with_targets = fit(state, batch, clock(1), noise)
    _, without = fit(state._replace(learner=moved), batch, clock(1), noise)
    assert with_targets["target"] == without["target"]


def test_exploration_noise_has_the_configured_std_and_stays_in_bounds():
    algo = td3.make(CFG)
    for std in (0.1, 2.0):
        agent = algo.agent(td3.make(CFG).init(jax.random.key(0), SPEC, td3.hyper(td3.Config(noise=std))))
        agent = agent._replace(actor=jax.tree.map(jnp.zeros_like, start().learner.actor))
        weights = algo.actor(agent, ())
        keys = jax.random.split(jax.random.key(1), 4000)
        draw = jax.vmap(lambda key: algo.draw_act(key, SPEC))
        actions, _ = jax.vmap(lambda noise: algo.act(weights, (), jnp.zeros(3), noise))(draw(keys))  # noqa: B023
        if std == 0.1:
            assert actions.std() == pytest.approx(0.1, rel=0.05)
        assert np.abs(actions).max() <= 1
