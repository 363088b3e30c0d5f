"""The command `teen`. Bad input ends in one line on standard error and exit code 2."""

import argparse
import importlib
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal, NoReturn, get_args, get_origin

from ..errors import EnvironmentFault, LearnerFault, StorageFault, UserError, printable
from ..settings import Leaf, leaves

USAGE = """\
usage: teen COMMAND [options]

  teen train --algo teen --env HalfCheetah-v5 --seeds 10 --out runs/cheetah
  teen train --config runs/cheetah/config.toml     the same run again
  teen train --resume runs/cheetah                 goes on where that run was cut; --steps may be raised
  teen eval runs/cheetah --episodes 10             fresh episodes of a trained agent
  teen envs                                        what can be trained on here
  teen analyze runs/cheetah                        bias, entropies and members of a trained agent
  teen compare runs/a runs/b                       tables: mean ± std, IQM with intervals, who is better
  teen report runs/a runs/b --out report           one page to look at, with figures and data
  teen serve runs                                  the same page live, on this machine only
  teen paper                                       every table and figure of the paper

teen COMMAND --help lists a command's options; teen train --algo NAME --help those of an algorithm."""

EXIT_CODES = {UserError: 2, EnvironmentFault: 3, LearnerFault: 4, StorageFault: 5}
SIGNALLED = 128  # plus the signal's number, as a shell reports it: 130 after Ctrl-C, 143 after SIGTERM


class Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        if message.endswith("expected one argument"):  # argparse takes -1,-2 for a flag
            message += "; a list that begins with a minus is written --flag=-1,-2"
        raise UserError(f"{message} (see {self.prog} --help)")


def _add(group: Any, leaf: Leaf) -> None:
    """A flag for a setting. Absent flags stay absent, so that a config file can speak in their place."""
    source = f"; from {leaf.source}" if leaf.source else ""
    default = ",".join(map(str, leaf.value)) + "," if isinstance(leaf.value, tuple) else leaf.value
    text = f"{leaf.help} (default {'none' if default == '' else default}{source})".replace("%", "%%")
    options: dict[str, Any] = {"dest": leaf.name, "help": text, "default": argparse.SUPPRESS}
    if leaf.type is bool:
        group.add_argument(leaf.flag, action=argparse.BooleanOptionalAction, **options)
        return
    kind = {int: "INT", float: "FLOAT[,FLOAT...]" if leaf.per_lane else "FLOAT"}.get(leaf.type, "TEXT")
    if get_origin(leaf.type) is Literal:
        kind = "{" + ",".join(get_args(leaf.type)) + "}"
    parse: Callable[[str], Any] = _numbers if leaf.per_lane else str
    group.add_argument(leaf.flag, type=parse, metavar=kind, **options)


def _numbers(text: str) -> Any:
    return text.split(",") if "," in text else text


def _train_values(arguments: list[str]) -> tuple[dict[str, Any], Path | None]:
    """The config file's settings with the flags' on top, and the output folder."""
    from .. import algos
    from ..config import job as config
    from ..config import presets

    first = Parser(prog="teen train", add_help=False, allow_abbrev=False)
    first.add_argument("--algo")
    first.add_argument("--base")
    first.add_argument("--config", type=Path)
    known, _ = first.parse_known_args(arguments)
    values = config.read(known.config) if known.config else {}
    algo = str(known.algo or values.get("algo", config.Run.algo))

    parser = Parser(prog="teen train", allow_abbrev=False, description="Train all seeds in one program.")
    files = parser.add_argument_group("files")
    files.add_argument("--config", type=Path, help="take settings from a TOML file; flags override it")
    files.add_argument("--preset", help=f"a named set of settings below both: {', '.join(presets.available())}")
    files.add_argument("--out", type=Path, help="new folder for the run (default runs/ALGO-ENV-k)")
    files.add_argument("--resume", type=Path, help="go on with the run in this folder instead; --steps may be raised")
    run = parser.add_argument_group("run")
    for leaf in leaves(config.Run()):
        _add(run, leaf)
    own = parser.add_argument_group(
        f"algorithm {algo}",
        "FLOAT[,FLOAT...] may be a list: each value is a variant of the same program, with its own folder",
    )
    for leaf in leaves(algos.default_config(algo, known.base or values.get("base"))):
        _add(own, leaf)
    flags = vars(parser.parse_args(arguments))
    out = flags.pop("out")
    del flags["config"], flags["resume"]
    return {**values, **{name: value for name, value in flags.items() if value is not None}}, out


def _resume_values(arguments: list[str]) -> tuple[Path, dict[str, Any]]:
    """The run's folder, and the few settings that may change on the way."""
    from ..config import job as config
    from ..training import run as training

    parser = Parser(prog="teen train --resume", allow_abbrev=False, description="Go on with a run that was cut.")
    parser.add_argument("--resume", type=Path, required=True, help="the run's folder")
    for leaf in leaves(config.Run()):
        if leaf.name in training.GOING_ON:
            _add(parser, leaf)
    known, others = parser.parse_known_args(arguments)
    if others:
        allowed = ", ".join("--" + name.replace("_", "-") for name in training.GOING_ON)
        raise UserError(f"a run goes on as it began: with --resume there is no {others[0]}, only {allowed}")
    changes = vars(known)
    return changes.pop("resume"), changes


