"""Against entropies and divergences that are known, or integrated by Monte Carlo."""

import numpy as np
import pytest
from scipy.special import logsumexp

from teen.measure.entropy import FLOOR, Normaliser, decomposition, entropy, log_ball, particle_entropy, tied_share

GAUSSIAN = 0.5 * np.log(2 * np.pi * np.e)  # of one standard normal number


def rng(seed=0):
    return np.random.default_rng(seed)


def as_they_are(dim):
    return Normaliser(np.zeros(dim), np.ones(dim))


@pytest.mark.parametrize(("dim", "slack"), [(1, 0.05), (3, 0.06), (8, 0.15)])
def test_gaussians(dim, slack):
    assert entropy(rng().normal(size=(4000, dim))) == pytest.approx(dim * GAUSSIAN, abs=slack)


def test_a_correlated_gaussian():
    mix = np.array([[2.0, 0, 0], [1.5, 0.5, 0], [-1, 0.3, 0.2]])
    samples = rng().normal(size=(4000, 3)) @ mix.T + 7
    assert entropy(samples) == pytest.approx(3 * GAUSSIAN + np.log(abs(np.linalg.det(mix))), abs=0.06)


@pytest.mark.parametrize("dim", [1, 2, 3])
def test_uniform_cubes(dim):
    assert entropy(rng().uniform(0, 3, (4000, dim))) == pytest.approx(dim * np.log(3), abs=0.12)


def mixture_entropy(centres, draws=50_000):
    """Return the entropy of equal unit Gaussians, as the mean of −log density."""
    dim = centres.shape[1]
    x = centres[rng(1).integers(len(centres), size=draws)] + rng(2).normal(size=(draws, dim))
    logs = -0.5 * np.square(x[:, None] - centres[None]).sum(-1)
    return -(logsumexp(logs, 1) - np.log(len(centres)) - 0.5 * dim * np.log(2 * np.pi)).mean()


def test_a_mixture():
    centres = np.array([[0.0, 0], [3, 0], [0, 4]])
    samples = centres[rng().integers(3, size=4000)] + rng(3).normal(size=(4000, 2))
    assert entropy(samples) == pytest.approx(mixture_entropy(centres), abs=0.05)


def test_the_error_shrinks_with_the_samples():
    errors = [
        np.mean([entropy(rng(seed).normal(size=(count, 12))) - 12 * GAUSSIAN for seed in range(5)])
        for count in (50, 300, 2000)
    ]
    assert errors[0] > errors[1] > errors[2] > 0


def test_the_unit_ball():
    np.testing.assert_allclose(np.exp([log_ball(d) for d in (1, 2, 3)]), [2, np.pi, 4 / 3 * np.pi])


def test_particle_entropy_by_hand():
    """Third neighbours on a line at 0, 1, 3, 7: 7, 6, 4, 7."""
    samples = np.array([[0.0], [1], [3], [7]])
    assert particle_entropy(samples) == pytest.approx(np.log([8, 7, 5, 8]).mean())


def test_ties_are_raised_to_the_floor_and_counted():
    samples = np.concatenate([np.zeros((10, 2)), rng().normal(size=(30, 2)) + 5])
    assert tied_share(samples) == 0.25
    assert np.isfinite(entropy(samples))
    alone = np.zeros((10, 2))
    # ψ(10) − ψ(3) + log π + 2 log FLOOR, with ψ(10) − ψ(3) = 1/3 + … + 1/9
    assert entropy(alone) == pytest.approx(sum(1 / i for i in range(3, 10)) + np.log(np.pi) + 2 * np.log(FLOOR))


def test_too_few_samples_say_so():
    with pytest.raises(ValueError, match="3 samples have no 4 nearest neighbours"):
        entropy(np.zeros((3, 2)))


def members(separation, dim, count=500, size=10):
    centres = rng(5).normal(size=(size, dim)) * separation / np.sqrt(dim)
    return centres, centres[:, None] + rng(6).normal(size=(size, count, dim))


