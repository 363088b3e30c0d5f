"""The command reference: what `teen COMMAND --help` prints, for every command and algorithm that there is."""

import contextlib
import io
import os
from unittest import mock

from teen import algos
from teen.cli import main as cli

COLUMNS = 94  # that a page shows without a scroll bar


def reference() -> str:
    """Return the page's Markdown."""
    parts = []
    for name in cli.COMMANDS:
        parts += [f"## teen {name}", *(_train() if name == "train" else [_block(help_of(name))])]
    return "\n\n".join(parts)


def help_of(*arguments: str) -> str:
    """Return what a command prints when it is asked for help."""
    out = io.StringIO()
    fixed = mock.patch.dict(os.environ, COLUMNS=str(COLUMNS), NO_COLOR="1")
    with fixed, contextlib.redirect_stdout(out), contextlib.suppress(SystemExit):
        code = cli.main([*arguments, "--help"])
        assert code == 0, f"teen {' '.join(arguments)} --help ends with {code}"
    return out.getvalue().rstrip()


def _train() -> list[str]:
    """What all algorithms share stands first, then the settings of each; its usage would name all of them again."""
    parts = []
    for algo in algos.NAMES:
        shared, _, own = help_of("train", "--algo", algo).partition(f"\n\nalgorithm {algo}:\n")
        _, _, shared = shared.partition("\n\n")
        title, base = f"teen train --algo {algo}", f"[{algo.upper()}](algos/{algo}.md)"
        parts += [] if parts else [_block(f"usage: teen train [options]\n\n{shared}")]
        parts += [f"### {title}", f"{base}, beside the settings above:", _block(own)]
    return [*parts, "### teen train --resume", _block(help_of("train", "--resume", "RUN"))]


def _block(text: str) -> str:
    return f"```text\n{text}\n```"
