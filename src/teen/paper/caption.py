"""What must be said below every table and figure: how ours differ from the paper's, and what is missing."""

from collections.abc import Sequence

from ..envs import names
from .experiments import Experiment
from .scale import Scale
from .store import Trained

SMOKE = "**SMOKE**: a test of the machinery, with tiny networks and few steps. No number of ours means anything."
MUJOCO = "MuJoCo tasks are v4, which any Gymnasium makes; the paper has v3: the same tasks on an older simulator."
SUITE = "DeepMind Control tasks have action repeat 1 and flat observations; the paper says nothing of either."


def caption(experiment: Experiment, trained: Sequence[Trained], scale: Scale) -> list[str]:
    envs = {own.need.env for own in trained}
    notes = [SMOKE] if scale.smoke and trained else []
    notes.append(f"The paper: {experiment.paper}")
    if trained:
        notes += [note for note in (_steps(experiment, trained), _seeds(experiment, trained)) if note]
        notes += [MUJOCO] if any(not names.is_suite(env) for env in envs) else []
        notes += [SUITE] if any(names.is_suite(env) for env in envs) else []
        notes += missing(trained)
    return notes


def missing(trained: Sequence[Trained]) -> list[str]:
    """A line for all entries that lack the same."""
    lines = dict[str, dict[str, list[str]]]()
    for own in trained:
        if own.lacking:
            lines.setdefault(own.lacking, {}).setdefault(own.need.env, []).append(own.entry.name)
    places = {what: [f"{env} ({', '.join(own)})" for env, own in where.items()] for what, where in lines.items()}
    return [f"Missing {what}: {'; '.join(where)}." for what, where in places.items()]


def _steps(experiment: Experiment, trained: Sequence[Trained]) -> str:
    ours = max(own.need.steps for own in trained)
    return "" if ours == experiment.steps else f"Ours are up to step {ours:,}, the paper's up to {experiment.steps:,}."


def _seeds(experiment: Experiment, trained: Sequence[Trained]) -> str:
    ours = max(len(own.need.seeds) for own in trained)
    if ours == experiment.seeds:
        return ""
    return f"Ours are of {ours} seed{'s' if ours > 1 else ''}, the paper's of {experiment.seeds}."
