"""`teen paper`: lists the experiments, says what they need, runs what is missing and draws them."""

import shlex
import sys
from collections.abc import Sequence
from pathlib import Path

from ..errors import UserError
from ..paper.scale import Scale, compile_quickly

OUT = Path("runs/paper")


def command(arguments: list[str]) -> int:
    from ..config import job as config
    from .main import SIGNALLED, Parser

    parser = Parser(
        prog="teen paper",
        allow_abbrev=False,
        description="The paper's experiments. Without --run and --draw: what they need, have, and cost.",
    )
    parser.add_argument("experiments", nargs="*", metavar="EXPERIMENT", help="names, or all (default: list them)")
    parser.add_argument("--out", type=Path, default=OUT, help=f"folder of runs and results (default {OUT})")
    parser.add_argument("--seeds", help="10: seeds 0-9, and so on (default the paper's: 10, or 5 in its appendix)")
    parser.add_argument("--steps", type=int, help="steps of each run (default the paper's: 1M, or 5M for humanoid)")
    parser.add_argument("--smoke", action="store_true", help="a tiny version of everything, in minutes")
    action = parser.add_mutually_exclusive_group()
    action.add_argument("--run", action="store_true", help="train what is missing, then draw")
    measures = "agents without a recorded diagnosis are measured, as by `teen analyze`"
    action.add_argument("--draw", action="store_true", help=f"train nothing, draw what is there; {measures}")
    flags = parser.parse_args(arguments)
    if flags.steps is not None and flags.steps < 2:
        raise UserError(f"--steps must be at least 2, not {flags.steps}")
    if flags.seeds is not None:
        flags.seeds = config.parse_seeds(flags.seeds)
    from ..paper import experiments

    if not flags.experiments and (flags.run or flags.draw):
        raise UserError("which experiments? Name some, or all; `teen paper` lists them")
    if not flags.experiments:
        for name, experiment in experiments.EXPERIMENTS.items():
            print(f"{name:<15} {experiment.title}")
        return 0
    names = experiments.named(flags.experiments)
    if flags.out.exists() and not flags.out.is_dir():
        raise UserError(f"--out {flags.out} is not a folder")
    scale = Scale(flags.seeds, flags.steps, flags.smoke)
    if flags.smoke:
        compile_quickly()
    if flags.draw:
        draw(names, scale, flags.out)
        return 0
    if not flags.run:
        from ..paper.plan import show

        show(names, scale, flags.out, f"teen paper {shlex.join(arguments)} --run")
        return 0
    stopped_by = run(names, scale, flags.out)
    if stopped_by is None:
        return 0
    print("stopped; the same command goes on from here", file=sys.stderr)
    return SIGNALLED + stopped_by


def run(names: Sequence[str], scale: Scale, out: Path) -> int | None:
    """Trains and draws. Returns the signal that ended it early. What failed is raised when all else is done."""
    from ..paper import experiments, runs

    chosen = [experiments.EXPERIMENTS[name] for name in names]
    for experiment in chosen:
        experiment.check()
    needs = [entry.need for experiment in chosen for entry in experiment.entries(scale)]
    failures: list[runs.Failure] = []
    stopped_by = runs.train(needs, out, failures)
    if stopped_by is not None:
        return stopped_by
    draw(names, scale, out)
    if failures:
        program, error = failures[0]
        raise type(error)(f"{len(failures)} programs failed; the first, {program.folder.name}: {error}") from error
    return None


def draw(names: Sequence[str], scale: Scale, out: Path) -> None:
    """With what there is; the captions say what is missing."""
    from ..paper import caption, experiments
    from ..paper.draw import write
    from ..paper.store import Store

    store = Store(out)
    for name in names:
        experiment = experiments.EXPERIMENTS[name]
        experiment.check()
        trained = [store.trained(entry) for entry in experiment.entries(scale)]
        page = experiment.page(name, trained, scale)
        notes = caption.caption(experiment, trained, scale)
        written = write(page, out / name, name, experiment.title, notes)
        lacking = sum(1 for own in trained if own.lacking)
        print(f"{name}: {written}" + (f" ({lacking} of {len(trained)} entries lack something)" if lacking else ""))
