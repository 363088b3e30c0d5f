"""The command `teen`. Bad input ends in one line on standard error and exit code 2."""

import importlib
import os
import signal
import sys
import threading
from typing import NoReturn

from .. import __version__
from ..errors import EnvironmentFault, LearnerFault, StorageFault, UserError, printable
from ..training import streams
from ..training.stopping import KEPT
from .parser import SIGNALLED

USAGE = """\
usage: teen COMMAND [options]

  teen train --algo teen --env HalfCheetah-v5 --seeds 10 --out runs/cheetah
  teen train --config runs/cheetah/config.toml     the same run again
  teen train --resume runs/cheetah                 continues a run that was cut; --steps may be raised
  teen train --config … --from runs/cheetah        a new run that begins with trained networks
  teen eval runs/cheetah --episodes 10             fresh episodes of a trained agent
  teen play runs/cheetah --video out.mp4           a film of it; --members: all of an ensemble side by side
  teen share runs/cheetah --out cheetah            a folder that others can load, with its score and a page
  teen envs                                        the tasks that can be trained on here
  teen analyze runs/cheetah                        bias, entropies and members of a trained agent
  teen compare runs/a runs/b                       tables: mean ± std, IQM with intervals, who is better
  teen export runs/cheetah --to onnx --out p.onnx  the policy for other programs; also numpy, and episodes for minari
  teen report runs/a runs/b --out report           one page to look at, with figures and data
  teen serve runs                                  the same page live, on this machine only
  teen sweep grid.toml --on ray                    many jobs: a grid over any settings, here or on a cluster
  teen tune study.toml                             search for settings with Optuna, trials as lanes of one program
  teen status runs/sweep                           every job: waiting, running, done or failed, and why
  teen fetch s3://lab/sweep --out runs/sweep       the runs of jobs at a URL, to compare and report them
  teen paper                                       every table and figure of the paper
  teen doctor                                      what works on this machine, and what to do about the rest
  teen completion bash                             a script that completes commands and flags; or zsh, fish

teen COMMAND --help lists a command's options; teen train --algo NAME --help those of an algorithm."""

# Each is a module of this package with `command(arguments) -> exit code` and the `parser()` that it uses, imported when
# it is used: JAX, simulators and matplotlib take seconds to import.
COMMANDS = (
    "train", "eval", "play", "export", "share", "envs", "analyze", "compare", "report", "serve", "sweep", "tune",
    "status", "fetch", "paper", "doctor", "completion",
)  # fmt: skip
WORKERS = (["train"], ["sweep"], ["tune"], ["paper"])  # what they do counts, not what they print
EXIT_CODES = {UserError: 2, EnvironmentFault: 3, LearnerFault: 4, StorageFault: 5}


def entry() -> NoReturn:
    """Run the command as a process."""
    output, _ = streams.prepare()
    code = main()
    output.flush()
    if output.lost and code == 0 and sys.argv[1:2] not in WORKERS:
        if not output.closed_by_reader:
            print(f"teen: standard output cannot be written: {output.lost.strerror}", file=sys.stderr)
        code = SIGNALLED + signal.SIGPIPE if output.closed_by_reader else EXIT_CODES[StorageFault]
    sys.stderr.flush()
    if threading.active_count() > 1:  # left behind in a hanging environment: Python would crash while it cleans up
        os._exit(code)
    sys.exit(code)


def main(arguments: list[str] | None = None) -> int:
    """Run the command and return its exit code."""
    arguments = sys.argv[1:] if arguments is None else arguments
    if arguments in (["--version"], ["-V"]):
        print(__version__)
        return 0
    if not arguments or arguments[0] in ("-h", "--help"):
        print(USAGE)
        return 0
    name, *options = arguments
    try:
        if name not in COMMANDS:
            raise UserError(f"unknown command {name!r}: choose from {', '.join(COMMANDS)}")
        return int(importlib.import_module(f".{name}", __package__).command(options))
    except tuple(EXIT_CODES) as error:
        print(f"teen: {printable(str(error))}", file=sys.stderr)
        return next(code for kind, code in EXIT_CODES.items() if isinstance(error, kind))
    except OSError as error:  # a path that is too long, a folder that may not be read, a disk that fails
        print(
            f"teen: {printable(f'{error.filename}: {error.strerror}' if error.filename else str(error))}",
            file=sys.stderr,
        )
        return EXIT_CODES[UserError]
    except Exception as error:
        if not (isinstance(error, MemoryError) or "RESOURCE_EXHAUSTED" in str(error)):  # the latter is JAX's
            raise
        hint = ": take fewer seeds, or smaller networks or batches" if name == "train" else ""
        print(f"teen: there is not enough memory{hint}", file=sys.stderr)
        return EXIT_CODES[UserError]
    except KeyboardInterrupt:  # training answers the first Ctrl-C itself
        kept = f"; {KEPT}" if name == "train" else ""
        print(f"teen: stopped at once{kept}", file=sys.stderr)
        return SIGNALLED + signal.SIGINT
