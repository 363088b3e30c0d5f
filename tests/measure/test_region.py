import sys

import numpy as np
import pytest

import teen
from teen.config import job as config
from teen.disk.agent import Agent
from teen.measure import region
from teen.paper import region_figure
from tests.measure.test_diagnose import agents_of


def blobs(centre, episodes=4, steps=60, dim=3, seed=0):
    rng = np.random.default_rng(seed)
    return [rng.normal(size=(steps, dim)) * 0.3 + centre for _ in range(episodes)]


@pytest.fixture(scope="module")
def found():
    visited = {
        "left": blobs(-9),
        "left again": blobs(-9, seed=1),
        "right": blobs(9, seed=2),
        "wide": [8 * e for e in blobs(0)],
    }
    return region.region(visited, rows=150)


def test_coverage_and_overlap(found):
    cells = dict(zip(found.names, found.cells, strict=True))
    assert cells["wide"] > 3 * max(cells["left"], cells["right"])
    assert found.overlap[0, 2] == 0
    assert found.overlap[0, 1] > 0.2
    np.testing.assert_array_equal(found.overlap, found.overlap.T)
    np.testing.assert_array_equal(np.diagonal(found.overlap), 1)


def test_entropies_tell_the_width(found):
    """Eight times as wide in three dimensions."""
    left, again, _, wide = found.entropy
    assert left == pytest.approx(again, abs=0.3)
    assert wide - left == pytest.approx(3 * np.log(8), abs=0.3)


def test_one_embedding_of_all_keeps_clusters_apart(found):
    assert found.points.shape == (4, 150, 2)
    left, again, right, _ = found.points.mean(1)
    assert np.linalg.norm(left - again) < 0.3 * np.linalg.norm(left - right)


def test_all_are_cut_to_the_smallest():
    found = region.region({"a": blobs(0), "b": blobs(1, episodes=2, steps=20)}, rows=1000)
    assert found.states.shape == (2, 40, 3)


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


@pytest.mark.parametrize("ending", ["png", "pdf"])
def test_the_picture(found, tmp_path, ending):
    region_figure.draw(found, tmp_path / f"region.{ending}")
    data = (tmp_path / f"region.{ending}").read_bytes()
    assert data.startswith(b"\x89PNG" if ending == "png" else b"%PDF")


def test_agents_explore_as_in_training():
    loaded = {}
    for name in ("teen", "sunrise"):
        cfg, _, agents = agents_of(name, None, lanes=2)
        loaded[name] = Agent(config.Run(algo=name, env="tests.toys:PointMass-v0", seeds=(0, 1)), cfg, 10, agents)
    found = region.of_agents(loaded, episodes=3, rows=50)
    assert found.names == ["teen", "sunrise"]
    assert found.states.shape == (2, 50, 1)
    assert np.isfinite(found.points).all()
    assert np.isfinite(found.entropy).all()
    again = region.of_agents(loaded, episodes=3, rows=50)
    np.testing.assert_array_equal(found.states, again.states)
    second = region.of_agents(loaded, episodes=3, rows=50, trained_with={"teen": 1})
    assert not np.array_equal(second.states[0], found.states[0])
    np.testing.assert_array_equal(second.states[1], found.states[1])
    with pytest.raises(teen.UserError, match=r"sunrise has seeds \[0, 1\], not 2"):
        region.of_agents(loaded, trained_with={"sunrise": 2})
    elsewhere = Agent(config.Run(algo="teen", env="Pendulum-v1"), loaded["teen"].config, 10, loaded["teen"].agents)
    with pytest.raises(teen.UserError, match="one task, not on Pendulum-v1, tests"):
        region.of_agents({"a": loaded["teen"], "b": elsewhere})
