"""A setting of TEEN varied: learning curves, scores, and what the trained agents are like."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ..disk.agent import saved_step
from ..report.runs import Run, log
from ..training.analyze import Measured, Quantity, analyze
from . import curves
from .draw import UNKNOWN, Page, Picture, Row, Table, pictures
from .scale import Scale
from .scores import NOTE, cells, others, steps_shown, tables
from .store import Trained

EPISODES = 10  # behind each quantity
AGENTS = "Bias and diversity are those of the agents at the end of training, as recorded then or by `teen analyze`."

BIAS = {
    "bias_normalised_mean": "bias: mean of Q − return, over the mean return",
    "bias_relative_mean": "bias, state by state: (Q − return) / max(|return|, 10)",
    "bias_raw_mean": "bias: Q − return",
}
DIVERSITY = {
    "entropy_all": "H[ρ] of visited (s, a), in nats",
    "kl_members": "of it, between members",
    "discriminator_bound": "log N + E log q(z | s, a)",
    "action_distance": "distance between members' actions",
}


def page(name: str, trained: Sequence[Trained], scale: Scale, quantities: Mapping[str, str]) -> Page:
    """`quantities` are those of `teen analyze` that are shown, the first of them in the picture."""
    found, panels = cells(trained, steps_shown(trained)), curves.panels(trained)
    measured = diagnostics(trained, 2 if scale.smoke else EPISODES) if quantities else []
    data = {name: [cell.row() for cell in found], f"{name}-curves": curves.rows(panels)}
    agents = [_table(trained, measured, quantities)] if quantities else []
    return Page(
        [*tables(found), *agents, *others(found)],
        {**data, **({f"{name}-agents": measured} if quantities else {})},
        _pictures(name, panels, trained, measured, quantities),
        [NOTE, curves.NOTE, *([AGENTS] if quantities else [])],
    )


def _pictures(
    name: str,
    panels: list[curves.Panel],
    trained: Sequence[Trained],
    measured: Sequence[Row],
    quantities: Mapping[str, str],
) -> Iterator[Picture]:
    yield from curves.draw(name, panels)
    if measured:
        quantity, words = next(iter(quantities.items()))
        yield from pictures(f"{name}-{quantity}", lambda: _points(trained, measured, quantity, words))


def diagnostics(trained: Sequence[Trained], episodes: int) -> list[Row]:
    """Of the agents at the end of training: as recorded, or else measured now where they are saved."""
    return [
        {
            "env": own.need.env,
            "label": own.entry.name,
            "seed": seed,
            "step": measured.step,
            "quantity": quantity,
            "value": value,
        }
        for own in trained
        for run in own.runs
        for measured in [_measured(run, own.need.steps, episodes)]
        for seed, quantity, value in measured.quantities
        if seed in run.seeds
    ]


def _measured(run: Run, steps: int, episodes: int) -> Measured:
    """A saved agent need not be of a step that was evaluated: a signal may have ended its run. One that has trained
    longer than asked for does not count."""
    last, saved = int(run.steps[-1]), saved_step(run.path / "agent")
    recorded = _recorded(run.path)
    if last in recorded:
        return Measured(last, recorded[last])
    if saved is None or saved > steps:
        return Measured(last, [])
    return Measured(saved, recorded[saved]) if saved in recorded else analyze(run.path, episodes)


def _recorded(run: Path) -> dict[int, list[Quantity]]:
    """By step."""
    found: dict[int, list[Quantity]] = {}
    with log(run, "diagnostics.csv") as rows:
        for row in rows:
            quantity = int(row["seed"]), row["quantity"], float(row["value"])
            found.setdefault(int(row["step"]), []).append(quantity)
    return found


def _values(measured: Sequence[Row], env: str, label: str, quantity: str) -> list[float]:
    wanted = {"env": env, "label": label, "quantity": quantity}
    return [row["value"] for row in measured if wanted.items() <= row.items()]


def _table(trained: Sequence[Trained], measured: Sequence[Row], quantities: Mapping[str, str]) -> Table:
    def cell(own: Trained, quantity: str) -> str:
        values = _values(measured, own.need.env, own.entry.name, quantity)
        return f"{np.mean(values):.3g} ± {np.std(values):.2g}" if values else UNKNOWN

    def line(own: Trained) -> list[str]:
        steps = {row["step"] for row in measured if (row["env"], row["label"]) == (own.need.env, own.entry.name)}
        after = ", ".join(f"{step:,}" for step in sorted(steps)) or UNKNOWN
        return [own.need.env, own.entry.name, after, *(cell(own, quantity) for quantity in quantities)]

    return Table("The trained agents", ("task", "", "after step", *quantities.values()), [line(own) for own in trained])


def _points(trained: Sequence[Trained], measured: Sequence[Row], quantity: str, words: str) -> Any:
    from matplotlib.figure import Figure

    from ..report.figures import COLOURS, PAGE

    envs = list(dict.fromkeys(own.need.env for own in trained))
    figure = Figure(figsize=(PAGE, 2.4), layout="constrained")
    groups = list(dict.fromkeys(own.entry.group for own in trained))
    for place, env in enumerate(envs):
        axes = figure.add_subplot(1, len(envs), place + 1)
        here = [own for own in trained if own.need.env == env]
        labels = list(dict.fromkeys(own.entry.label for own in here))
        for number, group in enumerate(groups):
            own = {
                o.entry.label: _values(measured, env, o.entry.name, quantity) for o in here if o.entry.group == group
            }
            known = {labels.index(label): values for label, values in own.items() if values}
            means, stds = ([f(v) for v in known.values()] for f in (np.mean, np.std))
            axes.errorbar(list(known), means, stds, fmt="o-", capsize=2, color=COLOURS[number], label=group or "TEEN")
        axes.set_xticks(range(len(labels)), labels)
        axes.set_title(env)
    figure.axes[0].set_ylabel(words, fontsize=6)
    figure.axes[0].legend()
    return figure
