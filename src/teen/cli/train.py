"""`teen train`: train all seeds and variants in one program, or continue a run that was cut."""

import os
import shlex
import sys
from pathlib import Path
from typing import Any

from .. import algos
from ..config import aliases, modules, presets, toml, variants
from ..config.facts import CHANGEABLE
from ..config.job import resolve
from ..config.run import RunSettings
from ..disk import files
from ..envs import arguments as env_arguments
from ..errors import UserError, printable
from ..settings import flag, leaves
from ..training import run as training
from ..training.scores import counted
from .parser import SIGNALLED, Parser, add_setting, add_trust
from .tables import show_episodes


def parser(algo: str = "", base: str | None = None) -> Parser:
    """Return the parser for an algorithm; without one, for the flags of all built-in ones, which a shell may offer."""
    names = (algo,) if algo else algos.NAMES
    parser = Parser(
        prog="teen train",
        description="Train all seeds in one program.",
        unknown=lambda name, known: aliases.unknown(name, algo, base, known, on_command_line=True),
    )
    group = parser.add_argument_group("files")
    group.add_argument("--config", type=Path, help="take settings from a TOML file; flags override it")
    group.add_argument("--preset", help=f"a named set of settings below both: {', '.join(presets.available())}")
    group.add_argument("--out", type=Path, help="new folder for the run (default runs/ALGO-ENV-k)")
    add_trust(group)
    group.add_argument("--resume", type=Path, help="continue the run in this folder instead; --steps may be raised")
    _add_shown(group)
    run = parser.add_argument_group("run")
    text = "arguments of the environment, as TOML values; they become part of its name"
    run.add_argument("--env-kwargs", nargs="+", metavar="KEY=VALUE", help=text)
    for leaf in leaves(RunSettings()):
        add_setting(run, leaf)
    algorithm = parser.add_argument_group(
        f"algorithm {' '.join(names)}",
        "FLOAT[,FLOAT...] may be a list: each value is a variant of the same program, with its own folder",
    )
    settings = {leaf.name: leaf for name in names for leaf in leaves(algos.default_config(name, base))}
    for leaf in settings.values():
        add_setting(algorithm, leaf)
    return parser


def command(arguments: list[str]) -> int:
    line = shlex.join(["teen", "train", *arguments])
    if any(argument.split("=")[0] == "--resume" for argument in arguments):
        folder, trust, members, log, changes = _resume_arguments(arguments)
        outcome = training.resume(folder, trust=trust, log=log, command=line, **changes)
    else:
        values, out, asked = _arguments(arguments)
        members = asked["members"]
        outcome = training.train_job(resolve(values), out, log=asked["log"], command=line, trust=asked["trust"])
    steps = counted(outcome.step, "step")
    for folder, episodes in zip(outcome.folders, outcome.episodes, strict=True):
        show_episodes(f"{folder} after {steps}", episodes, members)
        print(printable(f"picture: {folder / 'curve.png'}"))
    if outcome.stopped_by is None:
        return 0
    parent = os.path.commonpath(outcome.folders)
    when = f"after {steps}" if outcome.step else "before the first step"
    hint = f", and teen train --resume {parent} goes on" if Path(parent, "checkpoint").is_dir() else ""
    print(printable(f"stopped {when}; the agent so far is saved{hint}"), file=sys.stderr)
    return SIGNALLED + outcome.stopped_by


def _add_shown(parser: Any) -> None:
    """Add the flags for where a run is shown. They are no settings of it."""
    text = "log to tensorboard, wandb or trackio as well, or to several of them; CSV files are always written"
    parser.add_argument("--log", metavar="NAME[,NAME...]", help=text)
    parser.add_argument("--members", action="store_true", help="at the end, print the returns of each member, too")


def _arguments(arguments: list[str]) -> tuple[dict[str, Any], Path | None, dict[str, Any]]:
    """Return the config file's settings, overridden by flags, the output folder, and what is no setting: whether to
    print members, the loggers, and the modules that files may name."""
    first = Parser(prog="teen train", add_help=False)  # these decide which other flags there are
    for name in ("--algo", "--base", "--env"):
        first.add_argument(name)
    first.add_argument("--config", type=Path)
    add_trust(first)
    given, _ = first.parse_known_args(arguments)
    named = {name: value for name, value in (("algo", given.algo), ("env", given.env)) if value is not None}
    modules.import_named(named)
    values = _file_settings(given.config) if given.config else {}
    modules.admit({name: value for name, value in values.items() if name not in named}, given.config, given.trust)
    algo = str(given.algo or values.get("algo", RunSettings.algo))

    base = given.base or values.get("base")
    flags = vars(parser(algo, base).parse_args(arguments))
    if str(values.get("from_", "")).startswith("hf:") and "from_" not in flags:
        raise UserError(f"{given.config} begins with an agent on the Hub: say --from {values['from_']} to download it")
    out, asked = flags.pop("out"), {name: flags.pop(name) for name in ("members", "log", "trust")}
    del flags["config"], flags["resume"]
    if flags["env_kwargs"]:
        flags["env_kwargs"] = {k: v for text in flags["env_kwargs"] for k, v in env_arguments.read(text).items()}
    flags = {name: value for name, value in flags.items() if value is not None}
    if twice := next((name for name in variants.named(values.get(variants.KEY)) if name in flags), None):
        raise UserError(f"{flag(twice)} is a setting of the {variants.KEY} in {given.config}: change it there")
    return {**values, **flags}, out, asked


def _file_settings(path: Path) -> dict[str, Any]:
    try:
        return toml.parse(files.read_file(path, toml.LARGEST), path)
    except OSError as error:
        raise UserError(f"config file {path} cannot be read: {error.strerror}") from None


def _resume_arguments(arguments: list[str]) -> tuple[Path, str, bool, str | None, dict[str, Any]]:
    """Return the run's folder, the modules that it may name, whether to print members, the loggers, and the settings
    that change."""
    parser = Parser(prog="teen train --resume", description="Continue a run that was cut.")
    parser.add_argument("--resume", type=Path, required=True, help="the run's folder")
    add_trust(parser)
    _add_shown(parser)
    for leaf in leaves(RunSettings()):
        if leaf.name in CHANGEABLE:
            add_setting(parser, leaf)
    flags, others = parser.parse_known_args(arguments)
    if others:
        allowed = ", ".join("--" + name.replace("_", "-") for name in CHANGEABLE)
        raise UserError(f"a run goes on as it began: with --resume there is no {others[0]}, only {allowed}")
    changes = vars(flags)
    return changes.pop("resume"), changes.pop("trust"), changes.pop("members"), changes.pop("log"), changes
