"""Against numbers worked out by hand, and against rliable (Agarwal et al. 2021)."""

import warnings
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import t as student
from scipy.stats import ttest_ind

from teen.report import runs, statistics

NAN = np.nan


@pytest.fixture(scope="module")
def rliable():
    """Its library and metrics."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from rliable import library, metrics
    return library, metrics


@pytest.fixture
def theirs(rliable):
    """rliable's interval. It draws from NumPy's global stream, whatever random state it is given."""
    before = np.random.get_state()
    np.random.seed(0)

    def interval(scores, metric, resamples):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            values, ends = rliable[0].get_interval_estimates(
                {"x": scores}, lambda *tasks: np.array([metric(*tasks)]), reps=resamples
            )
        return statistics.Interval(values["x"].item(), *ends["x"].ravel().tolist())

    yield interval
    np.random.set_state(before)


def run(returns, every=5_000) -> runs.Run:
    returns = np.array(returns, float)
    seeds, evaluations = returns.shape
    steps = every * np.arange(1, evaluations + 1)
    return runs.Run(Path("r"), {}, {}, list(range(seeds)), steps, returns, np.ones_like(returns), {}, {})


def bootstrap(scores, statistic, resamples=2000) -> statistics.Interval:
    """Of any statistic, one resample after the other: each task is drawn from by itself."""
    rng = np.random.default_rng(0)
    draws = [rng.integers(len(task), size=(resamples, len(task))) for task in scores]
    values = [statistic([task[draw[i]] for task, draw in zip(scores, draws, strict=True)]) for i in range(resamples)]
    return statistics.Interval(statistic(scores), *np.quantile(values, (0.025, 0.975)).tolist())


def same_within_chance(ours, other, spread, share=0.15):
    """Both ends, to a part of the resampled statistic's standard deviation: with 20,000 and 5,000 resamples an end is
    known to about 0.04 of it."""
    assert ours.value == pytest.approx(other.value)
    np.testing.assert_allclose([ours.low, ours.high], [other.low, other.high], atol=share * spread)


def test_last_mean_looks_at_the_steps_of_its_window():
    ours = run([np.arange(1, 21), np.arange(2, 41, 2)])
    np.testing.assert_array_equal(statistics.last_mean(ours, 100_000), [15.5, 31])  # 55k to 100k: the 11th to the 20th
    np.testing.assert_array_equal(statistics.last_mean(ours, 60_000), [7.5, 15])
    np.testing.assert_array_equal(statistics.last_mean(ours, 59_999), [6.5, 13])  # 10k to 55k
    np.testing.assert_array_equal(statistics.last_mean(ours, 20_000), [2.5, 5])
    np.testing.assert_array_equal(statistics.last_mean(ours, 4_999), [NAN, NAN])


def test_last_mean_of_rare_evaluations_is_the_last_one():
    rare = run([[1, 2, 3], [4, NAN, NAN]], every=100_000)
    np.testing.assert_array_equal(statistics.last_mean(rare, 265_000), [2, NAN])
    np.testing.assert_array_equal(statistics.last_mean(rare, 199_999), [1, 4])
    np.testing.assert_array_equal(statistics.last_mean(rare, 99_999), [NAN, NAN])


def test_seeds_that_stopped():
    ours = run([[1, 5, 3, 4], [9, 2, NAN, NAN], [NAN] * 4], every=25_000)
    np.testing.assert_array_equal(statistics.last_mean(ours, 100_000), [3.5, NAN, NAN])  # of 75k and 100k
    np.testing.assert_array_equal(statistics.last_mean(ours, 75_000), [4, 2, NAN])
    np.testing.assert_array_equal(statistics.best_so_far(ours, 100_000), [5, 9, NAN])
    np.testing.assert_array_equal(statistics.point(ours, 100_000), [4, NAN, NAN])
    np.testing.assert_array_equal(statistics.point(ours, 74_999), [5, 2, NAN])


def test_best_and_point_look_no_further():
    ours = run([[1, 5, 3, 7], [-4, -3, -2, -1]])
    np.testing.assert_array_equal(statistics.best_so_far(ours, 15_000), [5, -2])
    np.testing.assert_array_equal(statistics.point(ours, 15_000), [3, -2])
    np.testing.assert_array_equal(statistics.point(ours, 19_999), [3, -2])
    np.testing.assert_array_equal(statistics.point(ours, 10**9), [7, -1])
    for none in (statistics.best_so_far, statistics.point):
        np.testing.assert_array_equal(none(ours, 4_999), [NAN, NAN])


def test_a_run_without_evaluations():
    nothing = run(np.zeros((0, 0)))
    for score in (statistics.last_mean, statistics.best_so_far, statistics.point):
        assert score(nothing, 10).shape == (0,)


@pytest.mark.parametrize(
    ("scores", "value"),
    [
        ([7], 7),
        ([1, 2, 6], 3),  # a quarter of three is less than one: all count
        ([1000, 1, 2, 3], 2.5),
        ([9, 1, 2, 3, -50], 2),
        ([[0, 0, 1, 2], [3, 10, 100, 1000]], 4),  # (1 + 2 + 3 + 10) / 4
        (range(1, 11), 5.5),
    ],
)
def test_iqm_by_hand(scores, value):
    assert statistics.iqm(np.array(scores)) == pytest.approx(value)


@pytest.mark.parametrize("shape", [(1, 1), (3, 1), (5, 2), (10, 7), (11, 3)])
def test_iqm_is_rliables(rliable, shape):
    scores = np.random.default_rng(0).standard_cauchy(shape)
    assert statistics.iqm(scores) == pytest.approx(rliable[1].aggregate_iqm(scores), rel=1e-12)


def test_sample_std_by_hand():
    assert statistics.sample_std(np.array([2.0, 4, 9])) == pytest.approx(13**0.5)  # (9 + 1 + 16) / 2
    assert statistics.sample_std(np.array([3.0, 3])) == 0
    assert statistics.sample_std(np.array([3.0])) is statistics.sample_std(np.zeros(0)) is None


def test_intervals_by_hand():
    """Two seeds: the mean of a resample is 0, 1 or 2 with odds of 1 : 2 : 1."""
    scores = [np.array([0.0, 2.0])]
    assert statistics.iqm_interval(scores) == (1, 0, 2)
    mostly = [np.array([0.0, 0.0, 0.0, 0.0, 1.0])]  # 5.8 % of resamples have three ones or more, 0.7 % four or more
    assert statistics.iqm_interval(mostly).high == pytest.approx(2 / 3)  # of three, two are in the middle
    assert statistics.iqm_interval([np.array([3.0])]) == (3, 3, 3)


def test_the_fast_interval_is_the_general_one():
    rng = np.random.default_rng(1)
    scores = [rng.normal(size=size) for size in (10, 7, 3)]
    general = bootstrap(scores, lambda tasks: statistics.iqm(np.concatenate(tasks)))
    assert statistics.iqm_interval(scores) == pytest.approx(general)
    assert statistics.iqm_interval(scores, seed=1) != statistics.iqm_interval(scores)
    assert statistics.iqm_interval(scores) == statistics.iqm_interval(scores)


@pytest.mark.parametrize("shape", [(10, 1), (6, 4)])
def test_intervals_are_rliables(rliable, theirs, shape):
    scores = np.random.default_rng(2).normal(size=shape) * np.arange(1, shape[1] + 1)
    tasks = list(scores.T)
    ours = statistics.iqm_interval(tasks, 20_000)
    spread = (ours.high - ours.low) / 4
    same_within_chance(ours, theirs(scores, rliable[1].aggregate_iqm, 5_000), spread)


def test_probability_of_improvement_by_hand():
    x, y = np.array([1, 2, 3]), np.array([0, 2])  # of 6 pairs: 4 won, 1 a tie
    assert statistics.probability_of_improvement([x], [y]).value == pytest.approx(4.5 / 6)
    assert statistics.probability_of_improvement([y], [x]).value == pytest.approx(1.5 / 6)
    both = statistics.probability_of_improvement([x, x], [y, x])
    assert both.value == pytest.approx((0.75 + 0.5) / 2)
    assert 0 <= both.low < both.value < both.high <= 1
    assert statistics.probability_of_improvement([x + 9], [y]) == (1, 1, 1)
    assert statistics.probability_of_improvement([y], [x + 9]) == (0, 0, 0)


def test_probability_of_improvement_is_rliables(rliable, theirs):
    rng = np.random.default_rng(3)
    x, y = rng.integers(0, 9, (8, 3)), rng.integers(-1, 8, (6, 3))  # with ties
    ours = statistics.probability_of_improvement(list(x.T), list(y.T), 20_000)
    other = theirs([x, y], rliable[1].probability_of_improvement, 1_500)
    same_within_chance(ours, other, (ours.high - ours.low) / 4, share=0.25)


def test_probability_of_improvement_resamples_both_sides_by_themselves():
    rng = np.random.default_rng(4)
    x, y = [rng.normal(size=7), rng.normal(size=5)], [rng.normal(size=4), rng.normal(size=9)]

    def share_won(tasks):
        return float(np.mean([np.mean(one[:, None] > other) for one, other in zip(tasks[:2], tasks[2:], strict=True)]))

    ours = statistics.probability_of_improvement(x, y, 20_000)
    general = bootstrap([*x, *y], share_won, 5_000)
    same_within_chance(ours, general, (ours.high - ours.low) / 4)


def test_tasks_must_match():
    with pytest.raises(ValueError, match="zip"):
        statistics.probability_of_improvement([np.ones(3)], [np.ones(3), np.ones(3)])


def test_a_seed_without_a_score_is_dropped_from_its_task():
    whole, holed = [np.array([1.0, 2, 5]), np.array([7.0, 9])], [np.array([1, NAN, 2, 5]), np.array([7, 9, NAN])]
    assert statistics.iqm_interval(holed) == statistics.iqm_interval(whole)
    other = [np.array([3.0, 4]), np.array([8.0])]
    ours = statistics.probability_of_improvement(holed, other)
    assert ours == statistics.probability_of_improvement(whole, other)
    assert ours.value == pytest.approx((1 / 3 + 1 / 2) / 2)


@pytest.mark.parametrize("scores", [[], [np.ones(3), np.full(2, NAN)], [np.ones(3), np.zeros(0)]], ids=range(3))
def test_a_task_without_seeds_leaves_nothing_to_say(scores):
    intervals = [
        statistics.iqm_interval(scores),
        statistics.probability_of_improvement(scores, [np.ones(3)] * len(scores)),
        statistics.probability_of_improvement([np.ones(3)] * len(scores), scores),
    ]
    assert np.isnan(intervals).all()


def test_curve_by_hand():
    returns = np.array([[0, 5, 1, NAN], [2, NAN, 1, NAN]])
    for part, wanted in zip(
        statistics.iqm_curve(returns), ([1, 5, 1, NAN], [0, 5, 1, NAN], [2, 5, 1, NAN]), strict=True
    ):
        np.testing.assert_array_equal(part, wanted)
    assert [part.shape for part in statistics.iqm_curve(np.zeros((0, 3)))] == [(3,)] * 3
    assert [part.shape for part in statistics.iqm_curve(np.zeros((0, 0)))] == [(0,)] * 3


def test_curve_is_the_interval_of_each_evaluation():
    returns = np.random.default_rng(5).normal(size=(10, 6)) * np.arange(1, 7)
    returns[3, 2:] = NAN
    returns[[0, 8], 4] = NAN
    curve, low, high = statistics.iqm_curve(returns, 20_000)
    for k in range(6):
        ours = statistics.Interval(curve[k], low[k], high[k])
        alone = statistics.iqm_interval([returns[:, k]], 20_000, seed=7)
        same_within_chance(ours, alone, (alone.high - alone.low) / 4, share=0.1)


def test_the_difference_is_welchs():
    """Against SciPy's test, and by hand: means 3 and 1, variances of the means 2/2 and 8/2, freedom 25 / (1 + 16)."""
    rng = np.random.default_rng(0)
    for seeds in ((2, 9), (5, 5), (10, 3)):
        x, y = (rng.normal(3, spread, size) for spread, size in zip((1, 4), seeds, strict=True))
        theirs = ttest_ind(x, y, equal_var=False).confidence_interval()
        ours = statistics.difference(x, y)
        assert ours == pytest.approx((x.mean() - y.mean(), theirs.low, theirs.high))
    by_hand = statistics.difference(np.array([2, 4]), np.array([-1, 3]))
    half = student.ppf(0.975, 25 / 17) * 5**0.5
    assert by_hand == pytest.approx((2, 2 - half, 2 + half))
    assert statistics.difference(np.array([2, 4, NAN]), np.array([NAN, -1, 3])) == by_hand
    assert statistics.difference(np.ones(3), np.zeros(2)) == (1, 1, 1)