@pytest.mark.parametrize("dim", [2, 8, 35])
@pytest.mark.parametrize("separation", [0.0, 1.0, 30.0])
def test_divergence_of_members_from_their_mixture(dim, separation):
    centres, samples = members(separation, dim)
    expected = mixture_entropy(centres) - dim * GAUSSIAN  # Lemma 1
    parts = decomposition(samples, as_they_are(dim))
    slack = 0.05 if dim < 35 else 0.15  # in so many dimensions it finds too little between the extremes
    assert parts.divergence == pytest.approx(expected, abs=slack)
    assert parts.divergence <= np.log(10) + 0.01


def test_lemma_1_holds_for_three_separate_measurements():
    centres, samples = members(2.0, 3, count=2000, size=4)
    parts = decomposition(samples, as_they_are(3))
    assert parts.members == pytest.approx(3 * GAUSSIAN, abs=0.05)
    assert parts.all == pytest.approx(mixture_entropy(centres), abs=0.08)
    assert parts.all - parts.members == pytest.approx(parts.divergence, abs=0.1)
    assert parts.ties == 0


def test_a_frozen_normaliser_shifts_entropies_and_leaves_the_divergence():
    _, samples = members(1.0, 2, size=3)
    scale = Normaliser(np.array([5.0, -3.0]), np.array([10.0, 10.0]))
    plain, scaled = decomposition(samples, as_they_are(2)), decomposition(samples, scale)
    assert plain.all - scaled.all == pytest.approx(2 * np.log(10))
    assert plain.members - scaled.members == pytest.approx(2 * np.log(10))
    assert plain.divergence == pytest.approx(scaled.divergence)


def test_a_constant_column_is_not_scaled():
    samples = np.stack([np.full(50, 7.0), rng().normal(size=50) * 3], 1)
    normaliser = Normaliser.of(samples)
    assert normaliser.std[0] == 1
    assert normaliser(samples)[:, 0].tolist() == [0] * 50
    assert normaliser(samples)[:, 1].std() == pytest.approx(1)


def walks(count, steps, dim, memory):
    """Return stationary random walks of which every step is standard normal, the same for all."""
    x = rng(7).normal(size=(count, dim))
    rows = [x]
    for noise in rng(8).normal(size=(steps - 1, count, dim)):
        x = memory * x + np.sqrt(1 - memory**2) * noise
        rows.append(x)
    return np.stack(rows, 1)


def test_neighbours_in_time_do_not_pass_for_diversity():
    """Ten equal members, four long walks each, every eighth step: there is nothing to tell them apart by."""
    half = np.tile(np.arange(4).repeat(125) % 2, (10, 1))
    naive, fair = (
        decomposition(walks(40, 1000, 4, 0.99)[:, ::8].reshape(10, 500, 4), as_they_are(4), groups)
        for groups in (None, half)
    )
    assert naive.divergence > 0.5
    assert -0.35 < fair.divergence < 0.05
    assert fair.divergence_any == naive.divergence == naive.divergence_any
    assert naive.members < 4 * GAUSSIAN - 0.5
    assert fair.members == pytest.approx(4 * GAUSSIAN, abs=0.4)


def test_divergence_of_atoms():
    """All members in the same two places, or each in a place of its own: no distance but zero says so."""
    places = rng().normal(size=(4, 6)) * 100
    shared = places[np.tile(np.arange(40) % 2, (4, 1))]
    separate = np.repeat(places[:, None], 40, 1)
    assert decomposition(shared, as_they_are(6)).divergence == pytest.approx(0, abs=0.06)
    assert decomposition(separate, as_they_are(6)).divergence == pytest.approx(np.log(4), abs=0.02)
    assert decomposition(separate, as_they_are(6)).ties == 1


def test_separate_members_are_told_apart_across_episodes_too():
    _, samples = members(30.0, 4)
    half = np.tile(np.arange(500) % 2, (10, 1))
    assert decomposition(samples, as_they_are(4), half).divergence == pytest.approx(np.log(10), abs=0.02)
