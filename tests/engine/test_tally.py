"""Returns and lengths of training episodes, against numbers worked out by hand."""

from dataclasses import replace

import numpy as np
import pytest

from teen import algos, envs
from teen.algos import td3
from teen.engine.loop import Loop, Start
from teen.engine.replay import Layout
from teen.engine.tally import LENGTH, RETURN, Tally
from teen.settings import stacked
from teen.spec import Spec
from tests.engine.collecting import SCALE, Bench
from tests.engine.test_loop import PLAN, Listener

LAYOUT = Layout(Spec(2, 1), (("z", 1),))
CONFIG = td3.Config(width=8, critics=1)
PLANNED = replace(
    PLAN, steps=300, buffer=100, log_every=50, eval_every=300, eval_episodes=1, checkpoint_every=300, sync=10
)


class Keep:
    """The last checkpoint, in memory."""

    def __call__(self, step, snapshot, rows):
        self.kept = Start(step, snapshot, [(first, block.copy()) for first, block in rows(max(0, step - 100), step)])

    def written(self):
        return None


def means(env, plan=PLAN, repeat=1, lanes=2, **options):
    """Return what is told of two lanes at each step: (returns, lengths)."""
    pools = [envs.make(f"tests.toys:{env}", count, "auto", repeat) for count in (lanes, 2 * lanes)]
    listener, config = Listener(), stacked([CONFIG] * lanes)
    end = Loop(algos.find("td3"), plan, range(lanes), config, pools[:1], pools[1], listener, **options).run()
    assert end.fault is None
    return {step: (told[RETURN].tolist(), told[LENGTH].tolist()) for step, told in listener.metrics.items()}


def test_means_of_the_episodes_since_the_last_row():
    """Counter's rewards are 1, 2, 3 (terminated), then 1 to 5 (time limit), in turn: ends after 3, 8, 11, 16, … steps,
    10 of them up to step 40, those of the warm-up among them; then after 43, 48, 51, 56 and 59."""
    assert means("Counter-v0") == {40: ([10.5, 10.5], [4.0, 4.0]), 60: ([9.6, 9.6], [3.8, 3.8])}


@pytest.mark.parametrize("scale", [0.1, -3.0, 0.0])
def test_rewards_are_the_environments_own(scale):
    assert means("Counter-v0", reward_scale=scale)[40] == ([10.5, 10.5], [4.0, 4.0])


def test_a_repeated_action_is_one_step_as_in_an_evaluation():
    """3 and 5 steps of Counter are 2 and 3 actions: ends after 2, 5, 7, 10, … actions, 16 of them up to step 40."""
    assert means("Counter-v0", repeat=2)[40] == ([10.5, 10.5], [2.5, 2.5])


def test_where_no_episode_ended_there_is_no_mean():
    """PointMass's last 40 steps."""
    told = means("PointMass-v0", replace(PLANNED, log_every=10))
    ended = {step: lengths for step, (_, lengths) in told.items() if step % 40 == 0}
    assert ended == {step: [40, 40] for step in range(40, 300, 40)}
    others = [values for step, values in told.items() if step not in ended]
    assert len(others) == 21
    assert np.isnan(others).all()


def rows(ended, rewards):
    """Return packed transitions of these (step, lane) ends and rewards. All else is not to be counted."""
    packed = np.full((*np.shape(ended), LAYOUT.packed), 99, np.float32)
    packed[..., 5], packed[..., LAYOUT.width + 1] = ended, rewards
    return packed


def test_steps_may_fall_into_chunks_in_any_way():
    """Also the last bits agree, with plain sums from step to step."""
    rng = np.random.default_rng(0)
    ended, rewards = rng.random((600, 3)) < [0.3, 0.02, 0], rng.normal(size=(600, 3)).astype(np.float32)
    packed = rows(ended, rewards)
    expected = []
    for lane in range(3):
        scores, score = [], 0.0
        for end, reward in zip(ended[:, lane], rewards[:, lane].astype(float), strict=True):
            score += reward
            if end:
                scores.append(score)
                score = 0.0
        expected.append(sum(scores) / len(scores) if scores else np.nan)
    for chunk in (1, 7, 50, 600):
        tally = Tally(LAYOUT, 3)
        for first in range(0, 600, chunk):
            tally.add(packed[first : first + chunk])
        taken = tally.take()
        np.testing.assert_array_equal(taken[RETURN], expected)
        ends = np.flatnonzero(ended[:, 1])
        assert taken[LENGTH][1] == (ends[-1] + 1) / len(ends)
        assert np.isnan(tally.take()[RETURN]).all()  # once taken, they are gone


