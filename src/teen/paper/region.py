"""The exploration region: states that agents visit in the middle of training, in one t-SNE."""

import io
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import jax
import numpy as np

from .. import envs
from ..disk.agent import Agent
from ..disk.loading import load
from ..errors import UserError
from ..measure.region import ROWS, Region, explored, region
from ..measure.rollouts import Scene
from .page import UNKNOWN, Page, Picture, Row, Table
from .scale import Scale
from .store import Trained

EPISODES = 10
NOTE = "States of 10 episodes each, acted as in training, of the first seed asked for. t-SNE keeps neighbours together "
NOTE += "and says nothing of areas, so occupied cells of a grid and the entropy of the states are counted beside it."


def render(name: str, trained: Sequence[Trained], scale: Scale) -> Page:
    """Render the regions of the agents that are of exactly the needed step."""
    agents = {}
    for item in trained:
        if item.runs and not item.lacking and (agent := load(item.runs[0].path)).step == item.need.steps:
            agents[item.entry.label] = agent
    if not agents:
        return Page([_table(trained, [])], {}, (), [NOTE])
    episodes, states = (2, 60) if scale.smoke else (EPISODES, ROWS)
    seeds = {item.entry.label: item.need.seeds[0] for item in trained}
    regions = explore_agents(agents, episodes, rows=states, trained_with=seeds)
    rows = [
        {"label": label, "cells": int(regions.cells[i]), "entropy": float(regions.entropy[i])}
        | {f"overlap with {other}": float(regions.overlap[i, j]) for j, other in enumerate(regions.names)}
        for i, label in enumerate(regions.names)
    ]
    return Page([_table(trained, rows)], {name: rows}, pictures(name, regions), [NOTE])


def explore_agents(
    agents: Mapping[str, Agent],
    episodes: int = EPISODES,
    seed: int = 0,
    rows: int = ROWS,
    trained_with: Mapping[str, int] | None = None,
) -> Region:
    """Return the regions of agents for the same task, one training seed of each: that in `trained_with`, or its first.
    `seed` chooses other starts."""
    tasks = sorted({agent.settings.env for agent in agents.values()})
    if len(tasks) != 1:
        raise UserError(f"regions are compared on one task, not on {', '.join(tasks) or 'none'}")
    visited = {}
    for name, agent in agents.items():
        training_seed = (trained_with or {}).get(name, agent.seeds[0])
        if training_seed not in agent.seeds:
            raise UserError(f"{name} has seeds {list(agent.seeds)}, not {training_seed}")
        visited[name] = _visited(agent, training_seed, episodes, seed)
        if not visited[name]:
            raise UserError(f"{name} explores nothing: its actions are not finite")
    return region(visited, rows, seed)


def _visited(agent: Agent, training_seed: int, episodes: int, seed: int) -> list[np.ndarray]:
    """Return the states, (step, obs), of each episode; none where an action is not finite."""
    lane = agent.seeds.index(training_seed)
    configs, weights = jax.tree.map(lambda leaf: leaf[lane : lane + 1], (agent.configs, agent.weights))
    pool = envs.make(agent.settings.env, episodes, "auto", agent.settings.action_repeat)
    scene = Scene(agent.algo, configs, weights, pool, [training_seed], 2**31 + seed, [0])
    try:
        return envs.watched(agent.settings.plan.env_timeout, [pool], lambda: explored(scene, episodes)[0])
    finally:
        pool.close()


def _table(trained: Sequence[Trained], rows: Sequence[Row]) -> Table:
    measured = {row["label"]: row for row in rows}
    overlaps = [f"overlap with {label}" for label in measured]
    lines = []
    for item in trained:
        if row := measured.get(item.entry.label):
            texts = [str(row["cells"]), *(f"{row[column]:.2f}" for column in ("entropy", *overlaps)), ""]
        else:
            texts = [UNKNOWN, UNKNOWN, *[UNKNOWN] * len(overlaps), item.lacking or "not trained"]
        lines.append([item.entry.label, *texts])
    need = trained[0].need
    columns = ("", "cells of 900", "entropy, nats", *overlaps, "missing")
    return Table(f"{need.env} after {need.steps:,} steps", columns, lines)


def pictures(name: str, regions: Region) -> Iterator[Picture]:
    for kind in ("png", "pdf"):
        content = io.BytesIO()
        plot_regions(regions).savefig(content, format=kind)
        yield f"{name}.{kind}", content.getvalue()


def plot_regions(regions: Region) -> Any:
    """Plot one panel for each agent: its states on those of all."""
    from matplotlib.figure import Figure  # takes long to import

    count = len(regions.names)
    figure = Figure(figsize=(2.6 * count, 3.0), dpi=150, layout="constrained")
    panels = figure.subplots(1, count, sharex=True, sharey=True, squeeze=False)[0]
    points = regions.points.reshape(-1, 2)
    for i, (name, axes) in enumerate(zip(regions.names, panels, strict=True)):
        axes.scatter(*points.T, s=1, color="0.88", linewidths=0, rasterized=True)
        axes.scatter(*regions.points[i].T, s=2, color=f"C{i % 10}", linewidths=0, rasterized=True)
        axes.set_title(name, fontsize=9)
        axes.set_xlabel(f"{regions.cells[i]} cells, entropy {regions.entropy[i]:.1f}", fontsize=8)
        axes.set(xticks=[], yticks=[])
    return figure
