"""Short names for runs beside each other: what tells them apart."""

import hashlib
from collections.abc import Sequence
from typing import Any

from ..config.facts import BOOKKEEPING, values_before
from ..settings import number_text
from .runs import Run

LONGEST_LABEL = 300  # characters: it stands in every row of a report


def labels(runs: Sequence[Run]) -> list[str]:
    """Return a short name for each run: the algorithm, its base learner, and the settings in which runs of the same
    algorithm, base and task differ. A setting that differs within one task is named in all tasks."""
    shown: dict[str, set[str]] = {}  # settings to name, by algorithm
    for run in runs:
        peers = [other.settings for other in runs if (other.algo, other.env) == (run.algo, run.env)]
        same_base = [peer for peer in peers if peer.get("base") == run.settings.get("base")]
        bases = [{"base": peer["base"]} for peer in peers if "base" in peer]
        shown.setdefault(run.algo, set()).update(_differing(bases), _differing(same_base))
    names = []
    for run in runs:
        parts = [f"{name}={_short(run.settings[name])}" for name in run.settings if name in shown[run.algo] - {"base"}]
        base = run.settings.get("base")
        if base is not None and ("base" in shown[run.algo] or base != "td3"):
            parts.insert(0, f"base={base}")
        names.append(_cut(" ".join([run.algo, *parts])))
    return names


def _differing(runs: Sequence[dict[str, Any]]) -> set[str]:
    """Return the settings that do not have one value in all runs. An older run may lack some."""
    names = {name for settings in runs for name in settings} - BOOKKEEPING
    complete = runs
    if any(names - settings.keys() for settings in runs):  # only then, since it imports JAX
        before = {name: value for name, value in values_before().items() if name in names}
        complete = [{**before, **settings} for settings in runs]
    values = {name: [settings[name] for settings in complete if name in settings] for name in names}
    return {name for name, (first, *others) in values.items() if any(other != first for other in others)}


def _short(value: Any) -> str:
    """Return a text that is different for different values."""
    return number_text(value) if isinstance(value, float) else str(value)


def _cut(label: str) -> str:
    """Cut a label that is too long, so that different ones stay different."""
    if len(label) <= LONGEST_LABEL:
        return label
    return f"{label[:LONGEST_LABEL]}… {hashlib.sha256(label.encode()).hexdigest()[:8]}"
