import jax
import numpy as np
import pytest

from teen import nets


def test_layers_start_uniform_within_one_over_root_fan_in():
    layers = nets.init_mlp(jax.random.key(0), (9, 400, 25, 1))
    assert [layer.weight.shape for layer in layers] == [(400, 9), (25, 400), (1, 25)]
    for layer, fan_in in zip(layers, (9, 400, 25), strict=True):
        bound = fan_in**-0.5
        for values in layer:
            assert np.abs(values).max() <= bound
        assert layer.weight.std() == pytest.approx(bound / np.sqrt(3), rel=0.3 if fan_in == 25 else 0.05)
    assert len(np.unique(np.concatenate([np.ravel(v) for layer in layers for v in layer]))) > 13_000


def test_mlp_by_hand():
    layers = (
        nets.Linear(np.array([[1.0, 2.0], [-1.0, 0.0]]), np.array([0.0, 1.0])),
        nets.Linear(np.array([[3.0, 5.0]]), np.array([0.5])),
    )
    # hidden: relu([1 + 4, -1 + 1]) = [5, 0]; relu([-3, 3 + 1]) = [0, 4]
    out = nets.mlp(layers, np.array([[1.0, 2.0], [-3.0, 0.0]]))
    np.testing.assert_allclose(out, [[15.5], [20.5]])
    np.testing.assert_allclose(nets.critic(layers, np.array([[1.0]]), np.array([[2.0]])), [15.5])
    np.testing.assert_allclose(nets.actor(layers, np.array([[1.0, 2.0]])), np.tanh([[15.5]]), rtol=1e-6)


def test_discriminator_is_a_distribution():
    layers = nets.init_discriminator(jax.random.key(0), nets.Spec(3, 2), (8,), 4)
    log_q = nets.discriminator(layers, np.ones((5, 3)), np.ones((5, 2)))
    np.testing.assert_allclose(np.exp(log_q).sum(1), 1, rtol=1e-5)
