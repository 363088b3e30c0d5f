"""The page of `teen report` in a real browser."""

import re

import numpy as np
import pytest
from scipy.stats import t as student

from .shown import LINES, paths, place, ticks, tooltip, write_page
from .synthetic import EVERY, evaluate, write_run

LABELS = ["td3", "teen", "sac"]


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    root = tmp_path_factory.mktemp("runs")
    folders = [
        write_run(root / f"{label}-{env}", label, env, level, members=3 * (label == "teen"))
        for env in ("Hopper-v5", "Ant-v5")
        for level, label in enumerate(LABELS, start=1)
    ]
    rows = [f"{seed},{step},coverage,{step / 1e5}" for seed in (0, 1) for step in (10_000, 50_000)]
    rows += [f"{seed},50000,entropy_all,{12 + seed}" for seed in (0, 1)]
    (folders[0] / "diagnostics.csv").write_text("seed,step,quantity,value\n" + "\n".join(rows) + "\n")
    return write_page(root / "index.html", *folders)


def test_it_loads_alone_and_draws_a_curve_for_each_label(tab, report):
    tab.goto(report)
    assert len(paths(tab)) == 3
    assert tab.locator("#curves path.line").count() == 6
    assert tab.locator("#curves path.band").count() == 6
    assert all(path.count("L") == 9 for path in paths(tab))
    assert tab.asked == [report]
    assert tab.title() == "Hopper-v5, Ant-v5 – TEEN"
    hidden = [section.get_attribute("id") for section in tab.locator("section").all() if section.is_hidden()]
    assert hidden == ["confusion", "files"]


def test_hovering_tells_the_values_at_the_nearest_step(tab, report):
    tab.goto(report)
    tab.mouse.move(*place(tab, 0.512))
    assert tooltip(tab).locator("b").inner_text() == "step 50,000"
    assert tooltip(tab).locator("span").all_inner_texts() == [
        *("sac", "151.0 ± 1.0"),
        *("teen", "101.0 ± 1.0"),
        *("td3", "51.00 ± 1.00"),
    ]
    tab.mouse.move(*place(tab, 0.56))
    assert tooltip(tab).locator("b").inner_text() == "step 60,000"
    tab.mouse.move(5, 5)
    assert tooltip(tab).is_hidden()


def test_the_legend_hides_and_shows_a_label(tab, report):
    tab.goto(report)
    button = tab.get_by_role("button", name="teen")
    button.click()
    assert button.get_attribute("aria-pressed") == "false"
    shown = [path.get_attribute("data-label") for path in tab.locator(LINES).all()]
    assert shown == ["td3", "sac"]
    assert tab.locator("#members path.line").count() == 0
    button.press("Enter")
    assert len(paths(tab)) == 3


def test_dragging_zooms_and_a_double_click_resets(tab, report):
    tab.goto(report)
    before = ticks(tab), ticks(tab, "y"), paths(tab)
    tab.mouse.move(*place(tab, 0.29))
    tab.mouse.down()
    tab.mouse.move(*place(tab, 0.4), steps=3)
    assert tab.locator("#curves rect.selection").count() == 1
    tab.mouse.move(*place(tab, 0.61))
    tab.mouse.up()
    assert ticks(tab)[0] == "30k"
    assert ticks(tab)[-1] == "60k"
    assert ticks(tab, "y") != before[1]
    tab.mouse.dblclick(*place(tab, 0.5))
    assert (ticks(tab), ticks(tab, "y"), paths(tab)) == before


def test_keys_move_the_cursor_and_zoom(tab, report):
    tab.goto(report)
    before = ticks(tab)
    plot = tab.locator("#curves .plot").first
    plot.focus()
    plot.press("Home")
    assert "step 10,000" in tooltip(tab).inner_text()
    plot.press("ArrowRight")
    assert "step 20,000" in tooltip(tab).inner_text()
    plot.press("+")
    assert ticks(tab) != before
    tab.get_by_role("button", name="Reset zoom").first.click()
    assert ticks(tab) == before
    reached = set()
    tab.mouse.click(5, 5)
    for _ in range(12):
        tab.keyboard.press("Tab")
        reached.add(tab.evaluate("document.activeElement.id || document.activeElement.className || 'legend'"))
    assert reached >= {"theme", "legend", "mode", "smooth", "plot", "at"}


def test_zooming_ends_at_one_step(tab, report):
    tab.goto(report)
    plot = tab.locator("#curves .plot").first
    plot.focus()
    for _ in range(80):
        plot.press("+")
    low, high = tab.evaluate("[...charts.values()][0].zoom")
    assert 1 <= high - low < 2
    assert tab.evaluate("ticks(1e17, 1e17 + 32, 5).length") < 10
    plot.press("0")
    assert "100k" in ticks(tab)


