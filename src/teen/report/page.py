"""Render a report's data as one HTML file that needs no network and no other file."""

import base64
import hashlib
import html
import json
import re
from importlib.resources import files
from typing import Any

HEAD = ("memory.js", "theme.js")  # one script in this order, before the page is drawn, and one after it
SCRIPTS = ("elements.js", "state.js", "chart.js", "curves.js", "tables.js", "page.js")
LISTING = ("elements.js", "listing.js")
LIVE_SECONDS = 3.0  # between a live page's requests to its server


def render(data: dict[str, Any]) -> str:
    return rendered(as_json(data), live=False)


def rendered(data: str, live: bool, seconds: float = LIVE_SECONDS, folder: str = "") -> str:
    """Return the page of data in JSON. What is chosen on it is remembered for its address in this folder."""
    parts = {
        "policy": html.escape(policy(live)),
        "style": style(),
        "head": script(HEAD),
        "script": script(SCRIPTS),
        "live": "yes" if live else "no",
        "seconds": f"{seconds:g}",
        "folder": html.escape(folder),
        "data": embedded(data),
    }
    return filled("page.html", parts)


def filled(template: str, parts: dict[str, str]) -> str:
    """Return a template with these parts in its {{places}}. What looks like a place inside a part stays as it is."""
    return re.sub(r"{{(\w+)}}", lambda place: parts[place[1]], text(template))


def as_json(data: dict[str, Any]) -> str:
    """Return JSON in ASCII: U+2028 and the like are escaped, and so are the bytes of names that are not UTF-8."""
    return json.dumps(data, allow_nan=False, separators=(",", ":"))


def embedded(data: str) -> str:
    """Return JSON that cannot end the script element around it, whatever names and settings contain."""
    return data.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def policy(live: bool) -> str:
    """Return a policy under which the browser runs our scripts and our style alone, and connects to no one, or to the
    page's own server if it is live."""
    server = "'self'" if live else "'none'"
    scripts = " ".join(_digest(script(names)) for names in (HEAD, SCRIPTS, LISTING)[: 3 if live else 2])
    return (
        f"default-src 'none'; script-src {scripts}; style-src {_digest(style())}; img-src data:; "
        f"connect-src {server}; form-action {server}; base-uri 'none'"
    )


def style() -> str:
    return text("page.css")


def script(names: tuple[str, ...]) -> str:
    return "".join(map(text, names))


def _digest(source: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(source.encode()).digest()).decode()}'"


def text(name: str) -> str:
    return files(__package__).joinpath(name).read_text("utf-8")
