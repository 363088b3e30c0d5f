"""The compiled collector gives what the Python collector gives, and keeps its promises."""

import threading

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from teen import algos, envs
from teen.engine.slots import Slots
from teen.envs import CompiledEnvs
from teen.errors import EnvironmentFault
from tests.engine.collecting import Bench, tamper

pytestmark = pytest.mark.filterwarnings("ignore")

TASKS = [  # algorithm, task, action repeat, chunk, warm-up, steps
    ("teen", "Hopper-v4", 1, 1, 60, 200),  # terminates; the acting member changes
    ("teen", "Hopper-v4", 1, 10, 60, 300),
    ("teen", "Hopper-v4", 1, 25, 50, 300),  # a second episode ends before weights are renewed
    ("td3", "HalfCheetah-v4", 1, 10, 990, 1040),  # its clock runs out at 1000
    ("sac", "dm_control/reacher-easy", 2, 10, 480, 530),  # at 500 of these steps
    ("redq", "Hopper-v4", 1, 10, 60, 120),
    ("rnd", "Hopper-v4", 1, 10, 60, 120),
    ("sunrise", "Hopper-v4", 1, 10, 60, 120),
]


@pytest.mark.parametrize(("algo", "env", "repeat", "chunk", "warmup", "steps"), TASKS)
def test_both_collectors_give_the_same_rows(algo, env, repeat, chunk, warmup, steps):
    """Fed the same weights, noise and seeds, over several ends of episodes. Seven lanes are two programs."""
    seeds = [3, 1, 4, 1, 5, 9, 2]
    rows = {}
    for kind in ("python", "compiled"):
        bench = Bench(kind, algo, env, seeds, chunk, repeat)
        rows[kind] = bench.collect(warmup, steps, rows.get("python"))
        bench.close()
    np.testing.assert_array_equal(rows["compiled"][:warmup], rows["python"][:warmup])
    np.testing.assert_allclose(rows["compiled"], rows["python"], rtol=1e-3, atol=2e-3)
    obs, action = bench.layout.spec
    ended = rows["python"][:, :, obs + action + 2]
    assert (ended.sum(0) > 0).all()  # an episode ended in every lane
    if algo == "teen":
        members = rows["python"][warmup:, :, bench.layout.width - 1]
        assert all(len(np.unique(lane)) > 1 for lane in members.T)


def told_apart():
    """Return TD3 with eight members, whose actions say which one's weights act, and whose extras say which one the memo
    names."""
    td3 = algos.find("td3")

    def act(cfg, actor, memo, obs, noise):
        return jnp.full(noise.shape, actor[0] / 10), {"z": memo[None].astype(jnp.float32)}, memo

    return td3._replace(
        begin=lambda cfg, key, spec: jax.random.randint(key, (), 0, 8),
        actor=lambda cfg, weights, memo: memo[None].astype(jnp.float32),
        act=act,
        unguided=lambda cfg, key: {"z": -jnp.ones(1)},
        extras=lambda cfg: (("z", 1),),
    )


@pytest.mark.parametrize("kind", ["python", "compiled"])
@pytest.mark.parametrize("chunk", [1, 10, 50])
def test_the_member_that_acts_is_the_one_that_is_stored(kind, chunk):
    """Hopper's episodes end after ten to thirty steps here, many in chunks in a row. A member acts from an
    episode's end to another's; with `--sync 1`, one is drawn for every episode."""
    bench = Bench(kind, told_apart(), "Hopper-v4", [0, 1, 2], chunk)
    rows = bench.collect(100, 700)[100:]
    bench.close()
    obs, action = bench.layout.spec
    ended, member = rows[:, :, obs + action + 2].astype(bool), rows[:, :, bench.layout.width - 1]
    np.testing.assert_allclose(rows[:, :, obs], member / 10, rtol=1e-6)
    changed = np.diff(member, axis=0) != 0
    assert not (changed & ~ended[:-1]).any()
    assert changed.sum() > 8
    if chunk == 1:
        assert changed.sum() > 0.7 * ended.sum()  # an eighth of the draws gives the same member again


