import sys

import numpy as np
import pytest

import teen
from teen.measure import region


def blobs(centre, episodes=4, steps=60, dim=3, seed=0):
    rng = np.random.default_rng(seed)
    return [rng.normal(size=(steps, dim)) * 0.3 + centre for _ in range(episodes)]


@pytest.fixture(scope="module")
def regions():
    visited = {
        "left": blobs(-9),
        "left again": blobs(-9, seed=1),
        "right": blobs(9, seed=2),
        "wide": [8 * e for e in blobs(0)],
    }
    return region.region(visited, rows=150)


def test_coverage_and_overlap(regions):
    cells = dict(zip(regions.names, regions.cells, strict=True))
    assert cells["wide"] > 3 * max(cells["left"], cells["right"])
    assert regions.overlap[0, 2] == 0
    assert regions.overlap[0, 1] > 0.2
    np.testing.assert_array_equal(regions.overlap, regions.overlap.T)
    np.testing.assert_array_equal(np.diagonal(regions.overlap), 1)


def test_entropies_tell_the_width(regions):
    """Eight times as wide in three dimensions."""
    left, again, _, wide = regions.entropy
    assert left == pytest.approx(again, abs=0.3)
    assert wide - left == pytest.approx(3 * np.log(8), abs=0.3)


def test_one_embedding_of_all_keeps_clusters_apart(regions):
    assert regions.points.shape == (4, 150, 2)
    left, again, right, _ = regions.points.mean(1)
    assert np.linalg.norm(left - again) < 0.3 * np.linalg.norm(left - right)


def test_all_are_cut_to_the_smallest():
    regions = region.region({"a": blobs(0), "b": blobs(1, episodes=2, steps=20)}, rows=1000)
    assert regions.states.shape == (2, 40, 3)


def test_cells_by_hand(monkeypatch):
    """Two directions, three bins each: corners of a rectangle, and its middle."""
    monkeypatch.setattr(region, "BINS", 3)
    corners = np.array([[0.0, 0], [0, 1], [10, 0], [10, 1]])
    middle = np.tile([5, 0.5], (4, 1))
    one, other = region.occupied(np.stack([corners, middle]))
    assert len(one) == 4
    assert other == {(1, 1)}


def test_without_scikit_learn_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "sklearn.manifold", None)
    with pytest.raises(teen.UserError, match=r"pip install 'teen-rl\[analysis\]'"):
        region.embedding(np.zeros((1, 10, 2)))
