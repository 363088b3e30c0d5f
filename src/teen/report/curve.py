"""One run's learning curve as a picture: a line per seed, their mean, and a band of one std."""

import io
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from ..disk.files import write_atomically
from ..errors import UserError
from .metrics import mean_and_std
from .runs import Evaluations, evaluations


def draw(eval_csv: Path, picture: Path, title: str) -> None:
    """While the run goes on: a log that cannot be read leaves the picture as it is, and the run alone."""
    try:
        found = evaluations(eval_csv.parent)
    except UserError:
        return
    content = io.BytesIO()
    curve(found, title).savefig(content, format="png")
    write_atomically(picture, content.getvalue())


def curve(found: Evaluations, title: str) -> Figure:
    """The mean at each evaluation is of the seeds that have it."""
    figure = Figure(figsize=(7, 4.2), dpi=130, layout="constrained")
    axes = figure.add_subplot()
    for returns in found.returns:
        axes.plot(found.steps, returns, color="tab:blue", alpha=0.3, linewidth=1)
    if found.seeds:
        mean, std = mean_and_std(found.returns)
        left = np.isfinite(found.returns[:, -1]).sum()
        fewer = f", {left} at the end" if left < len(found.seeds) else ""
        axes.plot(found.steps, mean, color="tab:blue", linewidth=2, label=f"mean of {len(found.seeds)} seeds{fewer}")
        axes.fill_between(found.steps, mean - std, mean + std, color="tab:blue", alpha=0.15, linewidth=0)
        axes.legend(frameon=False)
    axes.set(title=title, xlabel="environment steps", ylabel="return without noise")
    axes.grid(alpha=0.25)
    axes.spines[["top", "right"]].set_visible(False)
    return figure
