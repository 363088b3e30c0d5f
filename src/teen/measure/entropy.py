"""Entropies and divergences of samples, by the distances of their nearest neighbours.

Kozachenko & Leonenko 1987 for entropies, Wang, Kulkarni & Verdú 2009 for divergences. Samples are (count, dim).

Ties. The distance zero has no logarithm, so distances below FLOOR count as FLOOR: an atom looks like a ball of that
radius. `tied_share` returns the share of such distances. The divergence of a decomposition compares numbers of
neighbours instead of distances, and needs no floor.

Episodes. Successive steps of an episode lie close together, so the nearest neighbours of a step are the steps after it:
they show how finely time is cut, not how densely the policy visits. With `groups`, neighbours are taken from other
groups only. Where episodes are few and slow, members then look too alike; without groups they look too different.
"""

from typing import NamedTuple

import numpy as np
from scipy.spatial import cKDTree
from scipy.special import digamma, gammaln
from threadpoolctl import threadpool_limits

NEIGHBOURS = 3  # k
FLOOR = 1e-6  # normalised units


class Normaliser(NamedTuple):
    """Frozen: what is measured with the same one may be compared."""

    mean: np.ndarray  # (dim,)
    std: np.ndarray  # (dim,)

    @classmethod
    def of(cls, samples: np.ndarray) -> "Normaliser":
        """Make the normaliser of these samples. A column that hardly varies is shifted, and not scaled."""
        std = samples.std(0, dtype=np.float64)
        return cls(samples.mean(0, dtype=np.float64), np.where(std > 1e-6, std, 1.0))

    def __call__(self, samples: np.ndarray) -> np.ndarray:
        normalised: np.ndarray = (samples - self.mean) / self.std
        return normalised


def distances(queries: np.ndarray, references: np.ndarray, k: int, among_them: bool) -> np.ndarray:
    """Return the distance of each query to its k-th nearest reference. `among_them`: the queries are the references,
    and none is its own neighbour."""
    rank = k + among_them
    if len(references) < rank:
        raise ValueError(f"{len(references)} samples have no {rank} nearest neighbours")
    nearest: np.ndarray = cKDTree(references).query(queries, [rank])[0][:, 0]
    return nearest


def log_ball(dim: int) -> float:
    """Return the logarithm of the volume of the unit ball."""
    return float(0.5 * dim * np.log(np.pi) - gammaln(0.5 * dim + 1))


def surprise(distance: np.ndarray, references: int, dim: int, k: int) -> np.ndarray:
    """Return −log of the density at each query, unbiased where it is constant up to the k-th of so many references."""
    radius = np.maximum(distance, FLOOR)
    nats: np.ndarray = digamma(references + 1) - digamma(k) + log_ball(dim) + dim * np.log(radius)
    return nats


def entropy(samples: np.ndarray, groups: np.ndarray | None = None, k: int = NEIGHBOURS) -> float:
    """Return the differential entropy in nats: ψ(n) − ψ(k) + log V + dim · mean log distance."""
    nats = [surprise(d, references, samples.shape[1], k) for d, references in _neighbours(samples, groups, k)]
    return float(np.concatenate(nats).mean())


def particle_entropy(samples: np.ndarray, groups: np.ndarray | None = None, k: int = NEIGHBOURS) -> float:
    """Return the mean of log(1 + distance to the k-th neighbour), after Liu & Abbeel 2021: no density, but never below
    zero."""
    return float(np.log1p(np.concatenate([d for d, _ in _neighbours(samples, groups, k)])).mean())


def tied_share(samples: np.ndarray, groups: np.ndarray | None = None, k: int = NEIGHBOURS) -> float:
    """Return the share of the distances that `entropy` raises to FLOOR."""
    return float((np.concatenate([d for d, _ in _neighbours(samples, groups, k)]) < FLOOR).mean())


class Decomposition(NamedTuple):
    """Lemma 1: H(ρ) = H(ρ|z) + E_z KL(ρ(·|z) ‖ ρ), each of the three measured by itself, in nats."""

    all: float  # H(ρ), ρ the mixture of the members in equal shares
    members: float  # H(ρ|z), the mean of the members' entropies
    divergence: float  # E_z KL(ρ(·|z) ‖ ρ) = I(z; ρ) ≤ log N
    divergence_any: float  # the same with neighbours of the same group
    particle: float  # the particle entropy of the samples behind `all`
    ties: float  # share of their distances that were raised to FLOOR


