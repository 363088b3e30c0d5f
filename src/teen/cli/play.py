"""`teen play`: a trained agent in a film or in a window."""

import re
from argparse import ArgumentTypeError
from pathlib import Path
from typing import Any

from ..errors import UserError
from ..play import film, gl
from .parser import AGENT, Parser, add_trust

ALL = "all"
SMALLEST, LARGEST = 32, 4096  # sides of a picture


def command(arguments: list[str]) -> int:
    flags = parser().parse_args(arguments)
    _check(flags)
    if flags.video:
        gl.choose()
    # MuJoCo reads that choice when it is imported, as these modules do.
    from ..disk.loading import load
    from ..play.record import record
    from ..play.show import WHOLE

    agent = load(flags.run, flags.trust, best=flags.best)
    common = {"episodes": flags.episodes, "seed": flags.seed, "policy": flags.policy, "size": flags.size}
    if flags.window:
        from ..play.window import watch

        _show(flags, agent, watch(agent, member=flags.member, **common))
        return 0
    members = WHOLE if flags.member is None else (flags.member,)
    if flags.members:
        members = _numbers(flags.members, agent.algo.size(agent.config))
    _show(flags, agent, record(agent, flags.video, members=members, **common))
    return 0


def parser() -> Parser:
    parser = Parser(prog="teen play", description="Play a trained agent, without noise, into a film or a window.")
    parser.add_argument("run", type=Path, help=AGENT)
    parser.add_argument("--video", type=Path, metavar="FILE", help="write a film, .mp4 or .gif; an old one is replaced")
    parser.add_argument("--window", action="store_true", help="play in a window on this machine's screen")
    parser.add_argument("--episodes", type=int, default=1, help="episodes, one after the other (default 1)")
    parser.add_argument(
        "--seed", type=int, default=0, help="the first episode's start, as of Gymnasium's reset(seed=...) (default 0)"
    )
    parser.add_argument(
        "--policy", type=int, metavar="SEED", help="the training seed whose policy plays (default: the first)"
    )
    parser.add_argument("--best", action="store_true", help="the weights at the best evaluation, not the last")
    parser.add_argument("--member", type=int, metavar="K", help="one member of an ensemble instead of the whole")
    parser.add_argument(
        "--members",
        nargs="?",
        const=ALL,
        metavar="K,K,...",
        help="members side by side from the same start: all, or these",
    )
    parser.add_argument(
        "--size", type=_size, metavar="WxH", help="of the picture, or of each member's, such as 640x480"
    )
    add_trust(parser)
    return parser


def _check(flags: Any) -> None:
    """Raise a UserError for what does not go together, and where no film or window can be had."""
    if bool(flags.video) == flags.window:
        raise UserError("say where to play: --video out.mp4 (or .gif) writes a film, --window opens a window")
    if flags.episodes < 1 or flags.seed < 0:
        raise UserError("--episodes must be at least 1 and --seed at least 0")
    if flags.members and (flags.window or flags.member is not None):
        other = "--window" if flags.window else "--member"
        raise UserError(f"--members shows several at once in a --video: leave out {other}")
    if flags.window:
        gl.check_screen()
    else:
        film.check(flags.video)


def _size(text: str) -> tuple[int, int]:
    found = re.fullmatch(r"(\d{1,5})[x×](\d{1,5})", text)
    if not found or not all(SMALLEST <= int(side) <= LARGEST for side in found.groups()):
        raise ArgumentTypeError(f"a size is such as 640x480, with sides of {SMALLEST} to {LARGEST}, not {text[:40]!r}")
    return int(found[1]), int(found[2])


def _numbers(text: str, size: int) -> list[int | None]:
    """Return the members that are asked for; whether there are such is checked later."""
    if text == ALL:
        return list(range(max(size, 1)))
    if not re.fullmatch(r"\d{1,6}(,\d{1,6})*", text):
        raise UserError(f"--members takes numbers such as 0,3,7, or none for all, not {text[:40]!r}")
    return list(dict.fromkeys(map(int, text.split(","))))


def _show(flags: Any, agent: Any, rows: list[Any]) -> None:
    """Print what was scored, and where the film is."""
    from rich.table import Table

    from ..report.terminal import say
    from ..training.scores import counted
    from .tables import show

    step = counted(rows[0].step, "step")
    say(f"{flags.run}: {agent.settings.algo} on {agent.settings.env}, seed {rows[0].seed} after {step}")
    table = Table()
    for column in ("episode", "policy", "return", "length"):
        table.add_column(column, justify="right")
    for row in rows:
        table.add_row(str(row.episode + 1), row.policy, f"{row.score:.1f}", str(row.length))
    show(table)
    if flags.video:
        say(f"film: {flags.video} ({flags.video.stat().st_size / 1e6:.1f} MB)")
