import jax
import jax.numpy as jnp
import numpy as np
import pytest

from teen.algos import td3
from tests.reference import numpy_updates, translate
from tests.support import SPEC, clock, compiled, differ, double, random_batch, start

CFG = td3.Config(width=16, lr=3e-3, gamma=0.9, tau=0.1)
NUMBERS = {name: getattr(CFG, name) for name in ("lr", "gamma", "tau", "smoothing", "smoothing_clip")}


ALGO = td3.ALGORITHM


@pytest.mark.parametrize("critics", [1, 2])
def test_four_updates_equal_the_numpy_reference(critics):
    cfg = td3.Config(width=16, lr=3e-3, gamma=0.9, tau=0.1, critics=critics)
    with jax.enable_x64(True):
        state = double(start(ALGO, cfg))
        theirs = translate.td3_learner(state, critics)
        for step in range(1, 5):  # the actor moves in the 2nd and the 4th
            batch = random_batch(32, 1, seed=step)
            noise = jax.random.normal(jax.random.key(step), (32, SPEC.action))
            state, losses = compiled(ALGO)(cfg, state, batch, clock(step), noise)
            theirs, info = numpy_updates.td3_update(
                theirs, translate.batch(batch), np.array(noise), do_actor=step % 2 == 0, **NUMBERS
            )
            translate.assert_close(translate.td3_learner(state, critics), theirs)
            np.testing.assert_allclose(losses["critic_loss"], info["critic_loss"], rtol=1e-5)
            np.testing.assert_allclose(losses["target"], info["y"].mean(), rtol=1e-5)


def test_target_by_hand():
    """Constant critics: y is r + γ(1 − terminated)·min(3, 5), whatever the action."""
    state = start(ALGO, CFG)
    flat = jax.tree.map(jnp.zeros_like, state.target_critics)
    last = flat[-1]._replace(bias=jnp.array([[3.0], [5.0]]))
    state = state._replace(target_critics=(*flat[:-1], last))
    batch = random_batch(4, 1)._replace(
        reward=jnp.array([1.0, 2.0, 3.0, 4.0]), discount=jnp.array([0.9, 0.0, 0.9, 0.0])
    )
    _, losses = compiled(ALGO)(CFG, state, batch, clock(1), jnp.zeros((4, SPEC.action)))
    assert losses["target"] == pytest.approx(((1 + 2.7) + 2 + (3 + 2.7) + 4) / 4)


def test_actor_and_targets_wait_for_every_second_step():
    state, batch = start(ALGO, CFG), random_batch(8, 1)
    noise = jax.random.normal(jax.random.key(0), (8, SPEC.action))
    odd, _ = compiled(ALGO)(CFG, state, batch, clock(1), noise)
    even, _ = compiled(ALGO)(CFG, state, batch, clock(2), noise)
    for part in ("actor", "target_actor", "target_critics", "actor_opt"):
        assert not any(differ(getattr(odd, part), getattr(state, part)))
        assert any(differ(getattr(even, part), getattr(state, part)))
    assert all(differ(odd.critics, state.critics))


def test_online_actor_can_make_the_target():
    cfg = td3.Config(width=16, target_actors=False)
    state, batch = start(ALGO, cfg), random_batch(8, 1)
    moved = state._replace(target_actor=jax.tree.map(jnp.zeros_like, state.actor))
    noise = jnp.zeros((8, SPEC.action))
    _, with_targets = compiled(ALGO)(cfg, state, batch, clock(1), noise)
    _, without = compiled(ALGO)(cfg, moved, batch, clock(1), noise)
    assert with_targets["target"] == without["target"]


def test_exploration_noise_has_the_configured_std_and_stays_in_bounds():
    actor = jax.tree.map(jnp.zeros_like, start(ALGO, CFG).actor)
    for std in (0.1, 2.0):
        cfg = td3.Config(width=16, noise=std)
        keys = jax.random.split(jax.random.key(1), 4000)
        noise = jax.vmap(lambda key: ALGO.draw_act(cfg, key, SPEC))(keys)  # noqa: B023
        actions, *_ = jax.vmap(lambda noise: ALGO.act(cfg, actor, (), jnp.zeros(3), noise))(noise)  # noqa: B023
        if std == 0.1:
            assert actions.std() == pytest.approx(0.1, rel=0.05)
        assert np.abs(actions).max() <= 1


def test_metrics_come_from_an_update_in_which_everything_takes_its_turn():
    """Gradient step 0 stands for that: the actor's losses are there, as in a step in which it moves."""
    state, batch = start(ALGO, CFG), random_batch(8, 1)
    noise = jax.random.normal(jax.random.key(0), (8, SPEC.action))
    _, probed = ALGO.update(CFG, state, batch, clock(1)._replace(gradient_step=0), noise)
    _, trained = compiled(ALGO)(CFG, state, batch, clock(1), noise)
    assert probed.keys() - trained.keys() == {"actor_loss", "actor_grad_norm"}
    moved, _ = compiled(ALGO)(CFG, state, batch, clock(2), noise)
    q1 = jax.tree.map(lambda leaf: leaf[0], moved.critics)  # the actor follows the critics after their step
    actions = td3.nets.actor(state.actor, batch.obs)
    assert probed["actor_loss"] == pytest.approx(-float(td3.nets.critic(q1, batch.obs, actions).mean()), rel=1e-5)
