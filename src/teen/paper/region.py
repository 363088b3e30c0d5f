"""The exploration region: states that agents visit in the middle of training, in one t-SNE."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from ..disk.agent import Agent
from ..disk.loading import load
from ..measure import region
from .draw import UNKNOWN, Page, Picture, Table
from .scale import Scale
from .store import Trained

EPISODES = 10
NOTE = "States of 10 episodes each, acted as in training, of the first seed asked for. t-SNE keeps neighbours together "
NOTE += "and says nothing of areas, so occupied cells of a grid and the entropy of the states are counted beside it."


def page(name: str, trained: Sequence[Trained], scale: Scale) -> Page:
    """Only agents of exactly the needed step count."""
    agents = {own.entry.label: agent for own in trained if (agent := _agent(own))}
    episodes, rows = (2, 60) if scale.smoke else (EPISODES, region.ROWS)
    seeds = {own.entry.label: own.need.seeds[0] for own in trained}
    found = region.of_agents(agents, episodes, rows=rows, trained_with=seeds) if agents else None
    if found is None:
        return Page([_table(trained, None)], {}, (), [NOTE])
    data = [
        {"label": label, "cells": int(found.cells[i]), "entropy": float(found.entropy[i])}
        | {f"overlap with {other}": float(found.overlap[i, j]) for j, other in enumerate(found.names)}
        for i, label in enumerate(found.names)
    ]
    return Page([_table(trained, found)], {name: data}, _pictures(name, found), [NOTE])


def _agent(own: Trained) -> Agent | None:
    if own.lacking or not own.runs:
        return None
    agent = load(own.runs[0].path)
    return agent if agent.step == own.need.steps else None


def _table(trained: Sequence[Trained], found: region.Region | None) -> Table:
    names = found.names if found else []

    def line(own: Trained) -> list[str]:
        if found is None or own.entry.label not in names:
            return [own.entry.label, UNKNOWN, UNKNOWN, *[UNKNOWN] * len(names), own.lacking or "not trained"]
        i = names.index(own.entry.label)
        overlaps = [f"{share:.2f}" for share in found.overlap[i]]
        return [own.entry.label, str(found.cells[i]), f"{found.entropy[i]:.2f}", *overlaps, ""]

    env = trained[0].need.env
    columns = ("", "cells of 900", "entropy, nats", *(f"overlap with {name}" for name in names), "missing")
    return Table(f"{env} after {trained[0].need.steps:,} steps", columns, [line(own) for own in trained])


def _pictures(name: str, found: region.Region) -> Iterator[Picture]:
    from . import region_figure

    with TemporaryDirectory() as folder:
        for file in (f"{name}.png", f"{name}.pdf"):
            region_figure.draw(found, Path(folder) / file)
            yield file, (Path(folder) / file).read_bytes()