def decomposition(
    samples: np.ndarray, normaliser: Normaliser, groups: np.ndarray | None = None, k: int = NEIGHBOURS
) -> Decomposition:
    """Decompose the entropy of visits, (member, count, dim). `groups` numbers their episodes, (member, count).

    H(ρ) is measured on `count` samples too, as many of each member: the error of a nearest-neighbour entropy depends
    on their number, and so it cancels between H(ρ) and H(ρ|z) where members are alike.
    """
    members, count, dim = samples.shape
    points = normaliser(samples.astype(np.float64))
    groups = np.zeros((members, count), int) if groups is None else groups
    share = np.linspace(0, count, count // members, endpoint=False, dtype=int)
    pooled = points[:, share].reshape(-1, dim), groups[:, share].ravel(), k
    anyhow = _divergence(points, np.zeros_like(groups), k)
    return Decomposition(
        all=entropy(*pooled),
        members=float(np.mean([entropy(points[z], groups[z], k) for z in range(members)])),
        divergence=_divergence(points, groups, k) if (groups != groups[0, 0]).any() else anyhow,
        divergence_any=anyhow,
        particle=particle_entropy(*pooled),
        ties=tied_share(*pooled),
    )


def _folds(groups: np.ndarray) -> list[tuple[np.ndarray, np.ndarray, bool]]:
    """Return masks of queries and of references, and whether these are the same samples."""
    numbers = np.unique(groups)
    if len(numbers) == 1:
        return [(groups == numbers[0], groups == numbers[0], True)]
    return [(groups == number, groups != number, False) for number in numbers]


def _neighbours(samples: np.ndarray, groups: np.ndarray | None, k: int) -> list[tuple[np.ndarray, int]]:
    """Return per group the distances of its samples to their k-th neighbours, and the number of candidates."""
    groups = np.zeros(len(samples), int) if groups is None else groups
    return [
        (distances(samples[queries], samples[references], k, same), int(references.sum()) - same)
        for queries, references, same in _folds(groups)
    ]


def _divergence(points: np.ndarray, groups: np.ndarray, k: int) -> float:
    """Return the mean of ψ(near) − ψ(near_all) + ψ(n_all + 1) − ψ(n_own + 1).

    `near` and `near_all` count the samples of a visit's own member, and of all members, in the ball around it that
    reaches to the k-th neighbour of its own member. That is Wang, Kulkarni & Verdú's estimator with one radius for
    both densities, and Ross's mutual information of a class and a point (2014). The errors of both densities then
    cancel where members are alike; with a radius for each, the sum is −1.2 nats in 35 dimensions.
    """
    nats = []
    points = points - points.mean((0, 1))
    for queries, references, same in _folds(groups):
        pool, owner = points[references], np.nonzero(references)[0]
        for z, asked in enumerate(queries):
            square = _squared_distances(points[z, asked], pool)
            to_member = square[:, owner == z]
            ball = np.partition(to_member, k - 1 + same, 1)[:, [k - 1 + same]]
            near, near_all = ((each <= ball).sum(1) - same for each in (to_member, square))
            sizes = digamma(len(pool) + 1 - same) - digamma(to_member.shape[1] + 1 - same)
            nats.append(digamma(near) - digamma(near_all) + sizes)
    return float(np.concatenate(nats).mean())


def _squared_distances(queries: np.ndarray, references: np.ndarray) -> np.ndarray:
    """Return (query, reference), through a product of matrices: in 400 dimensions 20 times as fast as a search tree.
    A distance that rounding hides counts as zero, so that ties stay ties."""
    a, b = np.square(queries).sum(1)[:, None], np.square(references).sum(1)[None]
    with threadpool_limits(1, "blas"):  # more would wait for each other longer than they work
        square: np.ndarray = a + b - 2 * queries @ references.T
    square[square < 1e-13 * (a + b)] = 0
    return square