def test_slots_follow_their_rule():
    """One lane, by hand: (episodes that end in a chunk) and the episode whose member acts after it."""
    slots, episodes, acted = Slots(np.array([0])), np.array([0]), []
    for ends in (0, 1, 1, 0, 2, 1, 0, 0, 1):
        slots.ask(episodes)  # when the chunk begins
        slots.spent = slots.spent | (ends > 0)
        acted.append(int(np.where(slots.spent, slots.numbers[1], slots.numbers[0])[0]))
        episodes = episodes + ends
        slots.renew(episodes)
        assert int(np.where(slots.spent, slots.numbers[1], slots.numbers[0])[0]) == acted[-1]  # no change in between
    assert acted == [0, 1, 1, 1, 2, 2, 2, 2, 5]


def test_a_program_is_compiled_once():
    """Else the second time would count as the simulators'."""
    bench = Bench("compiled", "teen", "Hopper-v4", [0, 1], 10)
    bench.collect(30, 80)
    bench.close()
    assert [program._cache_size() for program in bench.collector._programs[0]] == [1, 1]


def test_extras_that_are_not_finite_are_not_blamed_on_the_simulator():
    td3 = algos.find("td3")

    def act(cfg, actor, memo, obs, noise):
        action, _, _ = td3.act(cfg, actor, memo, obs, noise)
        return action, {"mean": action.mean()[None]}, memo

    algo = td3._replace(act=act, unguided=lambda cfg, key: {"mean": jnp.zeros(1)}, extras=lambda cfg: (("mean", 1),))
    bench = Bench("compiled", algo, "Hopper-v4", [0, 1], 10)
    bench.poison(1)
    bench.collector._acting = bench.collector._ask(bench.collector._slots.numbers)
    bench.collect(0, 20)
    assert bench.collector.silent.tolist() == [False, True]
    bench.close()


def with_memory():
    """Return TD3 whose memo counts the steps of an episode, and stores them."""
    td3 = algos.find("td3")

    def act(cfg, actor, memo, obs, noise):
        action, _, _ = td3.act(cfg, actor, (), obs, noise)
        return action, {"count": memo["count"]}, {"count": memo["count"] + 1}

    return td3._replace(
        begin=lambda cfg, key, spec: {"count": jnp.zeros(1)},
        actor=lambda cfg, weights, memo: td3.actor(cfg, weights, ()),
        act=act,
        unguided=lambda cfg, key: {"count": -jnp.ones(1)},
        extras=lambda cfg: (("count", 1),),
        policy=lambda cfg, weights, memo, obs: td3.policy(cfg, weights, (), obs),
    )


@pytest.mark.parametrize("kind", ["python", "compiled"])
def test_acting_may_change_its_memo(kind):
    bench = Bench(kind, with_memory(), "Hopper-v4", [0, 1], 10)
    rows = bench.collect(50, 250)[50:]
    bench.close()
    obs, action = bench.layout.spec
    ended, count = rows[:, :, obs + action + 2], rows[:, :, bench.layout.width - 1]
    assert (count[0] == 0).all()  # after the warm-up the memo begins anew
    np.testing.assert_array_equal(count[1:], np.where(ended[:-1], 0, count[:-1] + 1))
    assert ended.sum() > 4


def test_the_memo_is_part_of_the_snapshot():
    whole, cut = (Bench("python", with_memory(), "Hopper-v4", [0, 1], 10) for _ in range(2))
    whole.collect(0, 30)
    snapshot = whole.collector.snapshot()
    assert {name: array.shape for name, array in snapshot.arrays.items() if "memo" in name} == {
        "0/memo/memo.count": (2, 1)
    }
    cut.collector.restore(snapshot)
    np.testing.assert_array_equal(cut.collector.crews[0]._memo["count"], whole.collector.crews[0]._memo["count"])
    whole.close()
    cut.close()


