"""Render a report's data as one HTML file that needs no network and no other file."""

import base64
import hashlib
import html
import json
import re
from importlib.resources import files
from typing import Any

SCRIPTS = ("elements.js", "state.js", "chart.js", "curves.js", "tables.js", "page.js")  # one script in this order
LIVE_SECONDS = 3.0  # between a live page's requests to its server


def render(data: dict[str, Any]) -> str:
    return rendered(as_json(data), live=False)


def rendered(data: str, live: bool, seconds: float = LIVE_SECONDS) -> str:
    """Return the page of data in JSON."""
    parts = {
        "policy": html.escape(policy(live)),
        "style": style(),
        "script": script(),
        "live": "yes" if live else "no",
        "seconds": f"{seconds:g}",
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
    scripts = " ".join(map(_digest, [script(), text("listing.js")] if live else [script()]))
    return (
        f"default-src 'none'; script-src {scripts}; style-src {_digest(style())}; img-src data:; "
        f"connect-src {server}; form-action {server}; base-uri 'none'"
    )


def style() -> str:
    return text("page.css")


def script() -> str:
    return "".join(map(text, SCRIPTS))


def _digest(source: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(source.encode()).digest()).decode()}'"


def text(name: str) -> str:
    return files(__package__).joinpath(name).read_text("utf-8")
