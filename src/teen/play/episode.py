"""An episode as a stream of moments, and several of them side by side."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..engine.episodes import LONGEST_EPISODE
from ..errors import UserError
from .scene import Scene


class Moment(NamedTuple):
    score: float  # the return so far
    length: int  # actions so far
    ended: bool
    picture: np.ndarray | None  # None where a window shows it


def episode(
    scene: Scene, act: Callable[[Any], np.ndarray], start: int, repeat: int = 1, every: int = 1
) -> Iterator[Moment]:
    """Play one episode. The first moment is its start, the last one its end; between them, there is one every so many
    steps of the environment, of which each action takes `repeat`."""

    def moment() -> Moment:
        return Moment(score, length, ended, scene.picture())

    obs = scene.reset(start)
    score, length, steps, ended = 0.0, 0, 0, False
    yield moment()
    while True:
        action = act(obs)
        if not np.isfinite(action).all():
            raise UserError(f"the policy's action in step {length + 1} is not finite: its training has diverged")
        length += 1
        for _ in range(repeat):
            obs, reward, ended = scene.step(action)
            score, steps = score + reward, steps + 1
            if ended or steps % every == 0:
                yield moment()
            if ended:
                return
            if steps == LONGEST_EPISODE:
                raise UserError(
                    f"an episode of {scene.name} ran {LONGEST_EPISODE} steps without an end: "
                    "register the environment with max_episode_steps"
                )


def side_by_side(streams: Sequence[Iterator[Moment]]) -> Iterator[list[Moment]]:
    """Play several episodes together until the last has ended; those that end before keep their last moment."""
    now = [next(stream) for stream in streams]
    yield now
    while not all(moment.ended for moment in now):
        now = [moment if moment.ended else next(stream) for moment, stream in zip(now, streams, strict=True)]
        yield now
