"""The loop, seen through what it stores and reports."""

import os
import subprocess
import sys
import threading
from dataclasses import replace
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from teen import envs, nets, settings
from teen.algos import td3, teen
from teen.engine import acting, background, replay
from teen.engine.background import Diagnoser
from teen.engine.log import Log
from teen.engine.loop import Loop
from teen.engine.plan import Plan
from teen.engine.program import program
from teen.engine.trainer import Trainer
from teen.errors import EnvironmentFault
from teen.spec import Clock

PLAN = Plan(
    steps=60,
    warmup=20,
    batch=16,
    utd=1,
    buffer=1000,
    log_every=20,
    eval_every=30,
    eval_episodes=2,
    members_every=60,
    checkpoint_every=0,
    sync=7,
)
TEEN = teen.Config(n=3, epsilon=0.05, member=td3.Config(width=8, critics=1))


class Listener(Log):
    def __init__(self):
        self.metrics, self.episodes, self.steps, self.quarantine, self.diagnoses = {}, {}, [], {}, {}

    def stepped(self, step):
        self.steps.append(step)

    def trained(self, step, metrics):
        self.metrics[step] = metrics

    def evaluated(self, step, episodes):
        self.episodes[step] = episodes

    def diagnosed(self, step, lanes):
        self.diagnoses[step] = lanes

    def quarantined(self, lane, step, quantity):
        self.quarantine[lane] = step, quantity


def run(seeds, env="tests.toys:Counter-v0", plan=PLAN, cfg=TEEN, alphas=None, should_stop=lambda: False, crews=None):
    configs = [settings.replace(cfg, {"alpha": alpha}) for alpha in alphas or [cfg.alpha] * len(seeds)]
    training = [envs.make(env, count) for count in crews or [len(seeds)]]
    evaluation = envs.make(env, len(seeds) * 3)
    listener = Listener()
    lanes = settings.stacked(configs)
    end = Loop(teen.ALGORITHM, plan, seeds, lanes, training, evaluation, listener, should_stop).run()
    train, step = end.train, end.step
    assert end.fault is None
    layout = replay.Layout(evaluation.spec, teen.ALGORITHM.extras(cfg))
    rows = [layout.unpack(replay.Rows(lane[:step], jnp.arange(step)), 0.99) for lane in train.buffer]
    return train, rows, listener


@pytest.fixture(scope="module")
def counter():
    return run([7, 9])


def test_stored_rows_are_the_true_transitions(counter):
    """Counter's episodes last 3 steps (terminated), then 5 (time limit), in turn."""
    _, rows, _ = counter
    for seed, lane in zip([7, 9], rows, strict=True):
        assert (lane.obs[:, 0] == seed).all()
        assert (lane.next_obs[:, 0] == seed).all()
        expected = [1, 2, 3, 1, 2, 3, 4, 5] * 8
        np.testing.assert_array_equal(lane.next_obs[:, 1], expected[:60])
        np.testing.assert_array_equal(lane.reward, expected[:60])
        np.testing.assert_array_equal(lane.obs[:, 1], np.array(expected[:60]) - 1)
        # a time limit is stored as going on, a termination as the end
        ends = ([0, 0, 1, 0, 0, 0, 0, 0] * 8)[:60]
        np.testing.assert_array_equal(lane.discount == 0, ends)


def test_a_time_limit_bootstraps_and_a_termination_does_not(counter):
    """The two stored last steps of an episode, put through the update's own target with Q' = 10."""
    train, rows, _ = counter
    state = jax.tree.map(lambda leaf: leaf[0], train.state)
    flat = jax.tree.map(jnp.zeros_like, state.members.target_critics)
    constant = (*flat[:-1], flat[-1]._replace(bias=jnp.full_like(flat[-1].bias, 10.0)))
    state = state._replace(members=state.members._replace(target_critics=constant))
    update = jax.jit(partial(teen.update, TEEN))
    for index, target in ((2, 3.0), (7, 5 + 0.99 * 10)):  # terminated after 3 steps; time limit after 5
        batch = jax.tree.map(lambda leaf: leaf[index : index + 1], rows[0])  # noqa: B023
        noise = teen.draw(TEEN, jax.random.key(0), 1, replay.Spec(2, 2))
        clock = Clock(jnp.array(1), jnp.array(1), jnp.array(0), jnp.array(True))
        _, losses = update(state, batch, clock, noise)
        assert losses["target"] == pytest.approx(target)


