from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from teen.paper import theorems

DOCS = Path(__file__).parents[2] / "docs" / "theory.md"


@pytest.mark.parametrize("n", [2, 3, 10])
def test_expected_minimum_of_uniform_numbers(n):
    """1/(n + 1) on [0, 1], which has mean 1/2 and deviation 1/√12."""
    assert theorems.expected_minimum(theorems.uniform, n) == pytest.approx((1 / (n + 1) - 0.5) * np.sqrt(12))


def test_expected_minimum_of_gaussian_and_exponential_numbers():
    assert theorems.expected_minimum(theorems.gaussian, 2) == pytest.approx(-1 / np.sqrt(np.pi))
    assert theorems.expected_minimum(theorems.gaussian, 3) == pytest.approx(-1.5 / np.sqrt(np.pi))
    assert theorems.expected_minimum(theorems.exponential, 7) == pytest.approx(1 / 7 - 1)


@pytest.mark.parametrize("name", theorems.ERRORS)
def test_errors_have_mean_0_and_variance_1(name):
    error = theorems.ERRORS[name]
    assert theorems.integral(error) == pytest.approx(0, abs=1e-7)
    assert theorems.integral(lambda u: error(u) ** 2) == pytest.approx(1, rel=1e-6)


def test_theorem_1_holds_and_its_bound_is_reached():
    rows = theorems.minimum_rows((2, 3, 5, 10))
    for name in {row.errors for row in rows}:
        of_name = [row for row in rows if row.errors == name]
        for row in of_name:
            assert row.bound - 1e-9 <= row.expected <= 0
        for smaller, larger in pairwise(of_name):
            assert larger.expected < smaller.expected
        if name.startswith("extremal"):
            assert all(row.expected == pytest.approx(row.bound) for row in of_name)


def test_the_slip_in_lemma_3():
    for row in theorems.square_rows((2, 3, 10)):
        assert row.integral == pytest.approx(row.n**2 / (2 * row.n - 1)) == row.closed
        assert row.centred == pytest.approx(row.paper)
        assert row.integral - row.paper == pytest.approx(1)


def test_variance_of_a_mean_of_correlated_errors():
    assert theorems.mean_variance(10) == pytest.approx(0.1)
    assert theorems.mean_variance(10, 0.5) == pytest.approx(0.55)
    covariance = np.full((4, 4), 0.3) + 0.7 * np.eye(4)
    assert theorems.mean_variance(4, 0.3) == pytest.approx(np.full(4, 0.25) @ covariance @ np.full(4, 0.25))


def drawn_target(m, n, common, offset, draws=200_000):
    """Bias and deviation by drawing errors."""
    rng = np.random.default_rng(0)
    shared, critic = rng.normal(size=(draws, 1, 1)), rng.normal(size=(draws, m, 1))
    errors = np.sqrt(common) * shared + np.sqrt(offset) * critic
    errors = errors + np.sqrt(1 - common - offset) * rng.normal(size=(draws, m, n))
    targets = errors.mean(2).min(1)
    return targets.mean(), targets.std()


@pytest.mark.parametrize("common", [0.0, 0.4])
@pytest.mark.parametrize("offset", [0.0, 0.5])
def test_the_targets_bias_as_drawn(common, offset):
    expected = theorems.target(3, 5, common, offset)
    bias, std = drawn_target(3, 5, common, offset)
    assert bias == pytest.approx(expected.bias, abs=0.006)
    assert std == pytest.approx(expected.std, abs=0.006)


def test_what_m_and_n_move():
    assert theorems.target(2, 1).bias == pytest.approx(-1 / np.sqrt(np.pi))
    assert theorems.target(2, 10).bias == pytest.approx(-1 / np.sqrt(np.pi * 10))  # N mitigates, by its root
    assert theorems.target(5, 10).bias < theorems.target(2, 10).bias  # M exacerbates
    assert theorems.target(2, 10, common=0.75).bias == pytest.approx(theorems.target(2, 10).bias / 2)
    # N cannot take off what a critic errs alike on all actions
    assert theorems.target(2, 10**6, offset=0.5).bias == pytest.approx(-np.sqrt(0.5 / np.pi), rel=1e-4)


def test_the_tables_of_the_page(capsys):
    theorems.main()
    page = DOCS.read_text()
    for line in capsys.readouterr().out.splitlines():
        assert line in page
