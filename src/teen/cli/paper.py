"""`teen paper`: list the experiments, say what they need, train what is missing and render them."""

import argparse
import shlex
import sys
from pathlib import Path

from ..config import presets
from ..config.job import parse_seeds
from ..errors import UserError
from ..paper.experiments import EXPERIMENTS, named
from ..paper.reproduce import Trainer, render, train_and_render
from ..paper.runs import train
from ..paper.scale import PRESET, Scale, compile_quickly
from ..paper.status import print_status
from .parser import SIGNALLED, Parser

OUT = Path("runs/paper")


def parser() -> Parser:
    parser = Parser(
        prog="teen paper",
        description="The paper's experiments. Without --run and --draw, the plan: what they need, have, and cost.",
    )
    parser.add_argument("experiments", nargs="*", metavar="EXPERIMENT", help="names, or all (default: list them)")
    parser.add_argument("--out", type=Path, default=OUT, help=f"folder of runs and results (default {OUT})")
    parser.add_argument("--seeds", help="10: seeds 0-9, and so on (default the paper's: 10, or 5 in its appendix)")
    parser.add_argument("--steps", type=int, help="steps of each run (default the paper's: 1M, or 5M for humanoid)")
    whose = f"settings of the runs: {', '.join(presets.available())} (default {PRESET})"
    parser.add_argument("--preset", default=PRESET, choices=presets.available(), help=whose)
    parser.add_argument("--smoke", action="store_true", help="a tiny version of everything, in minutes")
    parser.add_argument("--on", choices=("local", "ray"), default="local", help="with --run: here, or on a Ray cluster")
    parser.add_argument("--address", help="the cluster's; without it, one starts here and ends with the command")
    parser.add_argument("--cores", type=float, help="cores of each program on ray (default 2)")
    parser.add_argument("--gpus", type=float, help="GPUs of each program on ray; below 1: a share of one (default 0)")
    action = parser.add_mutually_exclusive_group()
    action.add_argument("--run", action="store_true", help="train what is missing, then write the pages")
    measures = "agents without a recorded diagnosis are measured, as by `teen analyze`"
    action.add_argument("--draw", action="store_true", help=f"train nothing, write pages of what is there; {measures}")
    here = "with the plan: measure how fast this machine trains, in minutes, instead of going by recorded speeds"
    action.add_argument("--measure", action="store_true", help=here)
    return parser


def command(arguments: list[str]) -> int:
    flags = parser().parse_args(arguments)
    line = shlex.join(["teen", "paper", *arguments])
    if flags.steps is not None and flags.steps < 2:
        raise UserError(f"--steps must be at least 2, not {flags.steps}")
    _check_where(flags)
    seeds = None if flags.seeds is None else parse_seeds(flags.seeds)
    if not flags.experiments and arguments:
        raise UserError("which experiments? Name some, or all; `teen paper` lists them")
    if not flags.experiments:
        for name, experiment in EXPERIMENTS.items():
            print(f"{name:<15} {experiment.title}")
        return 0
    names = named(flags.experiments)
    if flags.out.exists() and not flags.out.is_dir():
        raise UserError(f"--out {flags.out} is not a folder")
    scale = Scale(seeds, flags.steps, flags.smoke, flags.preset)
    if flags.smoke:
        compile_quickly()
    if flags.draw:
        render(names, scale, flags.out)
    elif not flags.run:
        again = shlex.join(argument for argument in arguments if argument != "--measure")
        print_status(names, scale, flags.out, f"teen paper {again} --run", flags.measure)
    elif (stopped_by := train_and_render(names, scale, flags.out, line, _trainer(flags))) is not None:
        print("stopped; the same command goes on from here", file=sys.stderr)
        return SIGNALLED + stopped_by
    return 0


def _check_where(flags: argparse.Namespace) -> None:
    """Raise a UserError where flags about a cluster make no sense."""
    for name in ("address", "cores", "gpus"):
        if flags.on != "ray" and getattr(flags, name) is not None:
            raise UserError(f"--{name} is for a Ray cluster: say --on ray, too")
    if flags.on == "ray" and not flags.run:
        raise UserError("--on ray is for training: say --run, too")
    if flags.cores is not None and not flags.cores > 0:
        raise UserError(f"--cores must be above 0, not {flags.cores:g}")
    if flags.gpus is not None and not 0 <= flags.gpus <= 1:
        raise UserError(f"--gpus must be from 0 to 1, not {flags.gpus:g}: a program learns on one GPU")


def _trainer(flags: argparse.Namespace) -> Trainer:
    if flags.on == "local":
        return train
    from ..paper.on_cluster import trainer

    return trainer(flags.address, flags.cores, flags.gpus)