def test_warm_up_is_nobodys_and_a_member_acts_for_whole_episodes(counter):
    _, rows, _ = counter
    acting = set()
    for lane in rows:
        z = np.array(lane.extras["z"][:, 0])
        assert (z[: PLAN.warmup] == -1).all()
        assert (z[PLAN.warmup :] >= 0).all()
        starts = np.flatnonzero(np.array(lane.obs[:, 1]) == 0)
        for begin, end in zip(starts, [*starts[1:], len(z)], strict=True):
            episode = z[max(begin, PLAN.warmup) : end]
            assert len(set(episode)) <= 1
            acting |= set(episode)
    assert acting == {0, 1, 2}


def test_warm_up_actions_are_uniform_and_nothing_is_learnt(counter):
    plan = replace(PLAN, steps=400, warmup=400, eval_every=400)
    train, rows, listener = run([0], plan=plan)
    assert int(train.gradient_step) == 0
    assert listener.metrics == {}
    action = np.array(rows[0].action)
    assert np.abs(action).max() <= 1
    np.testing.assert_allclose(action.mean(0), 0, atol=0.1)
    np.testing.assert_allclose(action.std(0), 1 / np.sqrt(3), rtol=0.1)
    assert int(counter[0].gradient_step) == PLAN.steps - PLAN.warmup


def test_logs_and_evaluations_come_when_planned(counter):
    _, _, listener = counter
    assert list(listener.metrics) == [40, 60]
    assert all(np.isfinite(m).all() and m.shape == (2,) for m in listener.metrics[40].values())
    assert list(listener.episodes) == [30, 60]
    policies = [[e.policy for e in lane] for lane in listener.episodes[60]]
    assert policies == [["mean", "mean", "0", "1", "2"]] * 2
    assert [e.policy for e in listener.episodes[30][0]] == ["mean", "mean"]
    assert listener.steps == list(range(5, 61, 5))  # 5 divides every interval, 6 and 7 do not
    lengths = {e.length for lanes in listener.episodes.values() for lane in lanes for e in lane}
    assert lengths <= {3, 5}


def test_the_same_seeds_twice_are_identical(counter):
    again = run([7, 9])
    np.testing.assert_array_equal(again[0].buffer, counter[0].buffer)
    for a, b in zip(jax.tree.leaves(again[0].state), jax.tree.leaves(counter[0].state), strict=True):
        np.testing.assert_array_equal(a, b)
    assert again[2].episodes == counter[2].episodes


def test_a_lane_alone_equals_the_lane_among_ten():
    env = "tests.toys:PointMass-v0"
    alone, alone_rows, alone_log = run([5], env)
    among, among_rows, among_log = run(list(range(10)), env)
    for a, b in zip(jax.tree.leaves(alone.state), jax.tree.leaves(among.state), strict=True):
        np.testing.assert_allclose(a[0], b[5], rtol=1e-4, atol=1e-5)
    a, b = alone_rows[0], among_rows[5]
    # the warm-up depends on the lane's own streams alone, bit for bit
    np.testing.assert_array_equal(a.obs[: PLAN.warmup], b.obs[: PLAN.warmup])
    np.testing.assert_array_equal(a.action[: PLAN.warmup], b.action[: PLAN.warmup])
    np.testing.assert_array_equal(a.extras["z"], b.extras["z"])
    np.testing.assert_allclose(a.obs, b.obs, atol=1e-4)
    np.testing.assert_allclose(a.action, b.action, atol=1e-4)
    ours, theirs = alone_log.episodes[60][0], among_log.episodes[60][5]
    np.testing.assert_allclose([e.score for e in ours], [e.score for e in theirs], rtol=1e-3)
    assert not np.allclose(among_rows[4].obs, b.obs)


