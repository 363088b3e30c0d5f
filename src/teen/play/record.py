"""Play a trained agent into a film."""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path

import numpy as np

from ..disk.agent import Agent
from ..engine.evaluate import HEADLINE, Episode
from . import film, picture
from .episode import Moment
from .picture import Size
from .progress import Progress
from .show import WHOLE, Members, prepared


def record(
    agent: Agent,
    path: str | Path,
    *,
    episodes: int = 1,
    seed: int = 0,
    policy: int | None = None,
    members: Members = WHOLE,
    size: Size | None = None,
    show: bool = True,
) -> list[Episode]:
    """Play episodes and write them to a film, .mp4 or .gif, which replaces a file of that name.

    Episode e begins as Gymnasium's reset with `seed` + e does. `policy` is the training seed whose policy plays, the
    first if none is named. Several `members` play side by side from the same starts. `size` is that of a picture, of
    each one where there are several; `show` says how far it is. Returns what they scored.
    """
    path = Path(path)
    film.check(path)
    size = size or (picture.TILE if len(members) > 1 else None)
    rows: list[Episode] = []
    with ExitStack() as stack:
        cast = prepared(stack, agent, policy, members, "rgb_array", size)
        every, fps = film.pace(path, cast.scenes[0].fps)
        progress = stack.enter_context(Progress(episodes, cast.limit, show))

        def pictures() -> Iterator[np.ndarray]:
            for number in range(episodes):
                for moments in cast.episode(seed + number, every):
                    progress.at(number, max(moment.length for moment in moments))
                    yield drawn(moments, members, size)
                rows.extend(cast.rows(number, moments))

        film.write(path, fps, pictures())
    return rows


def drawn(moments: Sequence[Moment], members: Members, size: Size | None) -> np.ndarray:
    """Return one picture of what everybody does; of one player alone, in the task's own size where none is given."""
    pictures = [moment.picture for moment in moments if moment.picture is not None]
    if size is None:
        return pictures[0]
    pictures = [picture.fitted(one, size) for one in pictures]
    if len(pictures) == 1:
        return pictures[0]
    lines = [(_line(member, moment), moment.ended) for member, moment in zip(members, moments, strict=True)]
    return picture.tiled(pictures, lines, size)


def _line(member: int | None, moment: Moment) -> str:
    who = HEADLINE if member is None else f"member {member}"
    return f"{who}: {'ended, ' if moment.ended else ''}return {moment.score:,.1f}"