def test_smoothing_and_modes_change_what_is_drawn(tab, report):
    tab.goto(report)
    tab.select_option("#mode", "seeds")
    assert tab.locator("#curves figure:first-child path.seed").count() == 9
    assert paths(tab) == []
    tab.mouse.move(*place(tab, 0.5))
    assert "sac, seed 2\n152.0" in tooltip(tab).inner_text()
    tab.select_option("#mode", "iqm")
    tab.mouse.move(*place(tab, 0.5))
    assert re.search(r"sac\n151.0 \[15\d.\d, 15\d.\d\]", tooltip(tab).inner_text())
    losses = paths(tab, "#training path.line")
    tab.locator("#smooth").fill("2")
    assert tab.locator("#window").inner_text() == "mean of 5"
    assert paths(tab, "#training path.line") != losses
    assert tab.evaluate("smoothed([0, 3, 0, 3, null, 6], 1)") == [0, 1, 2, 1.5, None, 6]


def test_metrics_and_diagnostics_can_be_chosen(tab, report):
    tab.goto(report)
    assert tab.locator("#training option").all_text_contents() == ["critic_loss", "q"]
    before = paths(tab, "#training path.line")
    tab.select_option("#training select", "q")
    assert paths(tab, "#training path.line") != before
    assert tab.locator("#diagnostics path.line").count() == 1


def test_the_last_diagnosis_is_a_table_whose_rows_choose_the_chart(tab, report):
    tab.goto(report)
    table = tab.locator("#diagnostics table")
    assert table.locator("thead").inner_text().split() == ["td3", "step", "50k"]
    assert table.locator("tbody tr").all_inner_texts() == [
        "coverage\t\t0.5000 ± 0.0000",
        "entropy_all\tH(ρ) of visited states and actions, nats\t12.50 ± 0.71",
    ]
    table.get_by_role("button", name="entropy_all").click()
    assert tab.locator("#diagnostics select").input_value() == "entropy_all"
    assert tab.locator("#diagnostics circle.dot").count() == 1


def test_the_discriminators_guesses_are_a_matrix(tab, tmp_path):
    run = write_run(tmp_path / "run", "teen")
    shares = {(0, 0): 0.75, (0, 1): 0.25, (1, 0): 0.5, (1, 1): 0.5}
    rows = [
        f"{seed},{step},{z},{g},{s - seed / 10}" for seed in (0, 1) for step in (10, 20) for (z, g), s in shares.items()
    ]
    (run / "confusion.csv").write_text("seed,step,member,guess,share\n" + "\n".join(rows) + "\n")
    tab.goto(write_page(tmp_path / "index.html", run))
    assert tab.locator("#confusion h3").inner_text().strip() == "teen on Hopper-v5, step 20"
    assert tab.locator("#confusion tbody tr").all_inner_texts() == ["0\t70\t20", "1\t45\t45"]
    assert "0.49" in tab.locator("#confusion tbody td").first.evaluate("cell => getComputedStyle(cell).backgroundColor")


def test_tables_are_sorted_by_their_headings(tab, report):
    tab.goto(report)

    def column(number):
        return tab.locator(f"#scores tbody td:nth-child({number})").all_inner_texts()

    tab.get_by_role("button", name="Last 50k", exact=True).click()
    assert column(2) == ["sac", "sac", "teen", "teen", "td3", "td3"]
    assert column(5)[0] == "241.0 ± 1.0"
    assert tab.get_by_role("columnheader", name="Last 50k", exact=True).get_attribute("aria-sort") == "descending"
    tab.get_by_role("button", name="Last 50k", exact=True).click()
    assert column(2)[0] == "td3"
    tab.get_by_role("button", name="Environment", exact=True).click()
    assert column(1) == ["Ant-v5"] * 3 + ["Hopper-v5"] * 3
    teen_over_td3 = tab.locator("#improvement table").first.locator("tbody tr:nth-child(2) td:nth-child(2)")
    assert teen_over_td3.inner_text() == "1.00 [1.00, 1.00]"


def test_scores_and_improvement_are_of_the_best_so_far_too(tab, tmp_path):
    """One was better once, the other is better now."""
    runs = [write_run(tmp_path / algo, algo, seeds=(0,), evaluations=0) for algo in ("td3", "teen")]
    for algo, level, step in ((0, 9, 1), (0, 0, 10), (1, 0.5, 1), (1, 0.5, 10)):
        evaluate(runs[algo], step * EVERY, level, (0,))
    tab.goto(write_page(tmp_path / "index.html", *runs))
    heads = tab.locator("#scores th").all_inner_texts()
    assert heads[4:] == ["Last 50k", "IQM of last 50k [95 %]", "Best so far", "IQM of best [95 %]"]
    cells = tab.locator("#scores tbody tr:first-child td").all_inner_texts()
    assert cells[4:] == ["0.0000 ± –", "0.0000 [0.0000, 0.0000]", "90.00 ± –", "90.00 [90.00, 90.00]"]
    teen_over_td3 = tab.locator("#improvement tbody tr:nth-child(2) td:nth-child(2)")
    assert teen_over_td3.inner_text() == "1.00 [1.00, 1.00]"
    tab.select_option("#by", "best so far")
    assert teen_over_td3.inner_text() == "0.00 [0.00, 0.00]"