def test_a_tally_goes_on_from_its_snapshot():
    """Lane 0 goes on, lane 1 has to begin again: what it had in its episode is lost, and does not count."""
    tally = Tally(LAYOUT, 2)
    tally.add(rows([[0, 0], [1, 1], [0, 0]], [[1, 1], [2, 2], [4, 4]]))
    snapshot = tally.snapshot()
    later = Tally(LAYOUT, 2)
    later.restore(snapshot, np.array([1, 2]))
    later.add(rows([[0, 0], [1, 1]], [[8, 8], [16, 16]]))
    means = later.take()
    assert means[RETURN].tolist() == [(3 + 28) / 2, (3 + 24) / 2]
    assert means[LENGTH].tolist() == [2.5, 2]


def test_without_a_snapshot_the_episode_under_way_does_not_count():
    tally = Tally(LAYOUT, 1)
    tally.restore(None, np.array([7]))
    tally.add(rows([[0], [1], [0]], [[1], [2], [4]]))
    assert np.isnan(tally.take()[RETURN]).all()
    tally.add(rows([[1]], [[8]]))
    means = tally.take()
    assert (means[RETURN].tolist(), means[LENGTH].tolist()) == ([12.0], [2.0])


@pytest.mark.parametrize("damage", ["missing", "lanes", "kind"])
def test_a_snapshot_of_something_else_is_refused(damage):
    arrays = dict(Tally(LAYOUT, 3 if damage == "lanes" else 2).snapshot().arrays)
    if damage == "missing":
        del arrays["count"]
    if damage == "kind":
        arrays["count"] = arrays["count"].astype(float)
    with pytest.raises(ValueError, match="should be"):
        Tally(LAYOUT, 2).restore(Tally(LAYOUT, 2).snapshot()._replace(arrays=arrays), np.zeros(2, int))


@pytest.mark.parametrize("older", [False, True], ids=["", "older"])
def test_a_run_that_is_cut_in_an_episode_and_between_two_rows_goes_on(older):
    """At step 130, PointMass has taken 10 of 40 steps. An older checkpoint does not know what they gave."""
    whole, keep = means("PointMass-v0", PLANNED), Keep()
    cut = means("PointMass-v0", replace(PLANNED, steps=130), keep=keep)
    start = keep.kept
    if older:
        facts = {name: part for name, part in start.snapshot.facts.items() if name not in ("tally", "best")}
        arrays = {
            name: array for name, array in start.snapshot.arrays.items() if not name.startswith(("tally/", "best/"))
        }
        start = start._replace(snapshot=start.snapshot._replace(arrays=arrays, facts=facts))
    told = {**cut, **means("PointMass-v0", PLANNED, start=start)}
    assert list(told) == list(whole) == [50, 100, 150, 200, 250, 300]
    assert [step for step in whole if not np.array_equal(told[step], whole[step])] == ([150, 200] if older else [])
    assert [lengths[0] for _, lengths in whole.values()] == [40] * 6


def test_an_episode_that_begins_again_counts_from_there():
    """Opaque's cannot be saved: from step 130 on its episodes end at 170, 210, 250 and 290."""
    keep = Keep()
    means("Opaque-v0", replace(PLANNED, steps=130), keep=keep)
    told = means("Opaque-v0", PLANNED, start=keep.kept)
    assert {step: lengths for step, (_, lengths) in told.items()} == {step: [40, 40] for step in (150, 200, 250, 300)}


def test_both_collectors_give_the_same_means():
    """Hopper's warm-up, which draws the same actions. Seven lanes are two programs."""
    told = {}
    for kind in ("python", "compiled"):
        bench = Bench(kind, "td3", "Hopper-v4", [3, 1, 4, 1, 5, 9, 2], 10)
        packed, layout = bench.collect(300, 300), bench.layout
        tally = Tally(layout, 7)
        tally.add(packed)
        told[kind] = tally.take()
        bench.close()
        reward = packed[..., sum(layout.spec)]
        np.testing.assert_allclose(packed[..., layout.own_reward] * SCALE, reward, rtol=1e-6)
    for name, values in told["python"].items():
        assert np.isfinite(values).all()
        np.testing.assert_array_equal(values, told["compiled"][name])
