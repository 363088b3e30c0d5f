"""One HTML file that shows a report's data and needs nothing else: no network, no other file."""

import base64
import hashlib
import html
import json
from importlib.resources import files
from typing import Any

LIVE_SECONDS = 3.0  # between a live page's questions to its server


def render(data: dict[str, Any], live: bool = False, seconds: float = LIVE_SECONDS) -> str:
    page = text("page.html")
    parts = {
        "policy": html.escape(policy(live)),
        "style": style(),
        "script": script(),
        "live": "yes" if live else "no",
        "seconds": f"{seconds:g}",
        "data": embedded(data),  # last, so that nothing in it is taken for a place to fill
    }
    for name, filling in parts.items():
        page = page.replace("{{" + name + "}}", filling, 1)
    return page


def embedded(data: dict[str, Any]) -> str:
    """JSON that cannot end the script element it stands in, whatever names and settings hold."""
    raw = json.dumps(data, allow_nan=False, separators=(",", ":"))  # in ASCII: U+2028 and the like are escaped too
    return raw.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def policy(live: bool) -> str:
    """The browser runs our scripts and our style alone, and asks nobody for anything but the page's own server."""
    server = "'self'" if live else "'none'"
    scripts = " ".join(map(_digest, [script(), text("listing.js")] if live else [script()]))
    return (
        f"default-src 'none'; script-src {scripts}; style-src {_digest(style())}; img-src data:; "
        f"connect-src {server}; form-action {server}; base-uri 'none'"
    )


def style() -> str:
    return text("page.css")


def script() -> str:
    return text("chart.js") + text("page.js")


def _digest(source: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(source.encode()).digest()).decode()}'"


def text(name: str) -> str:
    return files(__package__).joinpath(name).read_text("utf-8")