def train(arguments: list[str]) -> int:
    if any(argument.split("=")[0] == "--resume" for argument in arguments):
        path, changes = _resume_values(arguments)
        from ..training import run as training

        outcome = training.resume(path, **changes)
    else:
        values, out = _train_values(arguments)
        from ..config import job as config
        from ..training import run as training

        outcome = training.run(config.resolve(values), out)
    for folder, episodes in zip(outcome.folders, outcome.episodes, strict=True):
        _print_table(f"{folder} after {outcome.step} steps", episodes)
        print(f"picture: {folder / 'curve.png'}")
    if outcome.stopped_by is None:
        return 0
    whole = os.path.commonpath(outcome.folders)
    go_on = f", and teen train --resume {whole} goes on" if Path(whole, "checkpoint").is_dir() else ""
    print(f"stopped after {outcome.step} steps; the agent so far is saved{go_on}", file=sys.stderr)
    return SIGNALLED + outcome.stopped_by


def evaluate(arguments: list[str]) -> int:
    parser = Parser(
        prog="teen eval", allow_abbrev=False, description="Fresh episodes of a trained agent, without noise."
    )
    parser.add_argument("run", type=Path, help="a run directory")
    parser.add_argument("--episodes", type=int, default=10, help="episodes of each seed's policy (default 10)")
    parser.add_argument("--seed", type=int, default=0, help="chooses other starting states (default 0)")
    parser.add_argument("--members", action="store_true", help="also one episode of each member")
    flags = parser.parse_args(arguments)
    if flags.episodes < 1 or flags.seed < 0:
        raise UserError("--episodes must be at least 1 and --seed at least 0")
    from ..disk.loading import load

    agent = load(flags.run)
    episodes = agent.evaluate(flags.episodes, flags.seed, flags.members)
    _print_table(f"{flags.run}: {agent.run.algo} on {agent.run.env} after {agent.step} steps", episodes)
    return 0


def _print_table(title: str, episodes: list[Any]) -> None:
    """Return and length of each seed's policies, mean ± std over episodes, and over all seeds."""
    import numpy as np
    from rich.console import Console
    from rich.table import Table

    if not episodes:
        return
    table = Table(title=title, title_justify="left")
    for column in ("seed", "policy", "episodes", "return", "length"):
        table.add_column(column, justify="right")

    def add(seed: str, policy: str, rows: list[Any]) -> None:
        scores, lengths = [row.score for row in rows], [row.length for row in rows]
        spread = f"{np.mean(scores):.1f} ± {np.std(scores):.1f}"
        table.add_row(seed, policy, str(len(rows)), spread, f"{np.mean(lengths):.0f}")

    groups: dict[tuple[int, str], list[Any]] = {}
    for row in episodes:
        groups.setdefault((row.seed, row.policy), []).append(row)
    for (seed, policy), rows in groups.items():
        add(str(seed), policy, rows)
    headline = [np.mean([r.score for r in rows]) for (_, policy), rows in groups.items() if policy == "mean"]
    table.caption = f"over {len(headline)} seeds: {np.mean(headline):.1f} ± {np.std(headline):.1f}"
    Console(width=None if sys.stdout.isatty() else 100).print(table)


def list_envs(arguments: list[str]) -> int:
    parser = Parser(prog="teen envs", allow_abbrev=False, description="The tasks that can be trained on here.")
    parser.add_argument("filter", nargs="?", default="", help="show only names that contain this")
    flags = parser.parse_args(arguments)
    from rich.console import Console
    from rich.table import Table

    from ..envs import catalogue

    table = Table(box=None, padding=(0, 2, 0, 0))
    for column, side in (
        ("task", "left"),
        ("obs", "right"),
        ("action", "right"),
        ("backends", "left"),
        ("paper", "left"),
    ):
        table.add_column(column, justify="left" if side == "left" else "right", no_wrap=True)
    tasks = catalogue.tasks(flags.filter)
    if not tasks:
        raise UserError(f"no task here has {flags.filter!r} in its name")
    for task in tasks:
        table.add_row(task.name, str(task.spec.obs), str(task.spec.action), ", ".join(task.backends), task.paper)
    Console(width=None if sys.stdout.isatty() else 100).print(table)
    for missing in catalogue.missing():
        print(missing, file=sys.stderr)
    return 0


def _elsewhere(module: str, function: str = "command") -> Callable[[list[str]], int]:
    """A command that is imported when it is used: what it needs takes its time."""

    def command(arguments: list[str]) -> int:
        chosen: Callable[[list[str]], int] = getattr(importlib.import_module(module, __package__), function)
        return chosen(arguments)

    return command


COMMANDS: dict[str, Callable[[list[str]], int]] = {
    "train": train,
    "eval": evaluate,
    "envs": list_envs,
    "analyze": _elsewhere("..training.analyze"),
    "compare": _elsewhere("..report.compare"),
    "report": _elsewhere("..report.write", "command_report"),
    "serve": _elsewhere("..report.serve", "command_serve"),
    "paper": _elsewhere(".paper"),
}


def main(arguments: list[str] | None = None) -> int:
    arguments = sys.argv[1:] if arguments is None else arguments
    if arguments in (["--version"], ["-V"]):
        from .. import __version__

        print(__version__)
        return 0
    if not arguments or arguments[0] in ("-h", "--help"):
        print(USAGE)
        return 0
    sys.path.append(os.getcwd())  # so that package.module:Id and one's own algorithm are found here
    try:
        if arguments[0] not in COMMANDS:
            raise UserError(f"unknown command {arguments[0]!r}: choose from {', '.join(COMMANDS)}")
        return COMMANDS[arguments[0]](arguments[1:])
    except tuple(EXIT_CODES) as error:
        print(f"teen: {printable(str(error))}", file=sys.stderr)
        return next(code for kind, code in EXIT_CODES.items() if isinstance(error, kind))
    except KeyboardInterrupt:  # training answers the first Ctrl-C itself
        kept = "; logs and the last checkpoint are kept, the agent is not saved" if arguments[0] == "train" else ""
        print(f"teen: stopped at once{kept}", file=sys.stderr)
        return SIGNALLED + signal.SIGINT
