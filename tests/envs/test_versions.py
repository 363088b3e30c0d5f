"""A name without a version means the newest one that can be made here; a name with one means itself."""

import gymnasium
import pytest

from teen.envs import pool, versions
from teen.errors import UserError
from tests.registry import restored_registry
from tests.toys import PointMass


@pytest.fixture(autouse=True)
def tasks():
    """Register a task with versions 1, 2 and 10, of which the last cannot be made, and one without a version."""
    with restored_registry():
        for name in ("Glide-v1", "Glide-v2", "Plain", "ns/Glide-v7", "Glide-fast-v8", "Glide2-v9"):
            gymnasium.register(name, PointMass, max_episode_steps=5)
        gymnasium.register("Glide-v10", "no_such_module:Glide")
        gymnasium.register("Broken-v4", "no_such_module:Broken")
        yield


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("Glide", "Glide-v2"),
        ("tests.toys:Glide", "tests.toys:Glide-v2"),
        ("ns/Glide", "ns/Glide-v7"),
        ("Glide-v1", "Glide-v1"),
        ("Glide-v10", "Glide-v10"),  # chosen, though it cannot be made
        ("Plain", "Plain"),
        ("Broken", "Broken-v4"),  # making it says why it cannot be made
        ("NoSuch", "NoSuch"),
        ("HalfCheetah", "HalfCheetah-v5"),
        ("HalfCheetah-v4", "HalfCheetah-v4"),
        ("Pendulum", "Pendulum-v1"),
        ("dm_control/cheetah-run", "dm_control/cheetah-run"),
    ],
)
def test_the_newest_version_that_can_be_made(name, meant):
    assert versions.newest(name, "auto") == meant


def test_only_the_backend_that_is_asked_for_counts(monkeypatch):
    monkeypatch.setattr(pool, "tasks", lambda: ["Ant-v3", "Ant-v4", "Glide-v11"])
    monkeypatch.setattr(versions, "make", lambda name, count, backend: PointMass())
    assert versions.newest("Ant", "envpool") == "Ant-v4"
    assert versions.newest("Ant", "gymnasium") == "Ant-v5"
    assert versions.newest("Ant", "auto") == "Ant-v5"
    assert [versions.newest("Glide", backend) for backend in ("envpool", "gymnasium", "auto")] == [
        "Glide-v11",
        "Glide-v10",
        "Glide-v11",
    ]


def test_a_module_that_was_not_imported_is_not_looked_into():
    with pytest.raises(UserError, match="has not been imported"):
        versions.newest("nowhere.tasks:Glide", "auto")
