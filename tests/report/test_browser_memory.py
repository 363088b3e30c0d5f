"""What the reader of a page chose is there again after a reload, in a real browser."""

import base64
import json
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

import pytest

from .shown import paths, place, ticks, write_page
from .synthetic import write_run

playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed: see the extra dev")
expect = playwright.expect


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    root = tmp_path_factory.mktemp("runs")
    return [
        write_run(root / f"{algo}-{env}", algo, env, level)
        for env in ("Hopper-v5", "Ant-v5")
        for level, algo in enumerate(("td3", "teen"), start=1)
    ]


class Silent(SimpleHTTPRequestHandler):
    def log_message(self, format, *args):
        pass


@pytest.fixture
def site(tmp_path):
    """Serve the test's folder and yield its address.

    Opened as files, two pages in a row do not always share a storage: in a new context Chromium 156 lost 5 to 10 % of
    what a page of three lines had stored, also on a reload, and nothing in 300 trials over HTTP.
    """
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Silent, directory=tmp_path)) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.05,))  # seconds between looks for the end
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


@pytest.fixture
def report(site, folders, tmp_path):
    write_page(tmp_path / "index.html", *folders)
    return f"{site}/index.html"


def choose(tab):
    """Choose something of everything that the page offers."""
    tab.get_by_role("button", name="td3").click()
    tab.select_option("#mode", "iqm")
    tab.locator("#smooth").fill("2")
    tab.select_option("#at", "all")
    tab.select_option("#by", "best_")
    tab.select_option("#training select", "q")
    tab.get_by_label("only what differs").check()
    tab.locator("#scores").get_by_role("button", name="Label").click()
    tab.locator("#scores").get_by_role("button", name="Label").click()
    tab.locator("#normalised").get_by_role("button", name="Mean").click()
    tab.locator("#theme").click()
    tab.mouse.move(*place(tab, 0.29))
    tab.mouse.down()
    tab.mouse.move(*place(tab, 0.61), steps=3)
    tab.mouse.up()
    tab.mouse.move(5, 5)


def shown(tab):
    """Return what one sees of the choices."""
    return {
        "labels": [button.get_attribute("aria-pressed") for button in tab.locator("#legend button").all()],
        "controls": [
            tab.locator(f"{name}").input_value() for name in ("#mode", "#smooth", "#at", "#by", "#training select")
        ],
        "smoothing": tab.locator("#window").inner_text(),
        "curves": paths(tab, "#curves path.line"),
        "training": paths(tab, "#training path.line"),
        "zoom": ticks(tab),
        "tables": tab.locator("table").all_inner_texts(),
        "sorted": [one.inner_text() for one in tab.locator("th[aria-sort$=scending]").all()],
        "differing": tab.get_by_label("only what differs").is_checked(),
        "theme": tab.locator("html").get_attribute("data-theme"),
    }


def test_a_reload_keeps_every_choice(tab, report):
    tab.goto(report)
    first = shown(tab)
    choose(tab)
    chosen = shown(tab)
    assert chosen["labels"] == ["false", "true"]
    assert chosen["controls"] == ["iqm", "2", "all", "best_", "q"]
    assert chosen["smoothing"] == "mean of 5"
    assert (chosen["zoom"][0], chosen["zoom"][-1]) == ("30k", "60k")
    assert chosen["sorted"] == ["Label", "Mean"]
    assert (chosen["differing"], chosen["theme"]) == (True, "dark")
    assert all(chosen[name] != first[name] for name in first)
    tab.reload()
    assert shown(tab) == chosen
    assert set(tab.asked) == {report}


def test_another_report_has_choices_of_its_own_but_for_the_theme(tab, site, report, folders, tmp_path):
    write_page(tmp_path / "other.html", *folders)
    tab.goto(report)
    first = shown(tab)
    choose(tab)
    tab.goto(f"{site}/other.html")
    assert shown(tab) == {**first, "theme": "dark"}


def test_without_storage_the_page_works_and_says_nothing(tab, folders, tmp_path):
    """An address that is the page itself belongs to no one, so the browser stores nothing for it."""
    write_page(tmp_path / "index.html", *folders)
    text = base64.b64encode((tmp_path / "index.html").read_bytes()).decode()
    tab.goto(f"data:text/html;base64,{text}")
    with pytest.raises(playwright.Error, match="Storage is disabled"):
        tab.evaluate("localStorage")
    first = shown(tab)
    choose(tab)
    assert shown(tab)["theme"] == "dark"
    assert shown(tab)["labels"] == ["false", "true"]
    tab.reload()
    assert shown(tab) == first


@pytest.mark.parametrize(
    "kept",
    [
        "no JSON",
        "null",
        "5",
        "[]",
        {"mode": "none", "smooth": 99, "at": "7", "by": "x", "sorted": {"scores": {"title": "none"}}},
        {"mode": 1, "smooth": "2", "hidden": {}, "chosen": [], "sorted": {"scores": 3, "normalised": None}},
        {"hidden": [None, 3, "gone"], "chosen": {"training": "gone"}, "zoom": {"curves Hopper-v5": [2, 1]}},
        {"zoom": {"curves Hopper-v5": ["a", None]}, "differing": "yes", "more": 1},
    ],
)
def test_what_another_version_kept_does_no_harm(tab, report, kept):
    tab.goto(report)
    tab.locator("#smooth").fill("10")
    (key,) = tab.evaluate("Object.keys(localStorage)")
    most = shown(tab)
    tab.locator("#smooth").fill("0")
    first = shown(tab)
    text = kept if isinstance(kept, str) else json.dumps(kept)
    tab.evaluate("([key, text]) => { localStorage[key] = text; localStorage['teen theme'] = text; }", [key, text])
    tab.reload()
    assert shown(tab) == (most if "99" in text else first)


def test_a_choice_may_be_taken_back(tab, report):
    tab.goto(report)
    first = shown(tab)
    tab.get_by_role("button", name="td3").click()
    tab.get_by_role("button", name="td3").click()
    plot = tab.locator("#curves .plot").first
    plot.focus()
    plot.press("+")
    plot.press("0")
    plot.press("Escape")
    tab.reload()
    assert shown(tab) == first
