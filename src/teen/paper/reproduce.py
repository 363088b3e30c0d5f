"""Experiments by name, trained and rendered into the output folder."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path

from ..envs import names as tasks
from ..envs import pool
from ..envs.gym import register_suite
from ..errors import UserError
from ..training.machine import PYTHON
from . import runs
from .caption import caption
from .experiments import EXPERIMENTS, Check
from .needs import Need
from .page import write_page
from .runs import Failure
from .scale import PRESET, Scale
from .store import Store

Trainer = Callable[[Sequence[Need], Path, str], tuple[int | None, list[Failure]]]


def train_and_render(
    names: Sequence[str], scale: Scale, out: Path, command: str = PYTHON, train: Trainer = runs.train
) -> int | None:
    """Train what is missing, here or as `train` does, then render. Return the signal that ended training early, without
    rendering. An error of a run is raised when all other work is done."""
    needs = {name: [entry.need for entry in EXPERIMENTS[name].entries(scale)] for name in names}
    checks: dict[str, list[Check]] = {
        name: [EXPERIMENTS[name].check, partial(_check_suite, needs[name], out)] for name in names
    }
    _check_installed(checks, "nothing was trained")
    wanted = [need for some in needs.values() for need in some]
    for planned in runs.planned_runs(wanted, out):
        if planned.state != "done":
            planned.job().check_learns()
    stopped_by, failures = train(wanted, out, command)
    if stopped_by is not None:
        return stopped_by
    render(names, scale, out)
    if failures:
        planned, error = failures[0]
        raise type(error)(f"{len(failures)} programs failed; the first, {planned.folder.name}: {error}") from error
    return None


def render(names: Sequence[str], scale: Scale, out: Path) -> None:
    """Write the page of each experiment from the runs that are there. The captions say what is missing."""
    _check_installed({name: [EXPERIMENTS[name].check] for name in names}, "nothing was drawn")
    store = Store(out)
    for name in names:
        experiment = EXPERIMENTS[name]
        trained = [store.trained(entry) for entry in experiment.entries(scale)]
        page = experiment.render(name, trained, scale)
        folder = out / (name if scale.preset == PRESET else f"{scale.preset}-{name}")
        path = write_page(page, folder, name, experiment.title, caption(experiment, trained, scale))
        lacking = sum(1 for item in trained if item.lacking)
        print(f"{name}: {path}" + (f" ({lacking} of {len(trained)} entries lack something)" if lacking else ""))


def _check_installed(checks: Mapping[str, Sequence[Check]], outcome: str) -> None:
    """Make the checks of each experiment, and raise one error for all that is not installed."""
    lacking: dict[str, list[str]] = {}  # who needs it, by what is not there
    for name, each in checks.items():
        for check in each:
            try:
                check()
            except UserError as error:
                lacking.setdefault(str(error), []).append(name)
    if lacking:
        reasons = "; ".join(f"{', '.join(names)}: {reason}" for reason, names in lacking.items())
        raise UserError(f"{outcome}, as something is not installed: {reasons}")


def _check_suite(needs: Sequence[Need], out: Path) -> None:
    """Raise an error if tasks of the DeepMind Control Suite are to be trained on, and nothing here makes them."""
    todo = [run.program.env for run in runs.planned_runs(needs, out) if run.left]
    lacking = [env for env in todo if tasks.is_suite(env) and pool.lacks(env)]
    if lacking:
        register_suite(lacking[0])
