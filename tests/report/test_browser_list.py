"""The list of `teen serve` in a real browser: it is sorted, filtered and chosen from, and remembers that."""

import os
import threading
from contextlib import contextmanager

import pytest

from teen.disk.place import Folder
from teen.jobs.markers import add_to_ledger, write_failed
from teen.jobs.planned import PlannedJob
from teen.report.serve import Server

from .synthetic import EVERY, HOSTILE, evaluate, write_run

expect = pytest.importorskip("playwright.sync_api", reason="playwright is not installed: see the extra dev").expect

RUNS = {"run-10": ("td3", "Hopper-v5", 1), "run-9": ("teen", "Ant-v5", 3), "b": ("sac", "Hopper-v5", 2)}  # newest first


@pytest.fixture
def root(tmp_path):
    for age, (name, (algo, env, level)) in enumerate(RUNS.items()):
        for path in write_run(tmp_path / name, algo, env, level, evaluations=5).iterdir():
            os.utime(path, (1e9 - age, 1e9 - age))
    return tmp_path


@contextmanager
def serving(folder, port=0):
    with Server(folder, port, seconds=0.1) as running:
        thread = threading.Thread(target=running.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        try:
            yield running
        finally:
            running.shutdown()
            thread.join()


@pytest.fixture
def server(root):
    with serving(root) as running:
        yield running


@pytest.fixture
def listed(tab, server):
    tab.goto(server.url)
    yield tab
    tab.goto("about:blank")  # it asks the server no more


def names(tab):
    return tab.locator("#runs tbody tr:visible a").all_inner_texts()


def head(tab, title):
    return tab.get_by_role("columnheader", name=title)


def sort_by(tab, title):
    tab.get_by_role("button", name=title).click()


def renewed(tab, root):
    """Wait until the list shows that a run has grown."""
    evaluate(root / "b", 6 * EVERY, 2, (0, 1, 2))
    tab.get_by_text("60,000 of 100,000").wait_for(state="attached")


def test_comparing_nothing_stays_on_the_list_with_a_word(listed, server, root):
    word = listed.get_by_text("Choose at least one run")
    expect(word).to_be_hidden()
    listed.get_by_role("button", name="Compare").click()
    expect(word).to_be_visible()
    renewed(listed, root)
    expect(word).to_be_visible()
    assert listed.url == f"{server.url}/"
    assert f"{server.url}/compare" not in [address.split("?")[0] for address in listed.asked]
    listed.get_by_label("compare b").check()
    expect(word).to_be_hidden()
    listed.get_by_role("button", name="Compare").click()
    listed.wait_for_url("**/compare?name=b")
    assert listed.title() == "Hopper-v5 – TEEN"


def test_the_address_of_a_comparison_of_nothing_leads_to_the_list(listed, server):
    listed.goto(f"{server.url}/compare")
    expect(listed.get_by_text("Choose at least one run")).to_be_visible()
    assert names(listed) == list(RUNS)
    listed.reload()
    assert listed.url == f"{server.url}/"
    expect(listed.get_by_text("Choose at least one run")).to_be_hidden()


def test_it_is_sorted_by_its_headings_also_with_the_keyboard(listed):
    assert names(listed) == ["run-10", "run-9", "b"]
    expect(head(listed, "Changed")).to_have_attribute("aria-sort", "descending")
    expect(head(listed, "Run")).to_have_attribute("aria-sort", "none")
    sort_by(listed, "Last score")  # level · 50 + 1
    assert names(listed) == ["run-9", "b", "run-10"]
    expect(head(listed, "Last score")).to_have_attribute("aria-sort", "descending")
    expect(head(listed, "Changed")).to_have_attribute("aria-sort", "none")
    listed.keyboard.press("Enter")
    assert names(listed) == ["run-10", "b", "run-9"]
    expect(head(listed, "Last score")).to_have_attribute("aria-sort", "ascending")
    listed.keyboard.press("Tab")
    listed.keyboard.press("Tab")
    listed.keyboard.press("Space")
    expect(head(listed, "Algorithm")).to_have_attribute("aria-sort", "ascending")
    assert names(listed) == ["b", "run-10", "run-9"]
    sort_by(listed, "Run")
    assert names(listed) == ["b", "run-9", "run-10"]
    sort_by(listed, "Run")
    assert names(listed) == ["run-10", "run-9", "b"]


def test_runs_that_cannot_be_read_come_last(listed, root):
    write_run(root / "a")
    (root / "a" / "config.toml").write_text("steps = = 3")
    listed.get_by_text("cannot be read").wait_for()
    for _ in "du":  # down and up
        sort_by(listed, "Last score")
        assert names(listed)[-1] == "a"
    sort_by(listed, "Run")
    assert names(listed)[0] == "a"


def test_it_is_filtered_by_name_algorithm_and_environment(listed):
    for text, shown in {
        "HOPPER": ["run-10", "b"],
        "teen": ["run-9"],
        "run": ["run-10", "run-9"],
        "sac hopper": ["b"],
        " ": list(RUNS),
        "101": [],  # a score
        "hopper td": ["run-10"],
    }.items():
        listed.locator("#filter").fill(text)
        assert names(listed) == shown
        expect(listed.locator("#count")).to_have_text(f"{len(shown)} of 3 runs")
    listed.locator("#filter").press("Enter")
    assert names(listed) == ["run-10"]
    expect(listed.get_by_text("Choose at least one run")).to_be_hidden()


def test_new_data_and_a_reload_keep_sort_filter_choice_and_focus(listed, root, server):
    sort_by(listed, "Last score")
    listed.get_by_label("compare run-9").check()
    listed.locator("#filter").fill("hopper")
    box = listed.get_by_label("compare run-10")
    box.focus()
    box.press("Space")
    expect(box).to_be_focused()

    def check():
        assert names(listed) == ["b", "run-10"]
        expect(head(listed, "Last score")).to_have_attribute("aria-sort", "descending")
        expect(listed.locator("#filter")).to_have_value("hopper")
        expect(listed.locator("#count")).to_have_text("2 of 3 runs · 2 chosen, 1 of them not shown")
        expect(box).to_be_checked()
        assert listed.get_by_label("compare b").is_checked() is False

    check()
    renewed(listed, root)
    check()
    expect(box).to_be_focused()
    listed.reload()
    check()
    listed.get_by_role("button", name="Compare").click()
    listed.wait_for_url("**/compare?name=run-9&name=run-10")
    listed.get_by_role("link", name="All runs").click()
    check()
    listed.get_by_role("button", name="Choose none").click()
    expect(listed.locator("#count")).to_have_text("2 of 3 runs")
    listed.reload()
    expect(listed.locator("#count")).to_have_text("2 of 3 runs")


def test_a_choice_waits_for_a_run_that_cannot_be_read_for_a_while(listed, root):
    listed.get_by_label("compare b").check()
    settings = (root / "b" / "config.toml").read_text()
    (root / "b" / "config.toml").write_text("steps = = 3")
    expect(listed.locator("#count")).to_have_text("3 of 3 runs")
    (root / "b" / "config.toml").write_text(settings)
    expect(listed.get_by_label("compare b")).to_be_checked()


def test_another_folder_at_the_same_address_has_choices_of_its_own(tab, root, tmp_path_factory):
    other = tmp_path_factory.mktemp("other")
    write_run(other / "b", "redq")
    with serving(root) as first:
        tab.goto(first.url)
        tab.get_by_label("compare b").check()
        tab.goto(f"{first.url}/run?name=b")
        tab.select_option("#mode", "seeds")
        tab.goto("about:blank")
    with serving(other, first.server_port) as second:
        tab.goto(second.url)
        expect(tab.get_by_label("compare b")).not_to_be_checked()
        tab.goto(f"{second.url}/run?name=b")
        expect(tab.locator("#mode")).to_have_value("mean")
        tab.goto("about:blank")


def test_dark_is_remembered_on_all_pages(listed, server):
    listed.locator("#theme").click()
    expect(listed.locator("html")).to_have_attribute("data-theme", "dark")
    listed.reload()
    expect(listed.locator("#theme")).to_have_text("Light")
    listed.get_by_role("link", name="run-9").click()
    expect(listed.locator("html")).to_have_attribute("data-theme", "dark")
    beside = listed.context.new_page()
    beside.goto(server.url)
    expect(beside.locator("html")).to_have_attribute("data-theme", "dark")
    listed.locator("#theme").click()  # as the system has it: the page follows the system again
    assert listed.locator("html").get_attribute("data-theme") is None
    expect(beside.locator("#theme")).to_have_text("Dark")
    beside.close()
    listed.emulate_media(color_scheme="dark")
    expect(listed.locator("#theme")).to_have_text("Light")


def test_odd_and_hostile_names_are_sorted_filtered_chosen_and_remembered_as_text(listed, root):
    odd = [HOSTILE.replace("/", "∕"), 'a" data-x="', "<b>", "line\nbreak", os.fsdecode(b"\xff")]
    for k, name in enumerate(odd):
        write_run(root / name, HOSTILE, HOSTILE, seeds=(k,))
    expect(listed.locator("#runs tbody tr")).to_have_count(3 + len(odd))
    listed.locator("#filter").fill("<IMG SRC=X")  # their environment
    assert len(names(listed)) == len(odd)
    sort_by(listed, "Environment")
    for box in listed.locator("#runs tbody tr:visible input").all():
        box.check()
    listed.reload()
    expect(listed.locator("#count")).to_have_text(f"{len(odd)} of {3 + len(odd)} runs · {len(odd)} chosen")
    assert listed.evaluate("window.owned") is None
    assert listed.locator("img, b, [data-x]").count() == 0


def test_the_score_is_seen_on_a_phone(listed, root):
    write_run(root / f"{'sweep-' * 6}alpha=0.2" / "a-name-that-is-much-longer-than-a-phone-is-wide", level=1e60)
    listed.set_viewport_size({"width": 390, "height": 844})
    expect(listed.locator(".score")).to_have_count(4)
    for score in listed.locator(".score").all():
        box = score.bounding_box()
        assert 0 < box["x"] < box["x"] + box["width"] <= 390
    assert listed.evaluate("document.documentElement.scrollWidth") <= 390
    assert listed.locator(".wide").evaluate("table => table.scrollLeft") == 0


def test_jobs_renew_themselves_and_stay_folded_as_the_reader_left_them(listed, root):
    jobs, folder = listed.locator("#jobs"), Folder(root)
    expect(jobs).to_have_text("")
    add_to_ledger(folder, [PlannedJob(name, {"steps": 2_000}) for name in ("first", HOSTILE.replace("/", ""))])
    expect(jobs.locator("summary")).to_have_text("2 jobs: 2 waiting")
    expect(jobs.locator("tbody tr").first).to_be_visible()
    jobs.locator("summary").click()
    expect(jobs.locator("tbody tr").first).to_be_hidden()
    write_failed(folder, "first", HOSTILE)
    expect(jobs.locator("summary")).to_have_text("2 jobs: 1 failed, 1 waiting")
    expect(jobs.locator("tbody tr").first).to_be_hidden()
    jobs.locator("summary").click()
    expect(jobs.locator(".wrong").first).to_be_visible()
    assert listed.evaluate("window.owned") is None
    assert len(names(listed)) == len(RUNS)
