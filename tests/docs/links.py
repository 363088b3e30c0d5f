"""The links of a built site: every one that stays inside leads to a file, and to an anchor in it."""

from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit


class Page(HTMLParser):
    """What a page names, and what it asks for."""

    def __init__(self, text: str):
        super().__init__()
        self.anchors: set[str] = {"", "__top"}
        self.links: list[str] = []  # to follow
        self.parts: list[str] = []  # that a browser fetches by itself
        self.feed(text)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        given = {name: value for name, value in attributes if value is not None}
        self.anchors |= {given[name] for name in ("id", "name") if name in given}
        if tag in ("a", "area") and "href" in given:
            self.links.append(given["href"])
        elif tag == "link" and "href" in given:
            self.parts.append(given["href"])
        if "src" in given:
            self.parts.append(given["src"])


def broken(site: Path) -> list[str]:
    """Return the links of a site's pages that lead nowhere, and whatever a page would fetch from elsewhere."""
    site = site.resolve()
    pages = {path: Page(path.read_text()) for path in sorted(site.rglob("*.html"))}
    wrong = []
    for path, page in pages.items():
        name = str(path.relative_to(site))
        wrong += [f"{name}: fetches {part}" for part in page.parts if urlsplit(part).netloc]
        for link in {*page.links, *page.parts}:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            start = site if parts.path.startswith("/") else path.parent
            file = (start / unquote(parts.path).lstrip("/")).resolve() if parts.path else path
            target = pages.get(file)
            if not file.is_relative_to(site) or not file.exists():
                wrong.append(f"{name}: {link} leads nowhere")
            elif target and unquote(parts.fragment) not in target.anchors:
                wrong.append(f"{name}: {link} has no such anchor")
    return wrong
