"""A setting of TEEN varied: learning curves, scores, and diagnostics of the trained agents."""

from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Any

import numpy as np

from ..disk.logs import DIAGNOSTICS, read_log
from ..disk.saved import saved_step
from ..report.runs import Run
from ..report.statistics import sample_std
from ..training.analyze import Measured, Quantity, analyze
from . import curves
from .page import UNKNOWN, Page, Row, Table, figure_files
from .scale import Scale
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


def render(name: str, trained: Sequence[Trained], scale: Scale, quantities: Mapping[str, str]) -> Page:
    """Render curves, scores and these quantities of `teen analyze`, of which the first is plotted."""
    measured = diagnostics(trained, 2 if scale.smoke else EPISODES)
    page = curves.render(name, trained, scale, [_agents_table(trained, measured, quantities)])
    quantity, words = next(iter(quantities.items()))
    plot = figure_files(f"{name}-{quantity}", lambda: plot_quantity(trained, measured, quantity, words))
    return page._replace(
        data={**page.data, f"{name}-agents": measured},
        pictures=chain(page.pictures, plot if measured else ()),
        notes=[*page.notes, AGENTS],
    )


def diagnostics(trained: Sequence[Trained], episodes: int) -> list[Row]:
    """Return the diagnostics of the agents at the end of training. Saved agents without a record are measured now."""
    rows = []
    for item in trained:
        for run in item.runs:
            step, quantities = _measured(run, item.need.steps, episodes)
            agent = {"env": item.need.env, "label": item.entry.name}
            for seed, quantity, value in quantities:
                if seed in run.seeds:
                    rows.append({**agent, "seed": seed, "step": step, "quantity": quantity, "value": value})
    return rows


def _measured(run: Run, steps: int, episodes: int) -> Measured:
    """Return the diagnostics of a run's last evaluation, or else of its saved agent, whose step need not have been
    evaluated: a signal may have ended the run. An agent that has trained for more than `steps` does not count."""
    last, saved = int(run.steps[-1]), saved_step(run.path / "agent")
    recorded: dict[int, list[Quantity]] = {}  # by step
    with read_log(run.path, DIAGNOSTICS) as rows:
        for row in rows:
            quantity = int(row["seed"]), row["quantity"], float(row["value"])
            recorded.setdefault(int(row["step"]), []).append(quantity)
    if last in recorded:
        return Measured(last, recorded[last])
    if saved is None or saved > steps:
        return Measured(last, [])
    return Measured(saved, recorded[saved]) if saved in recorded else analyze(run.path, episodes)


def _values(measured: Sequence[Row], item: Trained, quantity: str) -> np.ndarray:
    """Return a quantity of an entry's agents, (seed,)."""
    wanted = {"env": item.need.env, "label": item.entry.name, "quantity": quantity}
    return np.array([row["value"] for row in measured if wanted.items() <= row.items()])


def _agents_table(trained: Sequence[Trained], measured: Sequence[Row], quantities: Mapping[str, str]) -> Table:
    def line(item: Trained) -> list[str]:
        place = item.need.env, item.entry.name
        steps = {row["step"] for row in measured if (row["env"], row["label"]) == place}
        after = ", ".join(f"{step:,}" for step in sorted(steps)) or UNKNOWN
        return [*place, after, *(_mean_and_std(_values(measured, item, quantity)) for quantity in quantities)]

    columns = ("task", "", "after step", *quantities.values())
    return Table("The trained agents", columns, [line(item) for item in trained])


def _mean_and_std(values: np.ndarray) -> str:
    if not values.size:
        return UNKNOWN
    std = sample_std(values)
    return f"{values.mean():.3g} ± {UNKNOWN if std is None else f'{std:.2g}'}"


def plot_quantity(trained: Sequence[Trained], measured: Sequence[Row], quantity: str, words: str) -> Any:
    """Plot a quantity over the varied setting: a panel for each task, a line for each group."""
    from matplotlib.figure import Figure  # takes long to import

    from ..report.figures import COLOURS, PAGE

    envs = list(dict.fromkeys(item.need.env for item in trained))
    groups = list(dict.fromkeys(item.entry.group for item in trained))
    figure = Figure(figsize=(PAGE, 2.4), layout="constrained")
    for env, axes in zip(envs, figure.subplots(1, len(envs), squeeze=False)[0], strict=True):
        panel = [item for item in trained if item.need.env == env]
        labels = list(dict.fromkeys(item.entry.label for item in panel))
        for group, colour in zip(groups, COLOURS, strict=False):
            line = [item for item in panel if item.entry.group == group]
            points = {labels.index(item.entry.label): _values(measured, item, quantity) for item in line}
            points = {x: values for x, values in points.items() if values.size}
            means = [values.mean() for values in points.values()]
            stds = np.array([sample_std(values) for values in points.values()], float)  # NaN, no bar, for one seed
            axes.errorbar(list(points), means, stds, fmt="o-", capsize=2, color=colour, label=group or "TEEN")
        axes.set_xticks(range(len(labels)), labels)
        axes.set_title(env)
    figure.axes[0].set_ylabel(words, fontsize=6)
    figure.axes[0].legend()
    return figure
