"""The pages of `teen serve` in a real browser."""

import threading

import pytest

from teen.report.serve import Server

from .shown import paths, place, ticks, tooltip, write_page
from .synthetic import EVERY, HOSTILE, evaluate, write_run

expect = pytest.importorskip("playwright.sync_api", reason="playwright is not installed: see the extra dev").expect


def test_hostile_names_do_nothing(tab, tmp_path):
    run = write_run(tmp_path / "runs" / HOSTILE.replace("/", "∕"), HOSTILE, HOSTILE, note=HOSTILE, members=1)
    (run / "diagnostics.csv").write_text(
        f'seed,step,quantity,value\n0,10,"{HOSTILE.replace(chr(34), chr(34) * 2)}",1\n'
    )
    tab.goto(write_page(tmp_path / "index.html", run))
    tab.mouse.move(*place(tab, 0.5))
    assert HOSTILE.replace("\u2028", " ") in tooltip(tab).inner_text().replace("\u2028", " ")
    with Server(tmp_path / "runs", port=0) as server:
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}).start()
        tab.goto(server.url)
        tab.locator("#runs a").click()
        tab.locator("#curves path.line").wait_for()
        assert tab.evaluate("window.owned") is None
        assert tab.locator("img, b:not(.tooltip b):not(#reference)").count() == 0
        server.shutdown()


def test_the_list_of_runs_renews_itself_and_keeps_what_was_ticked(tab, tmp_path):
    run = write_run(tmp_path / "run", evaluations=5)
    with Server(tmp_path, port=0, seconds=0.1) as server:
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}).start()
        tab.goto(server.url)
        tab.get_by_label("compare run").check()
        evaluate(run, 6 * EVERY, 1, (0, 1, 2))
        tab.get_by_text("60,000 of 100,000").wait_for()
        write_run(tmp_path / "other", "teen", evaluations=5)
        tab.get_by_label("compare other").wait_for()
        assert tab.get_by_label("compare run").is_checked()
        assert not tab.get_by_label("compare other").is_checked()
        assert tab.evaluate("document.activeElement.value") == "run"
        server.shutdown()
    tab.locator("#note", has_text="The server does not answer").wait_for()
    assert tab.get_by_label("compare run").is_checked()
    tab.goto("about:blank")
    tab.wrong.clear()  # the browser told of it, too


def test_the_live_page_grows_with_its_run_and_keeps_what_was_chosen(tab, tmp_path):
    run = write_run(tmp_path / "run", evaluations=5)
    write_run(tmp_path / "other", "teen", level=2, evaluations=5)
    new = write_run(tmp_path / "new", "sac", env="Ant-v5", evaluations=0)
    server = Server(tmp_path, port=0, seconds=0.1)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        tab.goto(server.url)
        tab.get_by_label("compare run").check()
        tab.get_by_label("compare other").check()
        tab.get_by_label("compare new").check()
        tab.get_by_role("button", name="Compare").click()
        tab.get_by_role("button", name="teen").click()
        tab.mouse.move(*place(tab, 0.2))
        tab.mouse.down()
        tab.mouse.move(*place(tab, 0.6), steps=3)
        tab.mouse.up()
        zoomed = ticks(tab)
        assert [path.count("L") for path in paths(tab)] == [4]
        for number in range(6, 11):
            evaluate(run, number * EVERY, 1, (0, 1, 2))
        for number in range(1, 11):
            evaluate(new, number * EVERY, 1, (0, 1, 2))
        tab.locator("#notes li", has_text="other has 50,000 of 100,000 steps").wait_for()
        expect(tab.locator("#notes li")).to_have_count(1)
        assert [path.count("L") for path in paths(tab)] == [9]
        assert ticks(tab) == zoomed
        for label, pressed in (("td3", "true"), ("teen", "false"), ("sac", "true")):
            assert tab.get_by_role("button", name=label).get_attribute("aria-pressed") == pressed
        (run / "config.toml").rename(run / "elsewhere.toml")
        tab.locator("#note", has_text="There is no such run here").wait_for()
        (run / "elsewhere.toml").rename(run / "config.toml")
        tab.locator("#note").wait_for(state="hidden")
        tab.wrong.clear()  # the browser told of the answer 404
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
    tab.locator("#note", has_text="The server does not answer").wait_for()
    assert [path.count("L") for path in paths(tab)] == [9]
    assert {address.split("?")[0].removeprefix(server.url) for address in tab.asked} == {"/", "/compare", "/data"}
    tab.goto("about:blank")
    tab.wrong.clear()  # and of the answers that did not come
