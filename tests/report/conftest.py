"""A real browser: Debian's Chromium, driven by Playwright."""

import os
import shutil

import pytest


@pytest.fixture(scope="module")
def browser():
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed: see the extra dev")
    path = shutil.which("chromium")
    if path is None:
        pytest.skip("there is no chromium here: apt-get install chromium")
    root = ["--no-sandbox"] if os.geteuid() == 0 else []  # Chromium has no sandbox for root
    with playwright.sync_playwright() as driver:
        chromium = driver.chromium.launch(executable_path=path, args=root)
        yield chromium
        chromium.close()


@pytest.fixture
def tab(browser):
    """Yield a page whose console must stay empty; `asked` are the addresses it asked for."""
    context = browser.new_context(viewport={"width": 1280, "height": 900}, color_scheme="light")
    context.set_default_timeout(10_000)
    page = context.new_page()
    page.asked, page.wrong = [], []
    page.on("request", lambda request: page.asked.append(request.url))
    page.on("console", lambda message: page.wrong.append(message.text))
    page.on("pageerror", lambda error: page.wrong.append(str(error)))
    yield page
    context.close()
    assert page.wrong == []
