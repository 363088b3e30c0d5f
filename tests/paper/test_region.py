"""Regions of agents, as a picture and from saved agents."""

import numpy as np
import pytest

import teen
from teen.config.run import RunSettings
from teen.disk.agent import Agent
from teen.measure.region import Region
from teen.paper.region import explore_agents, plot_regions
from tests.measure.agents import TASK, agents_of


@pytest.mark.parametrize("ending", ["png", "pdf"])
def test_the_picture(tmp_path, ending):
    states = np.random.default_rng(0).normal(size=(3, 20, 2))
    regions = Region(["left", "right", "wide"], states, states, np.array([3, 4, 9]), np.zeros(3), np.eye(3))
    plot_regions(regions).savefig(tmp_path / f"region.{ending}")
    data = (tmp_path / f"region.{ending}").read_bytes()
    assert data.startswith(b"\x89PNG" if ending == "png" else b"%PDF")


def test_agents_explore_as_in_training():
    agents = {}
    for name in ("teen", "sunrise"):
        _, cfg, _, weights = agents_of(name, None, lanes=2)
        agents[name] = Agent(RunSettings(algo=name, env=TASK, seeds=(0, 1)), cfg, 10, weights)
    first = explore_agents(agents, episodes=3, rows=50)
    assert first.names == ["teen", "sunrise"]
    assert first.states.shape == (2, 50, 1)
    assert np.isfinite(first.points).all()
    assert np.isfinite(first.entropy).all()
    again = explore_agents(agents, episodes=3, rows=50)
    np.testing.assert_array_equal(first.states, again.states)
    second = explore_agents(agents, episodes=3, rows=50, trained_with={"teen": 1})
    assert not np.array_equal(second.states[0], first.states[0])
    np.testing.assert_array_equal(second.states[1], first.states[1])
    with pytest.raises(teen.UserError, match=r"sunrise has seeds \[0, 1\], not 2"):
        explore_agents(agents, trained_with={"sunrise": 2})
    trained = agents["teen"]
    elsewhere = Agent(RunSettings(algo="teen", env="Pendulum-v1"), trained.config, 10, trained.weights)
    with pytest.raises(teen.UserError, match="one task, not on Pendulum-v1, tests"):
        explore_agents({"a": trained, "b": elsewhere})