def test_variants_are_lanes_with_numbers_of_their_own():
    """Lanes (alpha 0, seed 3) and (alpha 50, seed 3) start alike and part once actors are regularised."""
    env, cfg = "tests.toys:PointMass-v0", teen.Config(n=3, epsilon=0.001, member=TEEN.member)
    train, rows, _ = run([3, 3], env, cfg=cfg, alphas=[0.0, 50.0])
    _, plain, _ = run([3], env, cfg=cfg, alphas=[0.0])
    np.testing.assert_array_equal(rows[0].obs[: PLAN.warmup + 1], rows[1].obs[: PLAN.warmup + 1])
    np.testing.assert_allclose(rows[0].action, plain[0].action, atol=1e-4)
    actor = train.state.members.actor[0].weight
    assert float(jnp.abs(actor[0] - actor[1]).max()) > 1e-4


def test_training_stops_when_asked():
    count = iter(range(1000))
    train, _, listener = run([7, 9], should_stop=lambda: next(count) >= 7)
    assert int(train.env_step) == 35
    assert listener.steps[-1] == 35


def test_every_program_is_compiled_once(counter):
    layout = replay.Layout(replay.Spec(2, 2), teen.ALGORITHM.extras(TEEN))
    functions = program(teen.ALGORITHM, layout, PLAN.batch, PLAN.utd, PLAN.precision, PLAN.n_step)
    sizes = {
        name: getattr(functions, name)._cache_size() for name in ("store", "learn", "probe", "flat_actor", "draw_act")
    }
    run([7, 9])
    run([7, 9], alphas=[0.0, 0.5])  # numbers are arguments of the same program
    assert sizes == {name: getattr(functions, name)._cache_size() for name in sizes}
    assert sizes["learn"] == 1  # the tests on this layout learn with two lanes only


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        ({}, [(PLAN.chunk(), True)]),
        ({"log_every": 10**9}, [(PLAN.chunk(), False)]),  # as where speed is measured
        ({"warmup": PLAN.steps}, []),
    ],
    ids=["learning and metrics", "no metrics", "random actions alone"],
)
def test_what_is_needed_is_compiled_ahead(changed, expected, monkeypatch):
    asked = []
    monkeypatch.setattr(Trainer, "compile_ahead", lambda trainer, chunk, metrics: asked.append((chunk, metrics)))
    run([7, 9], plan=replace(PLAN, **changed))
    assert asked == expected


@pytest.mark.parametrize(("sync", "age"), [(1, 0), (7, 5)], ids=["strictly in turn", "in chunks of 5"])
def test_how_old_the_acting_weights_are(sync, age):
    """The noiseless action of step 50 is that of the learner as it was `age` steps before."""
    plan, cfg = replace(PLAN, sync=sync), teen.Config(n=3, epsilon=0.05, member=td3.Config(width=8, noise=0.0))
    chunk = plan.chunk()

    def until(step):
        count = iter(range(1000))
        return run([4], "tests.toys:PointMass-v0", plan, cfg, should_stop=lambda: next(count) * chunk >= step)

    _, rows, _ = until(60)
    train, _, _ = until(50 - age)
    weights = teen.weights(cfg, jax.tree.map(lambda leaf: leaf[0], train.state))
    actor = teen.ALGORITHM.actor(cfg, weights, rows[0].extras["z"][50, 0].astype(int))
    by_hand = np.tanh(nets.mlp(actor, rows[0].obs[50:51]))
    np.testing.assert_allclose(rows[0].action[50], by_hand[0], rtol=1e-5)
    assert not np.allclose(rows[0].action[50], rows[0].action[49])


SECOND_DEVICE = """
import sys, jax
import tests.toys
from teen.engine import acting
jax.config.update("jax_default_device", jax.devices("cpu")[1])
from tests.engine.test_loop import run
acting.FETCHED_BYTES = int(sys.argv[1])
train, rows, listener = run([7, 9])
assert train.buffer.device == jax.devices("cpu")[1]
print(listener.episodes[60][1][0].score, float(train.state.members.actor[0].weight.sum()))
"""


