"""Runs of Weights & Biases: one for each variant, which a resume continues. Its files lie in RUN/wandb."""

from collections.abc import Sequence
from importlib import import_module
from typing import Any

from ..disk import files
from ..errors import notice, one_line
from .background import LONGEST_REASON, PATIENCE
from .base import Row, Run, Variant, merged

PROJECT = "teen"  # unless WANDB_PROJECT or a settings file of Weights & Biases names another one
STEP = "env_step"  # the x axis: its own steps may not go back, and evaluations come after later steps


class WandB:
    """Never asks anybody to log in: where nobody is, or the server does not answer, it writes files that `wandb sync`
    uploads."""

    def __init__(self) -> None:
        self._runs: dict[str, Any] = {}

    def begin(self, run: Run) -> None:
        wandb: Any = import_module("wandb")
        mode = _mode(wandb)
        for variant in run.variants:
            self._runs[variant.name] = told = _run(wandb, run, variant, mode)
            told.define_metric(STEP, hidden=True)
            told.define_metric("*", step_metric=STEP)
            if not (told.offline or told.disabled):
                notice(f"wandb: {told.url}")

    def log(self, rows: Sequence[Row]) -> None:
        for (variant, step), values in merged(rows).items():
            self._runs[variant].log({**values, STEP: step})

    def close(self) -> None:
        for told in self._runs.values():
            told.finish()


def _mode(wandb: Any) -> str:
    """Return the mode that the user has chosen; or offline, if nobody is logged in, or the server does not answer. At a
    terminal, `wandb.init` would ask for a key."""
    mode = str(wandb.setup().settings.mode)
    if mode in ("offline", "dryrun", "disabled") or wandb.run is not None:  # a user's own run has logged in
        return mode
    try:
        if wandb.login(prompt=False):
            return mode
        reason = "nobody is logged in"
    except wandb.errors.AuthenticationError as error:
        reason = one_line(error)[:LONGEST_REASON]
    notice(f"wandb logs offline, and wandb sync uploads it: {reason}")
    return "offline"


def _run(wandb: Any, run: Run, variant: Variant, mode: str) -> Any:
    files.make_folder(variant.folder / "wandb")  # fails if it is a link
    settings = wandb.Settings(
        silent=True,
        console="off",  # standard output and error are not its business
        symlink=False,
        use_dot_wandb=False,  # in its own folder, whatever else lies there
        finish_timeout=PATIENCE,
        finish_timeout_raises=True,
    )
    return wandb.init(
        project=wandb.setup().settings.project or PROJECT,
        dir=variant.folder,
        id=variant.id,
        name=run.title(variant),
        group=run.folder.absolute().name,
        config=variant.settings,
        mode=mode,
        resume="allow",
        reinit="create_new",  # beside other variants, and beside what the user's program logs
        settings=settings,
    )
