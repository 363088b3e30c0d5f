"""The site's source: the pages of docs/, and every file of the repository that they link to.

On GitHub a page may link to any file of the repository; a site has only what is copied into it. So linked files are
copied too, those that they link to as well, and links are rewritten to where the files stand.
"""

import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
ALSO = ("README.md", "CHANGELOG.md", "CONTRIBUTING.md")
LINK = re.compile(r"(?<=\]\()([^)\s#]*)(#[^)\s]*)?(?=\))")


def stage(folder: Path, generated: dict[str, str]) -> None:
    """Write the source into a folder. `generated` is what stands where a page says `<!-- NAME -->`."""
    for file in collected():
        place = folder / placed(file)
        place.parent.mkdir(parents=True, exist_ok=True)
        if file.suffix != ".md":
            shutil.copyfile(file, place)
            continue
        text = "".join(rewritten(file, *line) for line in _lines(file.read_text()))
        for name, part in generated.items():
            text = text.replace(f"<!-- {name} -->", part)
        place.write_text(text)


def collected() -> list[Path]:
    """Return the files of docs/, and those that can be reached from them by links."""
    waiting = [*(ROOT / name for name in ALSO), *(path for path in sorted(DOCS.rglob("*")) if path.is_file())]
    found: dict[Path, None] = {}
    while waiting:
        file = waiting.pop()
        if file in found:
            continue
        found[file] = None
        if file.suffix == ".md":
            waiting += [target for line in _lines(file.read_text()) for target in _targets(file, *line)]
        elif file.name == "index.html":  # a report, which shows the figures and data beside it
            waiting += [path for path in file.parent.rglob("*") if path.is_file()]
    return list(found)


def placed(file: Path) -> Path:
    """Return where a file of the repository stands in the source: docs/ is its top. The README is not its index."""
    if file.is_relative_to(DOCS):
        return file.relative_to(DOCS)
    return Path(file.name.lower()) if file.parent == ROOT and file.suffix == ".md" else file.relative_to(ROOT)


def _lines(text: str) -> Iterator[tuple[str, bool]]:
    """Yield the lines of a page, and whether they are code."""
    fenced = False
    for line in text.splitlines(keepends=True):
        fence = line.startswith("```")
        yield line, fenced or fence or line.startswith("    ")
        fenced ^= fence


def _targets(page: Path, line: str, code: bool) -> list[Path]:
    found = [_target(page, match[1]) for match in LINK.finditer("" if code else line)]
    return [target for target in found if target]


def _target(page: Path, link: str) -> Path | None:
    """Return the file of the repository that a link leads to; a folder is shown by its README."""
    if not link or re.match(r"[a-z]+:", link):
        return None
    target = (page.parent / link).resolve()
    target = target / "README.md" if target.is_dir() else target
    if not target.is_file() or not target.is_relative_to(ROOT):
        raise FileNotFoundError(f"{page.relative_to(ROOT)} links to {link}, which is no file of the repository")
    return target


def rewritten(page: Path, line: str, code: bool) -> str:
    """Return a line of a page with its links leading to where files stand in the source."""

    def link(match: re.Match[str]) -> str:
        target = _target(page, match[1])
        if target is None:
            return match[0]
        return os.path.relpath(placed(target), placed(page).parent) + (match[2] or "")

    return line if code else LINK.sub(link, line)
