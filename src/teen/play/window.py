"""Play a trained agent in a window on this machine's screen."""

import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import glfw

from ..disk.agent import Agent
from ..engine.evaluate import Episode
from ..errors import EnvironmentFault
from . import gl
from .episode import Moment
from .picture import Size
from .show import prepared


def watch(
    agent: Agent,
    *,
    episodes: int = 1,
    seed: int = 0,
    policy: int | None = None,
    member: int | None = None,
    size: Size | None = None,
) -> list[Episode]:
    """Play episodes as fast as time passes in the task; see `record`. Returns what was scored."""
    gl.check_screen()
    rows = []
    with ExitStack() as stack:
        cast = prepared(stack, agent, policy, (member,), "human", size)
        stack.enter_context(_stopped_by_closing())
        for number in range(episodes):
            *_, moments = _in_time(cast.episode(seed + number), cast.scenes[0].fps)
            rows += cast.rows(number, moments)
    return rows


def _in_time(played: Iterator[list[Moment]], fps: float) -> Iterator[list[Moment]]:
    """Wait after each step until as much time has passed as in the task."""
    began = time.monotonic()
    for step, moments in enumerate(played):
        time.sleep(max(0.0, began + step / fps - time.monotonic()))
        yield moments


@contextmanager
def _stopped_by_closing() -> Iterator[None]:
    """Stop as by Ctrl-C when MuJoCo's window is closed. Gymnasium would go on, with nothing to be seen."""
    before = glfw.ERROR_REPORTING
    glfw.ERROR_REPORTING = {glfw.NOT_INITIALIZED: "raise", None: "ignore"}  # type: ignore[assignment]
    try:
        yield
    except EnvironmentFault as fault:
        if not isinstance(fault.__cause__, glfw.GLFWError):
            raise
        before = "ignore"  # the environment closes its window once more
        raise KeyboardInterrupt from None
    finally:
        glfw.ERROR_REPORTING = before