def test_a_lane_whose_actions_are_not_finite_falls_silent_and_the_others_do_not_notice():
    rows = []
    for poisoned in (False, True):
        bench = Bench("compiled", "td3", "Hopper-v4", [0, 1, 2], 10)
        if poisoned:
            bench.poison(1)
            bench.collector._acting = bench.collector._ask(bench.collector._slots.numbers)
        rows.append(bench.collect(0, 60))
        assert bench.collector.silent.tolist() == [False, poisoned, False]
        bench.close()
    clean, spoilt = rows
    np.testing.assert_array_equal(spoilt[:, [0, 2]], clean[:, [0, 2]])
    obs, action = bench.layout.spec
    assert (spoilt[:, 1, obs : obs + action] == 0).all()
    assert np.isfinite(spoilt).all()


def test_a_silenced_lane_acts_no_more():
    bench = Bench("compiled", "td3", "Hopper-v4", [0, 1], 10)
    bench.collect(0, 20)
    bench.collector.silence(0)
    rows = bench.collect(0, 60)
    bench.close()
    obs, action = bench.layout.spec
    actions = rows[:, :, obs : obs + action]
    assert (actions[-20:, 0] == 0).all()
    assert (actions[:, 1] != 0).any(1).all()


def failing(monkeypatch, lanes, lane, step, what):
    """Return a bench on HalfCheetah-v4, one of whose simulators fails."""
    bench_of = CompiledEnvs.__init__

    def made(self, *args, **kwargs):
        bench_of(self, *args, **kwargs)
        tamper(self, lane, step, what)

    with monkeypatch.context() as patch:
        patch.setattr(CompiledEnvs, "__init__", made)
        return Bench("compiled", "td3", "HalfCheetah-v4", [7, 8][:lanes], 10)


@pytest.mark.parametrize("guided", [False, True])
@pytest.mark.parametrize(
    ("lanes", "what", "message"),
    [
        (1, "raise", r"HalfCheetah-v4 failed in lane 0, seed 7, steps 21 to 30: .*the joint broke"),
        (2, "raise", r"failed in one of lanes 0 to 1, seeds 7 to 8, steps 21 to 30: .*the joint broke"),
        (2, "nan", r"failed in lane 1, seed 8, step 25: returned a number that is not finite"),
    ],
)
def test_a_simulator_that_fails_is_named(lanes, what, message, guided, monkeypatch):
    bench = failing(monkeypatch, lanes, lanes - 1, 25, what)
    with pytest.raises(EnvironmentFault, match=message):
        bench.collect(0 if guided else 10**6, 100)
    bench.close()


def test_a_simulator_that_hangs_is_seen(monkeypatch):
    """The clock is that of the running program: a chunk that has ended and is not fetched does not count."""
    bench = failing(monkeypatch, 2, 0, 25, "hang")
    bench.collect(10**6, 20)
    assert bench.compiled.busy() is None
    raised = []

    def run():
        try:
            envs.watched(1.0, [bench.compiled], lambda: bench.collect(10**6, 40))
        except EnvironmentFault as fault:
            raised.append(str(fault))

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    assert "HalfCheetah-v4 hangs in one of lanes 0 to 1: it did not return within 1 s" in raised[0]
    bench.close()
    assert bench.compiled.busy() is None


@pytest.mark.parametrize("what", ["made", "reset"])
def test_a_simulator_that_cannot_start_is_named_and_no_thread_is_left(what, monkeypatch):
    before = set(threading.enumerate())

    def broken(*args):
        raise RuntimeError("a mesh is missing")

    if what == "made":
        monkeypatch.setattr(CompiledEnvs, "_make", lambda self, lane, seeds: broken())
    else:
        monkeypatch.setattr(CompiledEnvs, "_flat", lambda self, obs, numpy: np.full((1, self.spec.obs), np.nan))
    message = "a mesh is missing" if what == "made" else "not finite"
    with pytest.raises(EnvironmentFault, match=rf"Hopper-v4 failed in lane 0, seed 7, the start: .*{message}"):
        Bench("compiled", "td3", "Hopper-v4", [7, 8], 10)
    left = [thread.name for thread in threading.enumerate() if thread not in before]
    assert [name for name in left if "lanes" in name or "weights" in name] == []


def test_no_thread_is_left():
    before = set(threading.enumerate())
    bench = Bench("compiled", "teen", "Hopper-v4", [0, 1], 10)
    bench.collect(20, 60)
    bench.close()
    assert [thread.name for thread in threading.enumerate() if thread not in before] == []
