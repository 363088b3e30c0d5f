"""Links of README.md and docs/ lead somewhere; what stands beside the code says what the code says."""

import re
from pathlib import Path

import pytest
import yaml

import teen

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").rglob("*.md"))]
LINK = re.compile(r"\]\(([^)\s]+)\)")
FENCE = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)


def anchor(heading):
    """Return the anchor that GitHub gives a heading: lower case, hyphens for spaces, no other signs."""
    plain = re.sub(r"\[([^\]]*)\]\([^)]*\)|`", r"\1", heading).lower()
    return re.sub(r"[^\w\- ]", "", plain).replace(" ", "-")


def anchors(page):
    headings = re.findall(r"^#+ +(.+?) *$", FENCE.sub("", page.read_text()), re.MULTILINE)
    return {anchor(heading) for heading in headings}


def broken(page, text):
    """Return the links of a text that lead nowhere, seen from this page."""
    wrong = []
    for link in LINK.findall(FENCE.sub("", text)):
        if re.match(r"[a-z]+:", link):  # https: and the like are not followed
            continue
        file, _, place = link.partition("#")
        target = (page.parent / file).resolve() if file else page
        inside = target.exists() and target.is_relative_to(ROOT)
        if not inside or (place and (target.suffix != ".md" or place not in anchors(target))):
            wrong.append(link)
    return wrong


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page):
    assert broken(page, page.read_text()) == []


def test_links_that_lead_nowhere_are_found():
    good = "[a](LICENSE) ![b](docs/images/curves.png) [c](#results) [d](docs/runs.md#exit-codes) [e](https://a.b/c#d)"
    bad = ["nowhere.md", "#nowhere", "docs/runs.md#nowhere", "../outside.md", "LICENSE#top"]
    text = good + "".join(f" [x]({link})" for link in bad) + "\n```\n[y](in-code.md)\n```\n"
    assert broken(ROOT / "README.md", text) == bad


def test_the_commands_that_the_readme_opens_with_are_there():
    readme, makefile = (ROOT / "README.md").read_text(), (ROOT / "Makefile").read_text()
    for command in ("train", "test"):
        assert re.search(rf"^    make {command} ", readme, re.MULTILINE)
        assert re.search(rf"^{command}: ", makefile, re.MULTILINE)


def test_the_readme_writes_out_what_make_train_runs():
    readme, makefile = (ROOT / "README.md").read_text(), (ROOT / "Makefile").read_text()
    recipe = re.search(r"^train: .*\n\t\$\(BIN\)/(teen train .*?[^\\])\n", makefile, re.MULTILINE | re.DOTALL)[1]
    written = re.search(
        r"^    (teen train --algo teen --env Pendulum-v1 .*?[^\\])\n", readme, re.MULTILINE | re.DOTALL
    )[1]
    assert written.replace("\\\n", " ").split() == recipe.replace("\\\n", " ").split()


def test_the_citation_names_this_version():
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert citation["version"] == teen.__version__
    assert [author["family-names"] for author in citation["preferred-citation"]["authors"]] == [
        "Li",
        "Gong",
        "He",
        "Hou",
    ]


def test_the_forms_and_the_workflow_can_be_read():
    forms = {file.stem: yaml.safe_load(file.read_text()) for file in (ROOT / ".github/ISSUE_TEMPLATE").glob("*.yml")}
    assert {"bug", "question", "idea"} < forms.keys()
    asked = [part["attributes"]["label"] for part in forms["bug"]["body"]]
    assert {"machine.json", "config.toml"} < set(asked)
    (job,) = yaml.safe_load((ROOT / ".github/workflows/ci.yml").read_text())["jobs"].values()
    assert job["steps"][-1]["run"] == ".ci/run"
    pinned = re.compile(r"[\w-]+/[\w-]+@[0-9a-f]{40}")
    assert all(pinned.fullmatch(step["uses"]) for step in job["steps"] if "uses" in step)
