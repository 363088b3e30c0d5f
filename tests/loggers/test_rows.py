"""Rows: of each seed, and mean and spread over seeds."""

from math import inf, nan, sqrt

import pytest

from teen.engine.evaluate import Episode
from teen.loggers.base import Row, merged
from teen.loggers.rows import evaluation, rows_of


def test_there_is_a_row_for_each_seed_and_one_with_mean_and_deviation():
    rows = rows_of("a=1", 10, {3: {"x": 1.0}, 5: {"x": 2.0}, 8: {"x": 6.0}}, {"speed": 7.0})
    assert rows[:3] == [Row("a=1", 3, 10, {"x": 1.0}), Row("a=1", 5, 10, {"x": 2.0}), Row("a=1", 8, 10, {"x": 6.0})]
    assert rows[3][:3] == ("a=1", None, 10)
    assert rows[3].values == pytest.approx({"speed": 7.0, "x": 3.0, "x_std": sqrt((4 + 1 + 9) / 2)})


def test_one_seed_has_no_deviation():
    assert rows_of("", 10, {3: {"x": 1.0}}) == [Row("", 3, 10, {"x": 1.0}), Row("", None, 10, {"x": 1.0})]


def test_what_is_not_a_number_does_not_count():
    """Where no episode has ended yet there is no return; a seed without an evaluation has no row."""
    rows = rows_of("", 10, {3: {"x": 1.0, "y": nan}, 5: {"x": nan, "y": nan}, 8: {"x": 3.0, "y": 5.0}})
    assert rows[:2] == [Row("", 3, 10, {"x": 1.0}), Row("", 8, 10, {"x": 3.0, "y": 5.0})]
    assert rows[2].values == pytest.approx({"x": 2.0, "x_std": sqrt(2), "y": 5.0})
    assert rows_of("", 10, {3: {}, 5: {"x": nan}}, {"speed": 7.0}) == []


def test_returns_may_be_as_large_as_they_like():
    values = rows_of("", 10, {3: {"x": 1e308, "y": inf}, 5: {"x": 1e308, "y": 1.0}})[-1].values
    assert values["x"] == inf
    assert values["y"] == inf


def test_an_evaluation_has_the_means_of_the_evaluated_policy_and_of_the_members():
    headline = [Episode(3, 10, "mean", k, score, length) for k, (score, length) in enumerate([(1.0, 10), (2.0, 30)])]
    members = [Episode(3, 10, str(member), 0, score, 99) for member, score in enumerate([4.0, 6.0])]
    assert evaluation(headline) == {"eval/return": 1.5, "eval/length": 20.0}
    assert evaluation(headline + members) == {"eval/return": 1.5, "eval/length": 20.0, "eval/members_return": 5.0}
    assert evaluation([]) == {}


def test_rows_of_one_step_are_merged_for_tools_with_one_table():
    rows = [*rows_of("a", 10, {3: {"x": 1.0}}), *rows_of("b", 10, {3: {"x": 2.0}}), *rows_of("a", 20, {3: {"y": 3.0}})]
    assert merged(rows) == {
        ("a", 10): {"seed/3/x": 1.0, "x": 1.0},
        ("b", 10): {"seed/3/x": 2.0, "x": 2.0},
        ("a", 20): {"seed/3/y": 3.0, "y": 3.0},
    }
