from operator import itemgetter

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from teen.engine import replay
from teen.spec import Spec

LAYOUT = replay.Layout(Spec(2, 1), (("z", 1), ("mask", 3)))


def test_a_row_comes_back_as_it_went_in():
    parts = {
        "obs": np.array([[1.0, 2.0]]),
        "action": np.array([[3.0]]),
        "reward": np.array([4.0]),
        "terminated": np.array([False]),
        "ended": np.array([True]),
        "next_obs": np.array([[5.0, 6.0]]),
        "extras": {"z": np.array([[7]]), "mask": np.array([[8.0, 9.0, 10.0]])},
    }
    row = np.empty((1, LAYOUT.width), np.float32)
    LAYOUT.pack(row, **parts)
    assert row.tolist() == [[1, 2, 3, 4, 0, 1, 5, 6, 7, 8, 9, 10]]
    batch = LAYOUT.unpack(replay.Rows(jnp.array(row), jnp.array([0])), 0.5)
    for name in ("obs", "action", "reward", "next_obs"):
        np.testing.assert_array_equal(getattr(batch, name), parts[name])
    assert batch.discount.tolist() == [0.5]
    np.testing.assert_array_equal(batch.extras["mask"], parts["extras"]["mask"])


def filled(capacity: int, stored: int) -> jax.Array:
    """Two lanes; the row of step t holds t in lane 0 and 100 + t in lane 1."""
    buffer = jnp.zeros((2, capacity, LAYOUT.width))
    for t in range(stored):
        row = jnp.broadcast_to(jnp.array([[t], [100.0 + t]]), (2, LAYOUT.width))
        buffer = replay.insert(buffer, row, jnp.array(t))
    return buffer


def test_the_oldest_row_is_overwritten():
    buffer = filled(capacity=4, stored=6)
    assert buffer[:, :, 0].tolist() == [[4, 5, 2, 3], [104, 105, 102, 103]]


def test_samples_are_uniform_over_what_is_stored_and_know_their_age():
    for capacity, stored in ((8, 5), (4, 6)):
        lane = filled(capacity, stored)[0]
        bits = jax.random.bits(jax.random.key(0), (4000,))
        batch = replay.sample(LAYOUT, 1, lane, jnp.array(stored), bits)
        steps = np.array(batch.rows[:, LAYOUT.reward])
        kept = list(range(max(0, stored - capacity), stored))
        counts = [(steps == t).sum() for t in kept]
        assert sum(counts) == 4000
        np.testing.assert_allclose(counts, 4000 / len(kept), rtol=0.15)
        np.testing.assert_array_equal(batch.age, stored - 1 - steps)


@pytest.mark.parametrize("n_step", [1, 3, 5])
@pytest.mark.parametrize("stored", [1, 3, 5, 13])
def test_host_memory_gives_the_same_batch_for_the_same_bits(stored, n_step):
    """Before and after the buffer of 5 rows has gone round."""
    lanes, width = 2, LAYOUT.width
    rng = np.random.default_rng(stored)
    host, device = replay.HostReplay(lanes, 5, LAYOUT, n_step), jnp.zeros((lanes, 5, width))
    for step in range(stored):
        row = rng.normal(size=(lanes, width)).astype(np.float32)
        row[:, LAYOUT.ended] = rng.random(lanes) < 0.4
        host.insert(row)
        device = replay.insert(device, jnp.array(row), jnp.array(step))
    np.testing.assert_array_equal(host.buffer, device)
    bits = rng.integers(0, 2**32, (lanes, 64), dtype=np.uint32)
    sampled = host.sample(bits)
    for lane in range(lanes):
        expected = replay.sample(LAYOUT, n_step, device[lane], jnp.array(stored), jnp.array(bits[lane]))
        jax.tree.map(np.testing.assert_array_equal, jax.tree.map(itemgetter(lane), sampled), expected)
