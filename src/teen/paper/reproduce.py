"""Experiments by name, trained and rendered into the output folder."""

from collections.abc import Sequence
from pathlib import Path

from . import runs
from .caption import caption
from .experiments import EXPERIMENTS
from .page import write_page
from .scale import Scale
from .store import Store


def train_and_render(names: Sequence[str], scale: Scale, out: Path) -> int | None:
    """Train what is missing, then render. Return the signal that ended training early, without rendering. An error of
    a run is raised when all other work is done."""
    experiments = [EXPERIMENTS[name] for name in names]
    for experiment in experiments:
        experiment.check()
    needs = [entry.need for experiment in experiments for entry in experiment.entries(scale)]
    stopped_by, failures = runs.train(needs, out)
    if stopped_by is not None:
        return stopped_by
    render(names, scale, out)
    if failures:
        planned, error = failures[0]
        raise type(error)(f"{len(failures)} programs failed; the first, {planned.folder.name}: {error}") from error
    return None


def render(names: Sequence[str], scale: Scale, out: Path) -> None:
    """Write the page of each experiment from the runs that are there. The captions say what is missing."""
    store = Store(out)
    for name in names:
        experiment = EXPERIMENTS[name]
        experiment.check()
        trained = [store.trained(entry) for entry in experiment.entries(scale)]
        page = experiment.render(name, trained, scale)
        path = write_page(page, out / name, name, experiment.title, caption(experiment, trained, scale))
        lacking = sum(1 for item in trained if item.lacking)
        print(f"{name}: {path}" + (f" ({lacking} of {len(trained)} entries lack something)" if lacking else ""))
