"""Returns of several steps: targets worked out by hand, over ends of episodes and of the replay."""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from teen.algos import td3
from teen.engine import replay
from teen.engine.plan import Plan
from teen.engine.program import TrainState, program
from teen.engine.trainer import Trainer
from teen.errors import UserError
from teen.settings import config, replace, setting, stacked
from teen.spec import Spec
from tests.reference import numpy_updates, translate
from tests.support import clock, compiled, double

LAYOUT = replay.Layout(Spec(1, 1), (("z", 1),))
# Steps 0 to 8 of a lane: an episode that terminates after step 2, one that the clock ends after step 5, and one that
# goes on. The reward of step t is 2^t, its next observation 100 + t, its label 10 t.
TERMINATED, ENDED = [0, 0, 1, 0, 0, 0, 0, 0, 0], [0, 0, 1, 0, 0, 1, 0, 0, 0]
ROWS = np.array([[t, 0, 2**t, TERMINATED[t], ENDED[t], 100 + t, 10 * t] for t in range(9)], np.float32)
# By hand, three steps at γ = 0.5: (reward, discount, next observation). Step 3: 8 + 16/2 + 32/4.
BY_HAND = [
    (3, 0, 102), (4, 0, 102), (4, 0, 102),
    (24, 0.125, 105), (32, 0.25, 105), (32, 0.5, 105),
    (192, 0.125, 108), (256, 0.25, 108), (256, 0.5, 108),
]  # fmt: skip


def batch_of(place, capacity, n_step, gammas=(0.5,), rows=ROWS, algo=td3.ALGORITHM):
    """Store rows in every lane, and return the batch in which each row that is kept comes once, as the learner gets it:
    leaves (lane, row, ...), in the order of the buffer."""
    lanes, kept = len(gammas), min(capacity, len(rows))
    functions = program(algo, LAYOUT, kept, 1, "float32", n_step)
    configs = stacked([algo.Config(**({"gamma": gamma} if gamma is not None else {})) for gamma in gammas])
    host, buffer = replay.HostReplay(lanes, capacity, LAYOUT, n_step), jnp.zeros((lanes, capacity, LAYOUT.width))
    for step, row in enumerate(rows):
        every = np.tile(row, (lanes, 1))
        host.insert(every)
        buffer = replay.insert(buffer, jnp.array(every), jnp.array(step))
    bits = np.tile(np.arange(kept, dtype=np.uint32), (lanes, 1))
    train = TrainState(configs, (), buffer if place == "device" else buffer[:, :0], (), jnp.array(len(rows)), 0)
    return jax.jit(functions._batch)(train, bits if place == "device" else host.sample(bits))


places = pytest.mark.parametrize("place", ["device", "host"])


@places
@pytest.mark.parametrize("capacity", [9, 16, 7, 4, 3])
def test_targets_by_hand(place, capacity):
    """Beyond 9 rows nothing is overwritten; in a ring of 7 the newest row lies before the oldest one, of step 2."""
    batch = batch_of(place, capacity, 3)
    steps = np.array(batch.obs[0, :, 0]).astype(int)
    assert sorted(steps) == list(range(max(0, 9 - capacity), 9))
    for i, t in enumerate(steps):
        found = batch.reward[0, i], batch.discount[0, i], batch.next_obs[0, i, 0]
        np.testing.assert_allclose(found, BY_HAND[t], rtol=1e-6, err_msg=f"step {t}")
    np.testing.assert_array_equal(batch.extras["z"][0, :, 0], 10 * steps)  # those of the first step
    np.testing.assert_array_equal(batch.age[0], 8 - steps)


@places
def test_one_step_is_the_row_itself(place):
    batch = batch_of(place, 16, 1)
    np.testing.assert_array_equal(batch.reward[0], ROWS[:, 2])
    np.testing.assert_array_equal(batch.discount[0], 0.5 * (1 - ROWS[:, 3]))
    np.testing.assert_array_equal(batch.next_obs[0, :, 0], ROWS[:, 5])


@places
def test_every_lane_has_its_own_discount(place):
    """Step 3 of 8, 16 and 32: at γ = 0 the first reward alone, at γ = 1 the plain sum."""
    batch = batch_of(place, 16, 3, gammas=(0.0, 0.9, 1.0))
    np.testing.assert_allclose(batch.reward[:, 3], [8, 8 + 0.9 * 16 + 0.81 * 32, 56], rtol=1e-6)
    np.testing.assert_allclose(batch.discount[:, 3], [0, 0.729, 1], rtol=1e-6)


@places
@pytest.mark.parametrize(("n_step", "capacity"), [(2, 11), (3, 11), (5, 11), (5, 60), (11, 11)])
def test_random_episodes_equal_a_plain_loop(place, n_step, capacity):
    rng = np.random.default_rng(n_step)
    rows = rng.normal(size=(40, LAYOUT.width)).astype(np.float32)
    rows[:, 3] = rng.random(40) < 0.15
    rows[:, 4] = np.maximum(rows[:, 3], rng.random(40) < 0.15)
    batch = batch_of(place, capacity, n_step, (0.9,), rows)
    for t in range(max(0, 40 - capacity), 40):
        total, factor, last = 0.0, 1.0, t
        for k in range(t, min(t + n_step, 40)):
            total, factor, last = total + factor * rows[k, 2], factor * 0.9, k
            if rows[k, 4]:
                break
        i = t % capacity
        assert batch.reward[0, i] == pytest.approx(total, rel=1e-5, abs=1e-5)
        assert batch.discount[0, i] == pytest.approx(factor * (1 - rows[last, 3]), rel=1e-5)
        assert batch.next_obs[0, i, 0] == rows[last, 5]


