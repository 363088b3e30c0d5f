"""What the page shows, as a browser has it."""

from pathlib import Path

from teen.report import page as report_page
from teen.report import runs as reading
from teen.report.data import collect

LINES = "#curves figure:first-child path.line"


def write_page(path: Path, *folders: Path) -> str:
    """Write the page of these runs and return its address."""
    path.write_text(report_page.render(collect([reading.read(folder) for folder in folders])))
    return path.as_uri()


def paths(tab, selector=LINES):
    return [path.get_attribute("d") for path in tab.locator(selector).all()]


def ticks(tab, axis="x"):
    return tab.locator(f"#curves figure:first-child .tick.{axis}").all_text_contents()


def place(tab, share, height=0.5):
    """Return the point this far along the first chart's x axis, in pixels of the window."""
    box = tab.locator("#curves .plot").first.bounding_box()
    left, right = 58, 14  # the chart's margins
    return box["x"] + left + share * (box["width"] - left - right), box["y"] + height * box["height"]


def tooltip(tab):
    return tab.locator("#curves .tooltip").first
