"""Render the first page of `teen serve`: all runs, newest first, to open one or compare some. It updates itself."""

from collections.abc import Sequence
from datetime import datetime
from html import escape
from urllib.parse import quote, urlencode

from . import page
from .library import RunSummary

COLUMNS = ("Run", "Algorithm", "Environment", "Seeds", "Step", "Last score", "Changed", "")
NUMBERS = ("Seeds", "Step", "Last score")  # the other columns are of text


def render(runs: Sequence[RunSummary], folder: str, seconds: float = page.LIVE_SECONDS) -> str:
    sides = ["" if column in NUMBERS else ' class="text"' for column in COLUMNS]
    head = "".join(f'<th scope="col"{side}>{column}</th>' for column, side in zip(COLUMNS, sides, strict=True))
    table = f'<div class="wide"><table><thead><tr><td></td>{head}</tr></thead><tbody>{"".join(map(_row, runs))}'
    form = f'<form action="/compare"><p><button>Compare the chosen</button></p>{table}</tbody></table></div></form>'
    parts = {
        "style": page.style(),
        "seconds": f"{seconds:g}",
        "folder": escape(folder),
        "runs": form if runs else "<p>There is no run here yet.</p>",
        "script": page.text("listing.js"),
    }
    return page.filled("listing.html", parts)


def _row(run: RunSummary) -> str:
    name = escape(run.name)
    address = escape(f"/run?{urlencode({'name': run.name}, errors='surrogateescape')}")
    key, value = ("name", name) if run.name.isprintable() else ("quoted", quote(run.name, errors="surrogateescape"))
    choice = f'<td><input type="checkbox" name="{key}" value="{value}" aria-label="compare {name}"></td>'
    link = f'<td class="text"><a href="{address}">{name}</a></td>'
    changed = f'<td class="text">{_time(run.changed)}</td>'
    state = f'<td class="text">{"being written" if run.writing else ""}</td>'
    if run.error:
        return f'<tr><td></td>{link}<td class="text wrong" colspan="5">{escape(run.error)}</td>{changed}{state}</tr>'
    words = "".join(f'<td class="text">{escape(text)}</td>' for text in (run.algo, run.env))
    score = "–" if run.score is None else f"{run.score:,.1f}"
    numbers = "".join(f"<td>{text}</td>" for text in (run.seeds, _progress(run), score))
    return f"<tr>{choice}{link}{words}{numbers}{changed}{state}</tr>"


def _time(seconds: float) -> str:
    try:
        return f"{datetime.fromtimestamp(seconds):%Y-%m-%d %H:%M:%S}"
    except (ValueError, OverflowError, OSError):  # a file may have any time
        return "–"


def _progress(run: RunSummary) -> str:
    if run.step is None:
        return "–"
    unfinished = run.planned is not None and run.step < run.planned
    return f"{run.step:,} of {run.planned:,}" if unfinished else f"{run.step:,}"
