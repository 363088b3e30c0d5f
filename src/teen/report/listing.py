"""The first page of `teen serve`: every run, newest first, to open one or compare several. It renews itself."""

from collections.abc import Sequence
from datetime import datetime
from html import escape
from urllib.parse import urlencode

from . import page
from .library import Entry

COLUMNS = ("Run", "Algorithm", "Environment", "Seeds", "Step", "Last score", "Changed", "")
WORDS = ("Run", "Algorithm", "Environment", "Changed", "")  # columns of words, not of numbers


def render(entries: Sequence[Entry], folder: str, seconds: float = page.LIVE_SECONDS) -> str:
    head = "".join(f'<th scope="col"{_side(column)}>{column}</th>' for column in COLUMNS)
    table = f'<div class="wide"><table><thead><tr><td></td>{head}</tr></thead><tbody>{"".join(map(_row, entries))}'
    form = f'<form action="/compare"><p><button>Compare the chosen</button></p>{table}</tbody></table></div></form>'
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Runs – TEEN</title>
<link rel="icon" href="data:,">
<style>{page.style()}</style>
</head>
<body data-seconds="{seconds:g}">
<header><div><h1>Runs</h1><p>{escape(folder)}</p></div></header>
<p id="note" role="status" hidden></p>
<main id="runs">{form if entries else "<p>There is no run here yet.</p>"}</main>
<script>{page.text("listing.js")}</script>
</body>
</html>
"""


def _row(entry: Entry) -> str:
    name = escape(entry.name)
    address = escape(f"/run?{urlencode({'name': entry.name}, errors='replace')}")
    choice = f'<td><input type="checkbox" name="name" value="{name}" aria-label="compare {name}"></td>'
    link = f'<td class="text"><a href="{address}">{name}</a></td>'
    changed = f'<td class="text">{datetime.fromtimestamp(entry.changed):%Y-%m-%d %H:%M:%S}</td>'
    state = f'<td class="text">{"being written" if entry.writing else ""}</td>'
    if entry.error:
        return f'<tr><td></td>{link}<td class="text wrong" colspan="5">{escape(entry.error)}</td>{changed}{state}</tr>'
    words = "".join(f'<td class="text">{escape(text)}</td>' for text in (entry.algo, entry.env))
    numbers = "".join(f"<td>{text}</td>" for text in (str(entry.seeds), _progress(entry), _score(entry)))
    return f"<tr>{choice}{link}{words}{numbers}{changed}{state}</tr>"


def _side(column: str) -> str:
    return ' class="text"' if column in WORDS else ""


def _progress(entry: Entry) -> str:
    if entry.step is None:
        return "–"
    unfinished = entry.planned is not None and entry.step < entry.planned
    return f"{entry.step:,} of {entry.planned:,}" if unfinished else f"{entry.step:,}"


def _score(entry: Entry) -> str:
    return "–" if entry.score is None else f"{entry.score:,.1f}"
