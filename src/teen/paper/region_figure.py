"""The exploration region as a picture: one panel for each agent, on the states of all."""

from pathlib import Path

from matplotlib.figure import Figure

from ..measure.region import Region


def draw(region: Region, picture: Path) -> None:
    """PNG or PDF, by the name's ending."""
    count = len(region.names)
    figure = Figure(figsize=(2.6 * count, 3.0), dpi=150, layout="constrained")
    panels = figure.subplots(1, count, sharex=True, sharey=True, squeeze=False)[0]
    everyone = region.points.reshape(-1, 2)
    for i, (name, axes) in enumerate(zip(region.names, panels, strict=True)):
        axes.scatter(*everyone.T, s=1, color="0.88", linewidths=0, rasterized=True)
        axes.scatter(*region.points[i].T, s=2, color=f"C{i % 10}", linewidths=0, rasterized=True)
        axes.set_title(name, fontsize=9)
        axes.set_xlabel(f"{region.cells[i]} cells, entropy {region.entropy[i]:.1f}", fontsize=8)
        axes.set(xticks=[], yticks=[])
    figure.savefig(picture)
