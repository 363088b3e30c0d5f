"""`teen share`: prepare a trained agent as a folder that others can load, and push it to the Hugging Face Hub."""

from pathlib import Path

from ..config.job import parse_seeds
from ..disk import elsewhere
from ..disk.loading import load
from ..errors import UserError, notice
from ..export import share
from ..training.scores import counted
from .parser import AGENT, Parser, add_trust


def parser() -> Parser:
    parser = Parser(prog="teen share", description="Prepare a trained agent as a folder that others can load.")
    parser.add_argument("run", type=Path, help=AGENT)
    parser.add_argument("--out", type=Path, required=True, help="folder to write: weights, settings, score, README")
    parser.add_argument("--best", action="store_true", help="each seed's weights at its best evaluation, not the last")
    parser.add_argument("--seeds", help="the policies of these seeds: 3,5 or 0-4; 7, is just that of 7 (default all)")
    parser.add_argument("--whole", action="store_true", help="with critics, so that it can be trained on")
    parser.add_argument("--half", action="store_true", help="matrices in float16: half the size")
    parser.add_argument("--episodes", type=int, default=20, help="episodes behind each score (default 20)")
    parser.add_argument("--push", metavar="USER/NAME", help="upload it to this repository of the Hugging Face Hub")
    parser.add_argument("--private", action="store_true", help="that nobody else can see")
    add_trust(parser)
    return parser


def command(arguments: list[str]) -> int:
    flags = parser().parse_args(arguments)
    if flags.episodes < 1:
        raise UserError("--episodes must be at least 1")
    if flags.whole and flags.half:
        raise UserError("--whole is for training on, which needs full precision: leave out --half")
    if flags.private and not flags.push:
        raise UserError("--private is for --push")
    if flags.push:
        share.check_push(flags.push)  # now rather than after the episodes
    run = elsewhere.found(flags.run)
    share.check_place(run, flags.out)
    agent = load(run, flags.trust, best=flags.best)
    if flags.seeds:
        agent = agent.only(parse_seeds(flags.seeds))
    if flags.whole:
        agent.check_complete("--whole")
    notice(f"playing {counted(flags.episodes, 'episode')} of each policy for the score")
    name = f"{elsewhere.HUB}{flags.push}" if flags.push else flags.out.resolve().name
    options = {"name": name, "whole": flags.whole, "half": flags.half, "episodes": flags.episodes}
    for score in share.prepare(run, flags.out, agent, **options, trust=flags.trust):
        std = "" if score.std is None else f" ± {score.std:.1f}"
        print(f"seed {score.seed}: {score.mean:.1f}{std} over {counted(score.episodes, 'episode')}")
    print(f"{flags.out}: load it with teen.load({str(flags.out)!r})")
    if flags.push:
        print(share.push(flags.out, flags.push, flags.private))
    return 0
