"""List the tasks that can be trained on with what is installed."""

import re
from typing import NamedTuple

import gymnasium

from ..errors import UserError
from ..spec import Spec
from . import Backend, make, names, pool
from .gym import register_suite

BACKENDS: tuple[Backend, ...] = ("gymnasium", "envpool")


class Task(NamedTuple):
    name: str
    spec: Spec
    backends: list[str]
    paper: str


def missing() -> list[str]:
    """Return a line for each optional package that would make the list longer."""
    lines = []
    if reason := pool.unavailable():
        lines.append(f"{reason} (faster, and the paper's v3 tasks)")
    try:
        register_suite(names.SUITE)
    except UserError:
        lines.append("dm_control is not installed: pip install 'teen-rl[dmc]'")
    return lines


def candidates() -> list[str]:
    """Return the names of Gymnasium's tasks, EnvPool's MuJoCo tasks, and the suite's."""
    current = [spec.id for spec in gymnasium.registry.values() if _ships_with_gymnasium(str(spec.entry_point))]
    older = [re.sub("-v4$", "-v3", name) for name in current if name.endswith("-v4")]
    suite = [names.SUITE + task for task in names.suite_observations()]
    return sorted({*current, *older}) + suite


def _ships_with_gymnasium(entry_point: str) -> bool:
    return entry_point.startswith("gymnasium.envs.") and "tabular" not in entry_point and "phys2d" not in entry_point


def tasks(containing: str = "") -> list[Task]:
    """Return every task that some installed backend can make, with its sizes."""
    rows = []
    for name in candidates():
        if containing.lower() not in name.lower():
            continue
        specs: dict[str, Spec] = {}
        for backend in BACKENDS:
            try:
                envs = make(name, 1, backend)
            except UserError:
                continue
            specs[backend] = envs.spec
            envs.close()
        if specs:
            rows.append(Task(name, [*specs.values()][-1], [*specs], names.paper_use(name)))
    return rows
