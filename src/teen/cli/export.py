"""`teen export`: a trained policy as ONNX or for NumPy, or its episodes as a Minari dataset."""

from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import Progress

from ..disk.agent import Agent
from ..disk.loading import load
from ..errors import UserError, printable
from ..export import minari_dataset, numpy_files, onnx_file
from ..export.networks import ROWS, Networks, networks_of
from ..training.scores import counted
from .parser import AGENT, Parser, add_trust
from .tables import show_episodes

FORMATS = ("onnx", "numpy", "minari")


def command(arguments: list[str]) -> int:
    flags = _flags(arguments)
    agent = load(flags.run, flags.trust, best=flags.best)
    if flags.to == "minari":
        _export_episodes(agent, flags)
        return 0
    networks, out = networks_of(agent, flags.policy, flags.member), Path(flags.out)
    try:
        if flags.to == "onnx":
            _say(out, networks, onnx_file.write(networks, out))
        else:
            module, apart = numpy_files.write(networks, out)
            _say(out, networks, apart)
            print(printable(f"{module}: acts with it, without JAX"))
    except OSError as error:
        raise UserError(f"{out} cannot be written: {error.strerror}") from None
    return 0


def parser() -> Parser:
    parser = Parser(prog="teen export", description="Write a trained policy, or its episodes, for other programs.")
    parser.add_argument("run", type=Path, help=AGENT)
    parser.add_argument("--to", required=True, choices=FORMATS, help="what to write")
    text = (
        "the file to write, such as policy.onnx or policy.npz; for minari the dataset's name, such as cheetah/teen-v0"
    )
    parser.add_argument("--out", required=True, help=text)
    parser.add_argument("--policy", type=int, metavar="SEED", help="the seed whose policy it is (default the first)")
    parser.add_argument("--member", type=int, metavar="K", help="one member of an ensemble, not their mean")
    parser.add_argument("--best", action="store_true", help="the weights at the seed's best evaluation, not the last")
    add_trust(parser)
    episodes = parser.add_argument_group("for minari")
    episodes.add_argument("--episodes", type=int, help="how many (default 10)")
    episodes.add_argument("--seed", type=int, help="chooses other starting states (default 0)")
    episodes.add_argument("--explore", action="store_true", help="with noise as in training")
    return parser


def _flags(arguments: list[str]) -> Any:
    flags = parser().parse_args(arguments)
    if flags.to != "minari":
        for name in ("episodes", "seed", "explore"):
            if getattr(flags, name) not in (None, False):
                raise UserError(f"--{name} is for --to minari: a policy is written without playing it")
    flags.episodes, flags.seed = (10 if flags.episodes is None else flags.episodes), flags.seed or 0
    if flags.episodes < 1 or flags.seed < 0:
        raise UserError("--episodes must be at least 1 and --seed at least 0")
    return flags


def _say(out: Path, networks: Networks, apart: float) -> None:
    facts = networks.facts
    policy = "" if facts["policy"] == "single" else f", {facts['policy']}"
    what = f"{facts['algorithm']} on {facts['task']}, seed {facts['seed']}{policy}, after {facts['step']} steps"
    print(printable(f"{out}: {what}; acts as the agent on {ROWS:,} observations, to {apart:.0e} of the action's range"))


def _export_episodes(agent: Agent, flags: Any) -> None:
    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("playing", total=flags.episodes)
        folder, rows = minari_dataset.write(
            agent, flags.out, flags.episodes, flags.seed, seed=flags.policy, member=flags.member,
            explore=flags.explore, played=lambda _: bar.advance(task),
        )  # fmt: skip
    noise = ", with noise" if flags.explore else f", member {flags.member}" if flags.member is not None else ""
    show_episodes(f"{flags.out}: {counted(len(rows), 'episode')}{noise}", rows)
    print(printable(f'in {folder}; minari.load_dataset("{flags.out}") reads it'))
