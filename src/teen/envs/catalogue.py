"""What can be trained on here."""

import re
from typing import NamedTuple

import gymnasium

from ..errors import UserError
from ..spec import Spec
from . import names, pool
from .gym import GymnasiumEnvs, register_suite
from .pool import EnvPoolEnvs


class Task(NamedTuple):
    name: str
    spec: Spec
    backends: list[str]
    paper: str


def missing() -> list[str]:
    """What would make the list longer, a line each."""
    lines = []
    if reason := pool.unavailable():
        lines.append(f"{reason} (faster, and the paper's v3 tasks)")
    if not _suite_installed():
        lines.append("dm_control is not installed: pip install 'teen-rl[dmc]'")
    return lines


def _suite_installed() -> bool:
    try:
        register_suite(names.SUITE)
    except UserError:
        return False
    return True


def candidates() -> list[str]:
    """Gymnasium's own tasks, EnvPool's MuJoCo tasks, and the suite's."""
    own = [spec.id for spec in gymnasium.registry.values() if _is_gymnasiums(str(spec.entry_point))]
    older = [re.sub("-v4$", "-v3", name) for name in own if name.endswith("-v4")]
    suite = [names.SUITE + task for task in names.suite_observations()]
    return sorted({*own, *older}) + suite


def _is_gymnasiums(entry_point: str) -> bool:
    return entry_point.startswith("gymnasium.envs.") and "tabular" not in entry_point and "phys2d" not in entry_point


def tasks(containing: str = "") -> list[Task]:
    """Every task that some backend here can make, with its sizes."""
    found = []
    suite_here = _suite_installed()
    for name in candidates():
        if containing.lower() not in name.lower():
            continue
        backends, spec = [], None
        if not names.is_suite(name) or suite_here:
            try:
                envs = GymnasiumEnvs(name, 1)
                spec = envs.spec
                envs.close()
                backends.append("gymnasium")
            except UserError:
                pass
        if pool.offers(name):
            spec = EnvPoolEnvs(name, 1).spec
            backends.append("envpool")
        if spec:
            found.append(Task(name, spec, backends, names.paper_use(name)))
    return found
