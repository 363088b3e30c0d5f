"""What a study has found: the best settings as a file to train with, a table, and a picture."""

from typing import TYPE_CHECKING, Any

from rich.table import Table

from ..config import toml
from ..disk.logs import csv_table
from ..jobs.place import Place
from ..jobs.study import Handle
from ..jobs.trials import WHY
from ..report.terminal import say
from ..report.terminal import show as print_table
from ..settings import number_text
from .batches import SAME_AS
from .file import StudyFile
from .importance import FEWEST, importances
from .space import Space, job_of

if TYPE_CHECKING:
    from optuna.trial import FrozenTrial

BEST, TRIALS, PICTURE = "best.toml", "trials.csv", "tune.png"
SHOWN = 10  # trials in the table


def complete_trials(handle: Handle) -> "list[FrozenTrial]":
    """Return the trials that were trained to their end, the best first."""
    trials = [trial for trial in handle.study.get_trials(deepcopy=False) if trial.state.name == "COMPLETE"]
    return sorted(trials, key=lambda trial: (-(trial.value or 0.0), trial.number))


def best_trial(handle: Handle) -> "FrozenTrial | None":
    return next(iter(complete_trials(handle)), None)


def write(handle: Handle, file: StudyFile, space: Space, place: Place) -> None:
    """Write what is known so far, in place of what was known before."""
    from .picture import drawn  # imports matplotlib, which takes a second

    trials = handle.study.get_trials(deepcopy=False)
    place.write(TRIALS, csv_table([_row(trial, space) for trial in trials]).encode())
    title = f"{file.name}: {meaning(file, space)}"
    place.write(PICTURE, drawn(trials, importances(handle), space, title))
    if best := best_trial(handle):
        job = job_of(space, space.of(best.params))
        head = f"# Trial {best.number} of study {file.name}: {best.value:.6g}, {meaning(file, space)}\n"
        place.write(BEST, (head + toml.dump(job.settings, job.variants[0].config)).encode())


def meaning(file: StudyFile, space: Space) -> str:
    """Say what a trial's value is."""
    seeds = len(space.settings["seeds"])
    last = f"the last {file.last} evaluations" if file.last > 1 else "the last evaluation"
    return f"mean return over {f'{seeds} seeds and ' if seeds > 1 else ''}{last}"


def _row(trial: "FrozenTrial", space: Space) -> dict[str, Any]:
    known = space.of(trial.params) if space.distributions.keys() <= trial.params.keys() else {}
    facts = {"trial": trial.number, "state": trial.state.name.lower(), "value": trial.value, "step": trial.last_step}
    notes = {"same_as": trial.user_attrs.get(SAME_AS), "why": trial.user_attrs.get(WHY)}
    return {**facts, **{name: known.get(name) for name in space.distributions}, **notes}


def show(handle: Handle, file: StudyFile, space: Space, place: Place) -> None:
    """Print the best trials, what mattered, and what to do next."""
    best, mattered = complete_trials(handle), importances(handle)
    table = Table()
    for column in ("trial", "value", *space.distributions):
        table.add_column(column, justify="right")
    for trial in best[:SHOWN]:
        values = [_text(value) for value in space.of(trial.params).values()]
        table.add_row(str(trial.number), f"{trial.value:.6g}", *values)
    states = [trial.state.name.lower() for trial in handle.study.get_trials(deepcopy=False)]
    table.caption = ", ".join(f"{states.count(state)} {state}" for state in dict.fromkeys(states)) or "no trial yet"
    say(f"study {file.name}: {meaning(file, space)}")
    print_table(table)
    if mattered:
        say("what mattered: " + ", ".join(f"{name} {share:.0%}" for name, share in mattered.items()))
    else:
        say(f"what mattered is known from {FEWEST} complete trials on")
    say(f"picture: {place}/{PICTURE}; all trials: {place}/{TRIALS}")
    if best:
        say(f"the best settings are in {place}/{BEST}: teen train --config {place}/{BEST}")


def _text(value: Any) -> str:
    return number_text(value) if isinstance(value, float) else str(value)