def test_the_average_gain_by_hand():
    """Twice as much on one task and half as much on the other is none; 1.5 times as much on both is a half."""
    low, high = np.array([1.0, 3.0]), np.array([2.0, 6.0])
    assert statistics.average_gain([low, high], [high, low]).value == pytest.approx(0)
    assert statistics.average_gain([1.5 * low, 1.5 * high], [low, high]).value == pytest.approx(0.5)
    # log(4 / 2); each mean has a variance of a quarter of its square, with one degree of freedom; together 1/2 with 2
    one = statistics.average_gain([high], [low])
    half = student.ppf(0.975, 2) * 0.5**0.5
    assert one == pytest.approx((1, 2 * np.exp(-half) - 1, 2 * np.exp(half) - 1))
    # on two tasks: the mean of log 2 and 0, a variance of 4 · 1/16 with four degrees of freedom
    half = student.ppf(0.975, 4) * 0.25**0.5
    two = statistics.average_gain([high, low], [low, low])
    assert two == pytest.approx((2**0.5 - 1, 2**0.5 * np.exp(-half) - 1, 2**0.5 * np.exp(half) - 1))
    constant = statistics.average_gain([np.full(3, 4.0)], [np.full(2, 2.0)])
    assert constant == pytest.approx((1, 1, 1))
    reverse = statistics.average_gain([low], [high])
    assert [1 / (1 + end) - 1 for end in reverse] == pytest.approx([one.value, one.high, one.low])