def test_an_update_of_three_steps_equals_the_numpy_reference():
    """The reference takes γ^m of each row where it takes γ."""
    cfg = td3.Config(width=16, lr=3e-3, gamma=0.5, tau=0.1)
    batch = jax.tree.map(lambda leaf: leaf[0], batch_of("device", 9, 3))
    with jax.enable_x64(True):
        state, noise = (
            double(td3.init(cfg, jax.random.key(0), LAYOUT.spec)),
            jax.random.normal(jax.random.key(1), (9, 1)),
        )
        theirs, rewards = translate.td3_learner(state, 2), [reward for reward, _, _ in BY_HAND]
        state, losses = compiled(td3.ALGORITHM)(cfg, state, double(batch), clock(2), noise)
        by_hand = {
            "obs": ROWS[:, :1], "action": ROWS[:, 1:2], "reward": np.array(rewards),
            "next_obs": np.array([[after] for *_, after in BY_HAND]),
            "terminated": np.array([1.0, 1, 1, 0, 0, 0, 0, 0, 0]),
        }  # fmt: skip
        powers = np.array([0.5**3, 0.5**2, 0.5, 0.5**3, 0.5**2, 0.5, 0.5**3, 0.5**2, 0.5])
        numbers = {name: getattr(cfg, name) for name in ("lr", "tau", "smoothing", "smoothing_clip")}
        theirs, info = numpy_updates.td3_update(
            theirs, by_hand, np.array(noise), do_actor=True, gamma=powers, **numbers
        )
        translate.assert_close(translate.td3_learner(state, 2), theirs)
        np.testing.assert_allclose(losses["target"], info["y"].mean(), rtol=1e-5)


@places
def test_an_episode_that_a_resume_left_ends_there(place):
    """The simulator's state was not saved: step 7 begins another episode than step 6. The next checkpoint knows."""
    functions = program(td3.ALGORITHM, LAYOUT, 4, 1, "float32", 3)
    configs = stacked([td3.Config(width=8)] * 2)

    def trainer():
        return Trainer(functions, LAYOUT, [0, 1], configs, 8, place)

    first, second, third = trainer(), trainer(), trainer()
    packed = np.tile(np.append(ROWS[0], 0).astype(np.float32), (7, 2, 1))
    first.store(packed)
    second.restore(first.snapshot(), first.rows(0, 7))
    second.cut(7, [1])
    second.store(packed[:2])
    assert second.snapshot().facts == {"cuts": [(7, [1])]}
    saved = [*first.rows(1, 7), *second.rows(7, 9)]  # rows are written once, the first seven before the cut
    third.restore(second.snapshot(), saved)
    for each in (second, third):
        ((_, rows),) = each.rows(1, 9)
        np.testing.assert_array_equal(rows[:, :, LAYOUT.ended], [[0] * 8, [0] * 5 + [1] + [0] * 2])
    third.store(packed)
    assert third.snapshot().facts == {"cuts": []}  # by now the row is overwritten


def test_a_window_fits_into_the_replay():
    with pytest.raises(UserError, match="--n-step 5 is more than --buffer 4"):
        replace(Plan(), {"n_step": 5, "buffer": 4})
    assert replace(Plan(), {"n_step": 4, "buffer": 4}).n_step == 4
    for wrong, words in ((0, "at least 1"), (1001, "at most 1,000"), (1.5, "a whole number")):
        with pytest.raises(UserError, match=f"--n-step must be {words}"):
            replace(Plan(), {"n_step": wrong})


@config
@dataclass(frozen=True)
class Undiscounted:
    width: int = setting(8, "units")


@places
def test_without_a_discount_in_the_config_it_is_one(place):
    batch = batch_of(place, 16, 1, gammas=(None,), algo=td3.ALGORITHM._replace(Config=Undiscounted))
    np.testing.assert_array_equal(batch.discount[0], 1 - ROWS[:, 3])


@pytest.mark.parametrize(("n_step", "gathers"), [(1, 1), (3, 3)])
def test_one_step_reads_each_row_once_and_nothing_else(n_step, gathers):
    """Beyond that come the rewards and ends of the rows that follow, and the last one's next observation."""
    functions = program(td3.ALGORITHM, LAYOUT, 4, 1, "float32", n_step)
    train = TrainState(stacked([td3.Config()]), (), jnp.zeros((1, 8, LAYOUT.width)), (), jnp.array(5), 0)
    traced = str(jax.make_jaxpr(functions._batch)(train, jnp.zeros((1, 4), jnp.uint32)))
    assert traced.count("gather[") == gathers
