"""Plot one run's learning curve: a line per seed, their mean, and a band of one standard deviation."""

import io
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from ..disk.files import write_atomically
from ..errors import printable
from .evaluations import Evaluations
from .metrics import mean_and_std
from .style import styled


def plot(evaluations: Evaluations, picture: Path, title: str) -> None:
    """Write the figure as PNG, in place of an earlier one."""
    content = io.BytesIO()
    with styled():
        figure(evaluations, title).savefig(content, format="png")
    write_atomically(picture, content.getvalue())


def figure(evaluations: Evaluations, title: str) -> Figure:
    """Return the figure. The mean at each evaluation is of the seeds that have it; with one seed left there is no
    band."""
    seeds, steps, returns = evaluations[:3]
    made = Figure(figsize=(7, 4.2), dpi=130, layout="constrained")
    axes = made.add_subplot()
    for seed_returns in returns:
        axes.plot(steps, seed_returns, color="tab:blue", alpha=0.3, linewidth=1)
    if seeds:
        mean, std = mean_and_std(returns)
        left = np.isfinite(returns[:, -1]).sum()
        fewer = f", {left} at the end" if left < len(seeds) else ""
        axes.plot(steps, mean, color="tab:blue", linewidth=2, label=f"mean of {len(seeds)} seeds{fewer}")
        axes.fill_between(steps, mean - std, mean + std, color="tab:blue", alpha=0.15, linewidth=0)
        axes.legend(frameon=False)
    axes.set(title=printable(title), xlabel="environment steps", ylabel="return without noise")
    axes.grid(alpha=0.25)
    axes.spines[["top", "right"]].set_visible(False)
    return made
