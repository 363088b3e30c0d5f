"""Render the first page of `teen serve`: all runs, newest first, to open one or compare some. It updates itself."""

import json
from collections.abc import Sequence
from datetime import datetime
from html import escape
from urllib.parse import quote, urlencode

from ..disk.jobs import JobState
from . import job_listing, page
from .library import RunSummary

COLUMNS = ("Run", "Last score", "Step", "Algorithm", "Environment", "Seeds", "Changed", "State")
NUMBERS = ("Last score", "Step", "Seeds")  # the other columns are of text
LARGE = 1e7  # a score from here on is shown with an exponent


def render(
    runs: Sequence[RunSummary],
    folder: str,
    seconds: float = page.LIVE_SECONDS,
    nothing_chosen: bool = False,
    jobs: Sequence[JobState] = (),
) -> str:
    """Return the list of runs, below that of jobs; where a comparison of nothing was asked for, it says what is
    missing."""
    sides = ["" if column in NUMBERS else ' class="text"' for column in COLUMNS]
    parts = {
        "style": page.style(),
        "head": page.script(page.HEAD),
        "script": page.script(page.LISTING),
        "seconds": f"{seconds:g}",
        "folder": escape(folder),
        "jobs": job_listing.render(jobs),
        "advice": "" if nothing_chosen else " hidden",
        "heads": "".join(f'<th scope="col"{side}>{column}</th>' for column, side in zip(COLUMNS, sides, strict=True)),
        "rows": "".join(map(_row, runs)) or '<tr><td colspan="9" class="text">There is no run here yet.</td></tr>',
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
    begin = f'<tr data-keys="{escape(json.dumps(_keys(run)))}">'
    if run.error:
        wrong = f'<td class="text wrong" colspan="5">{escape(run.error)}</td>'
        return f"{begin}<td></td>{link}{wrong}{changed}{state}</tr>"
    score = f'<td class="score">{_score(run.score)}</td>'
    step = f'<td class="step">{_progress(run)}</td>'
    words = "".join(f'<td class="text">{escape(text)}</td>' for text in (run.algo, run.env))
    return f"{begin}{choice}{link}{score}{step}{words}<td>{run.seeds}</td>{changed}{state}</tr>"


def _keys(run: RunSummary) -> list[str | float | None]:
    """Return what a run is sorted by in each column."""
    known = (None,) * 5 if run.error else (run.score, run.step, run.algo, run.env, run.seeds)
    return [run.name, *known, run.changed, int(run.writing)]


def _time(seconds: float) -> str:
    try:
        return f"{datetime.fromtimestamp(seconds):%Y-%m-%d %H:%M:%S}"
    except (ValueError, OverflowError, OSError):  # a file may have any time
        return "–"


def _score(score: float | None) -> str:
    if score is None:
        return "–"
    return f"{score:,.1f}" if abs(score) < LARGE else f"{score:.2e}"


def _progress(run: RunSummary) -> str:
    if run.step is None:
        return "–"
    unfinished = run.planned is not None and run.step < run.planned
    return f"{run.step:,} of {run.planned:,}" if unfinished else f"{run.step:,}"