@pytest.mark.parametrize("other", [[2.0], [2.0, NAN], [], [-1.0, 1.0], [-3.0, -2.0], [30.0, -40, 20, 10, -19]], ids=str)
def test_gains_that_are_not_known(other):
    """Of a single seed, of none, and of a mean that is not above 0, or not clearly: also where another task has one."""
    whole, odd = [np.ones(3), np.ones(3)], [np.ones(3), np.array(other)]
    assert np.isnan(statistics.average_gain(whole, odd)).all()
    assert np.isnan(statistics.average_gain(odd, whole)).all()


def test_a_mean_has_to_be_two_standard_errors_above_zero():
    """Of four seeds with a standard deviation of 2 the standard error is 1."""
    seeds = 2 * np.array([1, -1, 1, -1]) * 0.75**0.5
    for mean, known in ((1.99, False), (2.01, True)):
        assert statistics.has_gain(mean + seeds, np.ones(2)) == known
        assert statistics.has_gain(np.ones(2), mean + seeds) == known


def test_gains_are_of_the_same_tasks():
    with pytest.raises(ValueError, match="zip"):
        statistics.average_gain([np.ones(3)], [np.ones(3), np.ones(3)])
    assert np.isnan(statistics.average_gain([], [])).all()


@pytest.mark.parametrize("other", [[2.0], [2.0, NAN], []], ids=str)
def test_differences_that_are_not_known(other):
    assert np.isnan(statistics.difference(np.array(other), np.ones(3))).all()
    assert np.isnan(statistics.difference(np.ones(3), np.array(other))).all()


@pytest.mark.parametrize("draw", ["normal", "gamma"])
def test_five_seeds_are_enough_for_the_interval_of_a_gain(draw):
    """Four tasks whose spreads are 5 to 45 % of the mean: 95 % of the intervals have the true gain inside. Of 4,000 the
    share is known to 0.7 % (two standard errors). Where a mean happens not to be clearly above 0, there is none."""
    rng = np.random.default_rng(0)
    means, spreads = np.array([10_000, 3_000, 3_500, 5_000]), np.array([0.1, 0.05, 0.45, 0.2])

    def seeds(gain):
        mean, spread = gain * means, spreads * gain * means
        if draw == "normal":
            return list(rng.normal(mean, spread, (5, 4)).T)
        return list(rng.gamma((mean / spread) ** 2, spread**2 / mean, (5, 4)).T)

    found = np.array([statistics.average_gain(seeds(1.3), seeds(1)) for _ in range(4_000)])
    found = found[~np.isnan(found[:, 0])]
    assert len(found) > 3_700
    inside = np.mean((found[:, 1] < 0.3) & (found[:, 2] > 0.3))
    assert 0.94 < inside < 0.975
    assert np.median(found[:, 0]) == pytest.approx(0.3, abs=0.01)