def test_differences_of_means_and_gains(tab, tmp_path):
    """Both have seeds one apart, so a variance of 1 and of 2/3 between means, with four degrees of freedom. One seed
    has no difference."""
    levels = {("td3", "Hopper-v5"): 1, ("teen", "Hopper-v5"): 2, ("td3", "Ant-v5"): 10, ("teen", "Ant-v5"): 80}
    folders = [write_run(tmp_path / algo / env, algo, env, level) for (algo, env), level in levels.items()]
    folders += [write_run(tmp_path / algo / "one", algo, "Walker2d-v5", 5, seeds=(0,)) for algo in ("rnd", "redq")]
    tab.goto(write_page(tmp_path / "index.html", *folders))
    shown = tab.locator("#differences h3").all_inner_texts()
    envs = ("Hopper-v5", "Ant-v5")
    assert sorted(shown) == [
        "All environments at step 100k, gain in %",
        *(f"{env} at step 100k" for env in sorted(envs)),
    ]
    assert len(tab.locator("#improvement h3").all()) == 4

    def cell(env):
        table = tab.locator("#differences .tables > div").filter(has_text=env).locator("tbody")
        place = table.locator("tr").all_inner_texts()
        teen, td3 = (next(i for i, row in enumerate(place) if row.startswith(label)) for label in ("teen", "td3"))
        return table.locator("tr").nth(teen).locator("td").nth(td3 + 1).inner_text()

    half = 2.776445 * (2 / 3) ** 0.5  # Student's t with four degrees of freedom
    means = {key: 80 * level + 1 for key, level in levels.items()}  # of the steps from 60,000 to 100,000
    assert cell("Hopper-v5") == f"{80:.2f} [{80 - half:.2f}, {80 + half:.2f}]"
    assert cell("Ant-v5") == f"5,600 [{5600 - half:,.0f}, {5600 + half:,.0f}]"
    ratios = [means["teen", env] / means["td3", env] for env in envs]
    gain = 100 * ((ratios[0] * ratios[1]) ** 0.5 - 1)
    value, low, high = map(float, re.findall(r"[\d.]+", cell("All environments")))
    assert value == pytest.approx(gain, abs=0.05)
    parts = np.array([1 / 3 / mean**2 for mean in means.values()])  # variances of log(mean), on two tasks
    half = student.ppf(0.975, 2 * parts.sum() ** 2 / (parts**2).sum()) * parts.sum() ** 0.5 / 2
    wanted = [100 * ((1 + gain / 100) * np.exp(side * half) - 1) for side in (-1, 1)]
    assert [low, high] == pytest.approx(wanted, abs=0.05)


def test_what_differs_between_runs_is_marked(tab, report):
    tab.goto(report)
    marked = tab.locator("#configuration tr.differs th").all_inner_texts()
    assert marked == ["algo", "env"]
    tab.get_by_label("only what differs").check()
    assert tab.locator("#configuration tbody tr:not(.part) th").all_inner_texts() == ["algo", "env"]


def test_dark_and_light(tab, report):
    tab.goto(report)

    def brightness():
        colour = tab.evaluate("getComputedStyle(document.body).backgroundColor")
        return sum(map(int, re.findall(r"\d+", colour)[:3]))

    assert brightness() > 700
    tab.emulate_media(color_scheme="dark")
    assert brightness() < 150
    tab.locator("#theme").click()
    assert brightness() > 700
    assert tab.locator("#theme").inner_text() == "Dark"


def test_a_phone_needs_no_sideways_scrolling(tab, report):
    tab.set_viewport_size({"width": 375, "height": 700})
    tab.goto(report)
    assert tab.evaluate("document.documentElement.scrollWidth") <= 375
    assert len(paths(tab)) == 3


def test_one_evaluation_is_a_dot_and_gaps_stay_gaps(tab, tmp_path):
    one = write_run(tmp_path / "one", "sac", seeds=(0,), evaluations=1)
    other = write_run(tmp_path / "other", seeds=(0,), evaluations=5)
    text = (other / "eval.csv").read_text()
    (other / "eval.csv").write_text(re.sub(r"(0,30000,mean,\d),[\d.]+", r"\1,nan", text))
    tab.goto(write_page(tmp_path / "index.html", one, other))
    assert tab.locator("#curves circle.dot").count() == 1
    assert paths(tab)[1].count("M") == 2


def test_the_axis_of_a_single_step_has_different_ticks(tab, tmp_path):
    run = write_run(tmp_path / "run", evaluations=1)
    tab.goto(write_page(tmp_path / "index.html", run))
    assert len(set(ticks(tab))) == len(ticks(tab)) > 2
    assert "10k" in ticks(tab)


def test_a_seed_that_is_left_alone_has_no_band(tab, tmp_path):
    run = write_run(tmp_path / "run", evaluations=4)
    for number in (5, 6):
        evaluate(run, number * EVERY, 1, (2,))
    tab.goto(write_page(tmp_path / "index.html", run))
    assert [path.count("L") for path in paths(tab)] == [5]
    (band,) = paths(tab, "#curves path.band")
    assert band.count("L") == 7  # there and back over four evaluations
    tab.mouse.move(*place(tab, 1))
    assert tooltip(tab).locator("span").all_inner_texts() == ["td3", "62.00 ± –, 1 of 3 seeds"]
