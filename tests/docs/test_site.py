"""The documentation site: it is built without a warning and without a network, and nothing in it leads nowhere."""

import re
import socket
from html import unescape
from pathlib import Path

import pytest

import teen
from scripts.site import __main__ as builder
from scripts.site import commands, formulas, staging
from teen.cli import main as cli

from .links import Page, broken


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """Return the folder of the built site. Whatever asks for a network fails."""
    out = tmp_path_factory.mktemp("site") / "site"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(socket.socket, "connect", lambda *_: pytest.fail("something asks for a network"))
        assert builder.main(["--out", str(out)]) == 0
    return out


def text_of(page: Path) -> str:
    return unescape(re.sub(r"<[^>]+>", "", page.read_text()))


def test_links_and_anchors_lead_somewhere(site):
    assert broken(site) == []


def test_every_page_of_docs_is_in_it(site):
    for page in staging.DOCS.rglob("*.md"):
        assert (site / staging.placed(page)).with_suffix(".html").is_file(), page


def test_what_teen_exports_is_in_the_reference(site):
    anchors = Page((site / "api.html").read_text()).anchors
    assert {f"teen.{name}" for name in teen.__all__ if name != "__version__"} <= anchors
    assert {"teen.Agent.act", "teen.Model.learn", "teen.Event.returns"} <= anchors


def test_every_command_is_there_with_its_flags(site):
    page, text = Page((site / "commands.html").read_text()), text_of(site / "commands.html")
    assert {f"teen-{name}" for name in cli.COMMANDS} <= page.anchors
    assert {f"teen-train---algo-{name}" for name in teen.algos.NAMES} <= page.anchors
    asked = [(name,) for name in cli.COMMANDS] + [("train", "--algo", name) for name in teen.algos.NAMES]
    for arguments in asked:
        for flag in re.findall(r"^  (--[\w-]+)", commands.help_of(*arguments), re.MULTILINE):
            assert re.search(rf"^ +(-\w, )?{flag}\b", text, re.MULTILINE), (arguments, flag)


def test_formulas_are_drawn(site):
    """Nothing of TeX is left, and every formula of the pages is a picture with its source as a label."""
    for page in site.rglob("*.html"):
        assert "arithmatex" not in page.read_text(), page
    theory = (site / "theory.html").read_text()
    assert theory.count('<svg role="img" aria-label=') >= 14
    assert r'aria-label="\sigma^2/N"' in theory or r"\sigma^2/N" in theory


def test_a_formula_is_as_wide_as_it_is_printed():
    """An M of 1 em is about 0.9 wide in any roman font; its square root is higher, and reaches below the line."""
    sizes = {
        tex: re.search(r"width:([\d.]+)em;height:([\d.]+)em;vertical-align:(-?[\d.]+)em", formulas.svg(tex))
        for tex in ("M", r"\sqrt{M}", "y")
    }
    wide, high, deep = ({tex: float(found[part]) for tex, found in sizes.items()} for part in (1, 2, 3))
    assert 0.7 < wide["M"] < 1.1 < wide[r"\sqrt{M}"]
    assert high[r"\sqrt{M}"] > high["M"]
    assert deep["y"] < -0.1 < deep["M"] <= 0


def test_a_link_that_leads_nowhere_is_found(tmp_path):
    (tmp_path / "a.html").write_text(
        '<a href="b.html#here">1</a><a href="b.html#there">2</a><a href="c.html">3</a><img src="https://x.y/z">'
    )
    (tmp_path / "b.html").write_text('<h1 id="here">B</h1><a href="../outside.html">4</a><a href="https://x.y">5</a>')
    wrong = ["a.html: b.html#there has no such anchor", "a.html: c.html leads nowhere", "a.html: fetches https://x.y/z"]
    assert sorted(broken(tmp_path)) == [*wrong, "b.html: ../outside.html leads nowhere"]


def test_a_warning_ends_the_build(tmp_path, monkeypatch, caplog):
    """A single page, which the navigation lacks, with a link to no anchor."""
    monkeypatch.setattr(builder, "reference", str)
    monkeypatch.setattr(builder, "stage", lambda folder, _: (folder / "left.md").write_text("[a](#nowhere)\n"))
    assert builder.main(["--out", str(tmp_path / "site")]) == 1
    assert "left.md" in caplog.text
    assert "#nowhere" in caplog.text


def test_links_are_rewritten_to_where_files_stand(tmp_path):
    page = staging.ROOT / "docs" / "algos" / "teen.md"
    lines = [
        ("[r](../../results/halfcheetah-v4-100k) [e](../evidence.md#evidence) [w](https://a.b)\n", False),
        ("    [x](y)\n", True),
    ]
    assert staging.placed(staging.ROOT / "README.md") == Path("readme.md")
    rewritten = [staging.rewritten(page, *line) for line in lines]
    assert rewritten == [
        "[r](../results/halfcheetah-v4-100k/README.md) [e](../evidence.md#evidence) [w](https://a.b)\n",
        "    [x](y)\n",
    ]
    with pytest.raises(FileNotFoundError, match=r"docs/algos/teen.md links to nothing.md"):
        staging.rewritten(page, "[n](nothing.md)\n", False)
