"""`teen eval`: play fresh episodes of a trained agent."""

from pathlib import Path

from ..disk.loading import load
from ..errors import UserError
from ..training.scores import counted
from .parser import AGENT, Parser, add_trust
from .tables import show_episodes


def parser() -> Parser:
    parser = Parser(prog="teen eval", description="Play fresh episodes of a trained agent, without noise.")
    parser.add_argument("run", type=Path, help=AGENT)
    parser.add_argument("--episodes", type=int, default=10, help="episodes of each seed's policy (default 10)")
    parser.add_argument("--seed", type=int, default=0, help="chooses other starting states (default 0)")
    parser.add_argument("--members", action="store_true", help="also one episode of each member")
    parser.add_argument("--best", action="store_true", help="each seed's weights at its best evaluation, not the last")
    add_trust(parser)
    return parser


def command(arguments: list[str]) -> int:
    flags = parser().parse_args(arguments)
    if flags.episodes < 1 or flags.seed < 0:
        raise UserError("--episodes must be at least 1 and --seed at least 0")
    agent = load(flags.run, flags.trust, best=flags.best)
    episodes = agent.evaluate(flags.episodes, flags.seed, flags.members)
    steps = counted(agent.step, "step")
    when = f"at the best evaluations of {steps}" if flags.best else f"after {steps}"
    show_episodes(f"{flags.run}: {agent.settings.algo} on {agent.settings.env} {when}", episodes, flags.members)
    return 0
