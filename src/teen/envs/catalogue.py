"""List the tasks that can be trained on with what is installed."""

from importlib.util import find_spec
from typing import NamedTuple

import gymnasium

from ..errors import UserError
from ..spec import Spec
from . import Backend, make, names, pool
from .gym import register_suite

BACKENDS: tuple[Backend, ...] = ("gymnasium", "envpool")
CLASSIC = ("MountainCarContinuous-v0", "Pendulum-v1")  # continuous, of Gymnasium's classic control


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
    if find_spec("Box2D") is None:
        lines.append(
            "Box2D is not installed: pip install swig 'gymnasium[box2d]' (LunarLanderContinuous, BipedalWalker)"
        )
    return lines


def candidates() -> list[str]:
    """Return the names of all tasks that are registered with Gymnasium, EnvPool's MuJoCo tasks, and the suite's."""
    registered = [name for name in gymnasium.registry if not names.is_suite(name)]  # Shimmy calls them otherwise
    suite = [names.SUITE + task for task in names.suite_observations()]
    return sorted({*registered, *pool.tasks()}) + suite


def likely() -> list[str]:
    """Return names of tasks that can be trained on, without making any: not all there are."""
    suite = not pool.unavailable() or find_spec("dm_control") is not None
    return [
        name
        for name in candidates()
        if name in CLASSIC or name in pool.tasks() or (suite and names.is_suite(name)) or _is_mujoco(name)
    ]


def _is_mujoco(name: str) -> bool:
    """Return whether Gymnasium can make it. Those of versions that need mujoco-py have a function that raises."""
    spec = gymnasium.registry.get(name)
    return spec is not None and str(spec.entry_point).startswith("gymnasium.envs.mujoco.")


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
