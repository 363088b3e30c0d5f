"""The page as text: one file that needs nothing else, in which nothing from disk can become markup."""

import json
import re
from html.parser import HTMLParser

import pytest

from teen.report import page
from teen.report import runs as reading
from teen.report.data import collect

from .synthetic import HOSTILE, write_run

SECTIONS = "curves scores improvement differences normalised members training diagnostics confusion configuration files"


class Outline(HTMLParser):
    """Elements with their attributes, and the text of scripts: the one in the head, the data, the one that draws."""

    def __init__(self, text: str):
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.scripts: list[str] = []
        self.inside = False
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        self.inside = tag == "script"
        if self.inside:
            self.scripts.append("")

    def handle_data(self, data):
        if self.inside:
            self.scripts[-1] += data

    def handle_endtag(self, tag):
        self.inside = False


def rendered(*folders, live=False):
    return page.rendered(page.as_json(collect([reading.read(folder) for folder in folders])), live)


@pytest.fixture
def hostile(tmp_path):
    settings = {"note": HOSTILE, "nested": {HOSTILE: [HOSTILE]}, "odd": float("nan"), HOSTILE: 1}
    run = write_run(tmp_path / HOSTILE.replace("/", "∕"), HOSTILE, HOSTILE, **settings)
    (run / "diagnostics.csv").write_text(
        f'seed,step,quantity,value\n0,1000,"{HOSTILE.replace(chr(34), chr(34) * 2)}",1\n'
    )
    return run


def test_the_page_has_its_parts_and_its_data(tmp_path):
    run = write_run(tmp_path / "a")
    text = rendered(run)
    outline = Outline(text)
    ids = {attributes["id"] for _, attributes in outline.elements if "id" in attributes}
    assert ids >= set(SECTIONS.split()) | {"legend", "mode", "smooth", "theme"}
    assert json.loads(outline.scripts[1]) == collect([reading.read(run)])
    assert "{{" not in re.sub(r"<script.*?</script>", "", text, flags=re.DOTALL)


@pytest.mark.parametrize("live", [False, True])
def test_nothing_is_fetched_from_anywhere(tmp_path, live):
    text = rendered(write_run(tmp_path / "a"), live=live)
    outside = set(re.findall(r"(?:https?:)?//[\w.-]+\.\w+[^\s\"']*", text)) - {"http://www.w3.org/2000/svg"}  # a name
    assert outside == set()
    assert "@import" not in text
    assert "url(" not in page.style()
    for tag, attributes in Outline(text).elements:
        assert tag not in ("img", "iframe", "object", "embed", "base")
        assert "src" not in attributes
        if tag == "link":
            assert attributes["href"] == "data:,"


def test_the_policy_names_this_script_and_this_style_alone(tmp_path):
    policy = page.policy(live=False)
    assert "default-src 'none'" in policy
    assert "connect-src 'none'" in policy
    assert "unsafe" not in policy
    assert "connect-src 'self'" in page.policy(live=True)
    policies = [a["content"] for tag, a in Outline(rendered(write_run(tmp_path / "a"))).elements if "http-equiv" in a]
    assert policies == [policy]


def test_hostile_names_and_settings_stay_data(hostile, tmp_path):
    text = rendered(hostile)
    plain = rendered(write_run(tmp_path / "plain"))
    assert [tag for tag, _ in Outline(text).elements] == [tag for tag, _ in Outline(plain).elements]
    assert text.count("</script>") == plain.count("</script>")
    assert "<img" not in text
    assert "\u2028" not in text
    data = json.loads(Outline(text).scripts[1])
    assert data["environments"][0]["env"] == HOSTILE
    assert data["runs"][0]["settings"]["note"] == HOSTILE
    assert data["runs"][0]["settings"]["odd"] is None
    assert list(data["environments"][0]["diagnostics"]) == [HOSTILE]


def test_embedded_text_has_no_letter_that_means_something_in_html():
    text = page.embedded(page.as_json({"a": "<>&\u2028\u2029</script><!--", "\ud800": None}))
    assert not set("<>&\u2028\u2029") & set(text)
    assert json.loads(text) == {"a": "<>&\u2028\u2029</script><!--", "\ud800": None}


def test_numbers_that_json_lacks_are_refused_not_written():
    with pytest.raises(ValueError, match="JSON"):
        page.render({"a": float("nan")})


def test_places_to_fill_are_filled_once():
    text = page.render({"a": "{{script}} {{data}} {{policy}}"})
    assert json.loads(Outline(text).scripts[1]) == {"a": "{{script}} {{data}} {{policy}}"}