@pytest.mark.parametrize("fetched", [2**21, 0], ids=["weights fetched", "weights stay there"])
def test_the_learner_may_live_on_another_device_than_the_host(counter, fetched):
    """As with a GPU: acting on one device, learning on another, gives what one device gives."""
    environment = {**os.environ, "XLA_FLAGS": "--xla_force_host_platform_device_count=2", "PYTHONPATH": "src:."}
    done = subprocess.run(
        [sys.executable, "-c", SECOND_DEVICE, str(fetched)],
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    score, total = map(float, done.stdout.split())
    assert score == counter[2].episodes[60][1][0].score
    assert total == pytest.approx(float(counter[0].state.members.actor[0].weight.sum()), rel=1e-4)


def test_crews_that_take_turns_change_nothing():
    env = "tests.toys:PointMass-v0"
    together, apart = run([1, 2, 3], env), run([1, 2, 3], env, crews=[2, 1])
    np.testing.assert_array_equal(together[0].buffer, apart[0].buffer)
    for a, b in zip(jax.tree.leaves(together[0].state), jax.tree.leaves(apart[0].state), strict=True):
        np.testing.assert_array_equal(a, b)


def test_a_fault_in_a_crew_names_the_programs_lane():
    lanes = [envs.Lanes(envs.make("tests.toys:Faulty-raises-v0", 1), [seed], first=i) for i, seed in enumerate((2, 3))]
    for _ in range(24):
        for crew in lanes:
            crew.step(np.zeros((1, 1)))
    with pytest.raises(EnvironmentFault, match="lane 1, seed 3, step 25"):
        lanes[1].step(np.zeros((1, 1)))


def test_a_replay_in_host_memory_trains_alike(counter):
    train, _, listener = run([7, 9], plan=replace(PLAN, replay="host", utd=2))
    expected, _, expected_log = run([7, 9], plan=replace(PLAN, utd=2))
    assert train.buffer.size == 0
    assert int(train.gradient_step) == int(expected.gradient_step) == 80
    assert int(train.env_step) == 60
    for a, b in zip(jax.tree.leaves(train.state), jax.tree.leaves(expected.state), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5)
    for name, values in expected_log.metrics[60].items():
        np.testing.assert_allclose(listener.metrics[60][name], values, rtol=1e-3, atol=1e-5, err_msg=name)


def test_nothing_is_compiled_once_training_is_under_way():
    """From the first evaluation and log on, whatever chunk, episode or evaluation follows."""
    compiled = []
    jax.monitoring.register_event_duration_secs_listener(
        lambda event, seconds, **_: compiled.append(event) if event.endswith("backend_compile_duration") else None
    )
    before = {}

    class Counting(Log):
        def stepped(self, step):
            before[step] = len(compiled)

    lanes = settings.stacked([teen.Config(n=3, member=td3.Config(width=9, critics=1))] * 2)
    plan = replace(PLAN, steps=240, members_every=30)
    pools = [envs.make("tests.toys:Counter-v0", 2)], envs.make("tests.toys:Counter-v0", 6)
    Loop(teen.ALGORITHM, plan, [7, 9], lanes, *pools, Counting()).run()
    jax.monitoring.clear_event_listeners()
    assert before[60] > 5
    assert before[240] == before[90]


def test_evaluation_does_not_stop_training(monkeypatch):
    """The evaluation of step 30 ends only after step 55 has been trained: were it waited for, it never would."""
    passed, original = threading.Event(), background.evaluate

    def late(algo, config, weights, pool, seeds, step, *rest, **options):
        assert step > 30 or passed.wait(60), "training waited for the evaluation"
        return original(algo, config, weights, pool, seeds, step, *rest, **options)

    monkeypatch.setattr(background, "evaluate", late)
    monkeypatch.setattr(Listener, "stepped", lambda self, step: passed.set() if step == 55 else None)
    _, _, listener = run([7, 9])
    assert list(listener.episodes) == [30, 60]
    monkeypatch.undo()
    assert listener.episodes == run([7, 9])[2].episodes  # and says what it would have said at once


@pytest.mark.parametrize("precision", ["float32", "bf16"])
def test_precision_keeps_its_promise(precision):
    """On a CPU, tf32 is float32 to the bit. bf16 rounds what is multiplied, 8 bits: weights stay within a few per cent
    of the distance that they have moved."""
    env = "tests.toys:PointMass-v0"
    start, _, _ = run([7], env, replace(PLAN, steps=20, eval_every=20))
    exact, _, _ = run([7], env)
    other, _, _ = run([7], env, replace(PLAN, precision=precision))

    def weights(train):
        members = train.state.members
        return np.concatenate([np.ravel(x) for x in jax.tree.leaves((members.actor, members.critics))])

    off = np.linalg.norm(weights(other) - weights(exact)) / np.linalg.norm(weights(exact) - weights(start))
    if precision == "float32":
        assert off == 0
    else:
        assert 0 < off < 0.3


def test_the_learner_is_not_asked_for_weights_during_the_warm_up(monkeypatch):
    """Episodes of three steps would ask it in every chunk, and wait for the answer."""
    asked = []
    original = acting.OnHost.ask
    monkeypatch.setattr(acting.OnHost, "ask", lambda self, *args: asked.append(1) or original(self, *args))
    run([7, 9], plan=replace(PLAN, steps=400, warmup=400, eval_every=400))
    assert len(asked) == 1


def test_diagnoses_come_when_planned_beside_evaluations_and_without():
    """Every 20 steps and at the end; evaluations every 30 steps. Each sees the weights of its own step."""
    seen = []

    def diagnose(config, weights, pool, seeds, step, lanes, wanted):
        assert wanted()
        assert config.alpha.shape == (2,)
        seen.append((step, len(jax.tree.leaves(weights)[0]), list(lanes)))
        return [[("steps", float(step))] for _ in seeds]

    pools = [envs.make("tests.toys:Counter-v0", 2)], envs.make("tests.toys:Counter-v0", 6)
    listener, plan = Listener(), replace(PLAN, diagnose_every=20)
    diagnoser = Diagnoser(envs.make("tests.toys:Counter-v0", 2), diagnose)
    Loop(teen.ALGORITHM, plan, [7, 9], settings.stacked([TEEN] * 2), *pools, listener, diagnoser=diagnoser).run()
    assert seen == [(step, 2, [0, 1]) for step in (20, 40, 60)]
    assert listener.diagnoses == {step: [[("steps", step)]] * 2 for step in (20, 40, 60)}
    assert list(listener.episodes) == [30, 60]


@pytest.mark.parametrize("slow", ["diagnosis", "evaluation"])
def test_neither_evaluations_nor_diagnoses_wait_for_each_other(slow, monkeypatch):
    """Of 160 steps, a diagnosis every 80 and an evaluation every 20, or the other way round: the slow one of step 80
    ends only when the quick ones of steps 80 to 120 have been logged, and step 155 has been trained."""
    logged, original = [], background.evaluate
    quick = "evaluated" if slow == "diagnosis" else "diagnosed"
    passed = threading.Event()

    def hold(kind, step):
        if kind == slow and step == 80:
            assert passed.wait(60), f"a slow {slow} held up the rest"

    def evaluate(algo, config, weights, pool, seeds, step, *rest, **options):
        hold("evaluation", step)
        return original(algo, config, weights, pool, seeds, step, *rest, **options)

    def diagnose(config, weights, pool, seeds, step, lanes, wanted):
        hold("diagnosis", step)
        return [[("steps", float(step))] for _ in seeds]

    class Watching(Listener):
        def stepped(self, step):
            if step == 155 and {80, 100, 120} <= {at for kind, at in logged if kind == quick}:
                passed.set()

        def evaluated(self, step, episodes):
            super().evaluated(step, episodes)
            logged.append(("evaluated", step))

        def diagnosed(self, step, lanes):
            super().diagnosed(step, lanes)
            logged.append(("diagnosed", step))

    monkeypatch.setattr(background, "evaluate", evaluate)
    pools = [envs.make("tests.toys:Counter-v0", 2)], envs.make("tests.toys:Counter-v0", 6)
    listener, often = Watching(), {"eval_every": 20, "diagnose_every": 80}
    if slow == "evaluation":
        often = {"eval_every": 80, "diagnose_every": 20}
    diagnoser = Diagnoser(envs.make("tests.toys:Counter-v0", 2), diagnose)
    plan = replace(PLAN, steps=160, members_every=160, **often)
    Loop(teen.ALGORITHM, plan, [7, 9], settings.stacked([TEEN] * 2), *pools, listener, diagnoser=diagnoser).run()
    assert passed.is_set()
    assert list(listener.episodes) == list(range(often["eval_every"], 161, often["eval_every"]))
    assert list(listener.diagnoses) == list(range(often["diagnose_every"], 161, often["diagnose_every"]))
