"""What a test registers with Gymnasium is gone after it."""

from collections.abc import Iterator
from contextlib import contextmanager

import gymnasium

from teen.envs import names
from teen.envs.gym import register_suite


@contextmanager
def restored_registry() -> Iterator[None]:
    """Undo what is registered inside. The suite is registered before: Shimmy does it once in a process, when it is
    imported, so a suite that was undone would be missing in every later test."""
    register_suite(names.SUITE)
    before = dict(gymnasium.registry)
    try:
        yield
    finally:
        gymnasium.registry.clear()
        gymnasium.registry.update(before)
