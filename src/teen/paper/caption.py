"""Notes below every table and figure: how our runs differ from the paper's, and what is missing."""

from collections.abc import Sequence

from ..envs import names
from .experiments import Experiment
from .needs import Need, wanted_evaluation
from .scale import PRESET, Scale
from .store import Trained, evaluation_of

SMOKE = "**SMOKE**: a test of the machinery, with tiny networks and few steps. No number of ours means anything."
MUJOCO = "MuJoCo tasks are v4, which any Gymnasium makes; the paper has v3: the same tasks on an older simulator."
SUITE = "DeepMind Control tasks have action repeat 1 and flat observations; the paper says nothing of either."


def caption(experiment: Experiment, trained: Sequence[Trained], scale: Scale) -> list[str]:
    notes = [SMOKE] if scale.smoke and trained else []
    notes.append(f"The paper: {experiment.paper}")
    if not trained:
        return notes
    if scale.preset != PRESET:
        notes += other_settings(trained, scale.preset)
    steps, seeds = _extent([item.need for item in trained])
    paper_steps, paper_seeds = _extent([entry.need for entry in experiment.entries(Scale())])
    if steps != paper_steps:
        notes.append(f"Ours are up to step {steps:,}, the paper's up to {paper_steps:,}.")
    if seeds != paper_seeds:
        notes.append(f"Ours are of {seeds} seed{'s' if seeds > 1 else ''}, the paper's of {paper_seeds}.")
    suites = {names.is_suite(item.need.env) for item in trained}
    notes += [note for suite, note in ((False, MUJOCO), (True, SUITE)) if suite in suites]
    return notes + other_evaluations(trained) + missing(trained)


def _extent(needs: Sequence[Need]) -> tuple[int, int]:
    """Return the most steps and the most seeds that any of these needs."""
    return max(need.steps for need in needs), max(len(need.seeds) for need in needs)


def other_settings(trained: Sequence[Trained], preset: str) -> list[str]:
    """Return whose settings ours have: this preset's, or the paper's where it changes nothing."""
    kept = [("", item) for item in trained if item.need.preset == PRESET]
    if len(kept) == len(trained):
        return [f"`--preset {preset}` changes nothing here: all have the paper's settings."]
    said = f"Ours have the settings of `--preset {preset}`; the paper's numbers were obtained with the paper's."
    return [said, *(f"Not changed by that preset: {places}." for _, places in _places(kept))]


def other_evaluations(trained: Sequence[Trained]) -> list[str]:
    """Return one line for all entries whose runs were evaluated alike, but not as the preset says."""
    said = []
    for item in trained:
        wanted = wanted_evaluation(item.need.variant())
        for every, episodes in sorted({evaluation_of(run) for run in item.runs} - {wanted}):
            words = f"every {every:,} steps" if every else "at unknown intervals"
            words += f", {episodes} episode{'s' if episodes > 1 else ''} each" if episodes else ""
            said.append((f"{words}; the paper every {wanted[0]:,}, {wanted[1]} each", item))
    scores = "Their best so far is a maximum over more or fewer evaluations."
    return [f"Evaluated {words}: {places}. {scores}" for words, places in _places(said)]


def missing(trained: Sequence[Trained]) -> list[str]:
    """Return one line for all entries that lack the same."""
    lacking = [(item.lacking, item) for item in trained if item.lacking]
    return [f"Missing {words}: {places}." for words, places in _places(lacking)]


def _places(said: Sequence[tuple[str, Trained]]) -> list[tuple[str, str]]:
    """Return each thing that is said of entries, with all of them, by task."""
    entries: dict[str, dict[str, list[str]]] = {}
    for words, item in said:
        entries.setdefault(words, {}).setdefault(item.need.env, []).append(item.entry.name)
    return [
        (words, "; ".join(f"{env} ({', '.join(labels)})" for env, labels in tasks.items()))
        for words, tasks in entries.items()
    ]
