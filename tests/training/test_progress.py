"""What a user sees while a run trains and when it has ended: on terminals of any size, in a notebook, in a pipe."""

import builtins
import io
import itertools
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest
from rich.console import Console
from rich.live_render import LiveRender

from teen.engine.evaluate import Episode
from teen.engine.plan import Plan
from teen.training.outcome import Outcome
from teen.training.pace import ENOUGH, SETTLING, Pace
from teen.training.progress import Progress
from teen.training.screen import duration, flowed, score_lines


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


PLAN = Plan(steps=1_000_000, warmup=25_000)
ALPHAS = ["alpha=0", "alpha=0.2", "alpha=1"]
METRICS = ("critic_loss", "q", "discriminator_accuracy", "diversity_bound", "clipped_share", "action_spread")


def evaluation(lanes, step=5000):
    """Lane k scores -1000 - k, in two episodes."""
    return [[Episode(0, step, "mean", e, -1000.0 - lane + d, 40) for e, d in enumerate((-1, 1))] for lane in lanes]


def learning(progress: Progress, clock: Clock, step: int, seconds: float, steps_per_second: int) -> int:
    """Train for so long, a second at a time, and return the step."""
    for _ in range(int(seconds)):
        clock.now += 1
        step += steps_per_second
        progress.stepped(step)
    return step


def shown(progress: Progress, width: int, height: int) -> list[str]:
    """The lines of a terminal of that size. What is too high is cut off with an ellipsis, as in rich's Live."""
    options = {"record": True, "file": io.StringIO(), "force_terminal": True, "legacy_windows": False}
    console = Console(width=width, height=height, **options)
    console.print(LiveRender(progress.drawn(width, height), vertical_overflow="ellipsis"))
    return console.export_text().splitlines()


def running(variants, seeds) -> Progress:
    """A run of two days that has been learning for an hour and more."""
    clock = Clock()
    progress = Progress(PLAN, variants, range(seeds), show=False, clock=clock)
    learning(progress, clock, 25_000, 4000, 4)
    progress.evaluated(5000, evaluation(range(len(variants) * seeds)))
    progress.trained({name: np.array([-1234.5678]) for name in METRICS})
    return progress


# The time left


def test_during_the_warm_up_nobody_knows_how_long_it_takes():
    clock = Clock()
    progress = Progress(PLAN, [""], [0], show=False, clock=clock)
    learning(progress, clock, 0, 20, 1200)
    text = "\n".join(shown(progress, 80, 24))
    assert "step 24,000 of 1,000,000" in text
    assert "warm-up until step 25,000" in text
    assert "1,200 steps/s" in text
    assert "0:20 elapsed" in text
    assert "left" not in text


def test_the_time_left_comes_from_what_has_been_learnt_alone():
    """A warm-up of 1000 steps a second, an hour in which programs are compiled, then 10 steps a second."""
    clock = Clock()
    progress = Progress(PLAN, [""], [0], show=False, clock=clock)
    learning(progress, clock, 0, 25, 1000)
    clock.now += 3600
    step = learning(progress, clock, 25_000, SETTLING, 10)
    assert "left" not in "\n".join(shown(progress, 80, 24))
    step = learning(progress, clock, step, ENOUGH - 1, 10)
    assert "left" not in "\n".join(shown(progress, 80, 24))
    step = learning(progress, clock, step, 1, 10)
    text = "\n".join(shown(progress, 80, 24))
    assert f"{duration((1_000_000 - step) / 10)} left" in text  # 1 d 3:04:54
    assert "1 d 3:0" in text
    assert "10 steps/s" in text
    assert "warm-up" not in text


def test_a_run_that_goes_on_is_timed_anew():
    clock = Clock()
    progress = Progress(PLAN, [""], [0], show=False, start=500_000, clock=clock)
    assert "left" not in "\n".join(shown(progress, 80, 24))
    learning(progress, clock, 500_000, SETTLING + ENOUGH, 1000)
    assert "8:14 left" in "\n".join(shown(progress, 80, 24))  # 494,000 steps


def test_the_speed_is_that_of_the_last_minute():
    clock = Clock()
    pace = Pace(1_000_000, 0, clock=clock)
    for step in itertools.accumulate([100] * 600 + [10] * 60):
        clock.now += 1
        pace.stepped(step)
    assert pace.rate == pytest.approx(10)
    assert pace.left == pytest.approx((1_000_000 - 60_600) / 10)


def test_steps_that_take_longer_than_a_minute_have_a_speed():
    clock = Clock()
    pace = Pace(1000, 0, clock=clock)
    for step in range(10, 110, 10):
        clock.now += 200
        pace.stepped(step)
    assert pace.rate == pytest.approx(0.05)
    assert pace.left == pytest.approx(900 / 0.05)
    clock.now += 2000  # nothing comes any more
    assert pace.rate < 0.05


# Screens


@pytest.mark.parametrize(
    ("variants", "seeds", "size", "all_seeds"),
    [
        (ALPHAS, 10, (80, 24), True),
        (ALPHAS, 20, (80, 24), False),
        (ALPHAS, 10, (160, 50), True),
        (ALPHAS, 10, (160, 24), True),
        ([""], 10, (80, 24), True),
        ([""], 30, (80, 24), True),
        ([""], 100, (80, 24), False),
        ([f"lr={k}e-05" for k in range(10, 40)], 1, (80, 24), True),
        ([f"lr={k}e-05" for k in range(10, 40)], 5, (80, 24), False),
    ],
)
def test_a_display_fits_the_terminal(variants, seeds, size, all_seeds):
    progress = running(variants, seeds)
    lines = shown(progress, *size)
    text = "\n".join(lines)
    assert len(lines) <= size[1]
    assert max(map(len, lines)) <= size[0]
    assert "…" not in text
    assert "..." not in text
    assert "1:06:40 elapsed" in text
    assert "2 d 18:35:50 left" in text
    assert all(f"{name} -1.23e+03" in text for name in METRICS)
    for variant in variants:
        assert variant in text
    for i in range(len(variants)):  # the mean, and the deviation of consecutive whole numbers
        first, last = i * seeds, (i + 1) * seeds - 1
        spread = f" ± {np.sqrt(seeds * (seeds + 1) / 12):.1f}" if seeds > 1 else ""
        assert f"{-1000 - (first + last) / 2:.1f}{spread}" in text
    lanes = [f"{-1000.0 - lane:.1f}" for lane in range(len(variants) * seeds)]
    assert all(lane in text for lane in lanes) == all_seeds


def test_what_does_not_fit_at_all_is_counted():
    lines = score_lines([f"lr={k:03}" for k in range(500)], [0], [[float(k)] for k in range(500)], 40, 10)
    assert len(lines) == 10
    assert max(map(len, lines)) <= 40
    kept = sum(line.count("lr=") for line in lines)
    assert lines[-1] == f"and {500 - kept} more"
    assert kept == 9 * 2


def test_a_seed_without_a_return_does_not_count():
    assert score_lines([""], [3, 5, 8], [[1.0, None, 3.0]], 80, 24) == [
        "mean      2.0 ± 1.4",
        "  seed 3        1.0",
        "  seed 5          –",
        "  seed 8        3.0",
    ]
    assert score_lines(["", ""], [7], [[None], [1.0]], 80, 24) == ["seed 7    –", "seed 7  1.0"]


def test_fields_flow_to_the_next_line():
    assert flowed(["aaaa", "bbb", "cc"], 10) == ["aaaa   bbb", "cc"]
    assert flowed(["aaaa", "bbb", "cc"], 9) == ["aaaa", "bbb   cc"]
    assert flowed([], 9) == []


def test_durations_are_told_in_days():
    assert [duration(s) for s in (59, 61, 3600, 86_399, 266_405)] == [
        "0:59",
        "1:01",
        "1:00:00",
        "23:59:59",
        "3 d 2:00:05",
    ]


# Without a terminal


def test_a_pipe_gets_lines(capsys):
    clock = Clock()
    with Progress(PLAN, ["alpha=0", "alpha=1"], [3, 5], show=True, clock=clock) as progress:
        learning(progress, clock, 0, 5, 1000)
        progress.evaluated(5000, [*evaluation([0, 1, 2]), []])
        learning(progress, clock, 25_000, 10, 500)
        progress.evaluated(30_000, evaluation(range(4)))
    assert capsys.readouterr().out.splitlines() == [
        "warm-up until step 25,000",
        "step 5000/1000000  warm-up until step 25,000  1,000 steps/s  0:05 elapsed  "
        "alpha=0 seed 3: -1000.0  alpha=0 seed 5: -1001.0  alpha=1 seed 3: -1002.0",
        "step 30000/1000000  500 steps/s  0:15 elapsed  32:20 left  "
        "alpha=0 seed 3: -1000.0  alpha=0 seed 5: -1001.0  alpha=1 seed 3: -1002.0  alpha=1 seed 5: -1003.0",
    ]


def test_nothing_is_shown_where_nobody_asked(capsys):
    with Progress(PLAN, [""], [0], show=False) as progress:
        progress.stepped(5000)
        progress.evaluated(5000, evaluation([0]))
    assert capsys.readouterr().out == ""


class ZMQInteractiveShell:
    """What Jupyter calls its own: rich knows it by this name."""


@pytest.fixture
def cell(monkeypatch):
    """A stand-in for a notebook: the states of its cell's one display."""
    states: list[dict[str, str]] = []

    def display(bundle, raw, display_id):
        assert raw
        assert display_id
        states.append(bundle)
        return SimpleNamespace(update=lambda bundle, raw: states.append(bundle))

    ipython, displays = ModuleType("IPython"), ModuleType("IPython.display")
    displays.display = display
    monkeypatch.setitem(sys.modules, "IPython", ipython)
    monkeypatch.setitem(sys.modules, "IPython.display", displays)
    monkeypatch.setattr(builtins, "get_ipython", ZMQInteractiveShell, raising=False)
    return states


def test_a_notebook_gets_a_bar(cell, capsys):
    with Progress(Plan(steps=100, warmup=20), [""], [0], show=True) as progress:
        assert "warm-up until step 20" in cell[0]["text/plain"]
        progress.stepped(50)
        progress.evaluated(50, evaluation([7]))
    last = cell[-1]
    assert "step 50 of 100" in last["text/plain"]
    assert "-1007.0" in last["text/plain"]
    assert "━" * 30 in last["text/html"]
    assert capsys.readouterr().out == ""


# What comes back


def test_an_outcome_is_one_line():
    episodes = [Episode(s, 60, p, 0, x, 40) for s, p, x in [(0, "mean", 1.0), (1, "mean", 4.0), (0, "2", 9.0)]]
    one = Outcome([Path("runs/x")], [None], [episodes[:1]], 60, None)
    assert repr(one) == "Outcome(step=60, folders=['runs/x'], mean return 1.0 over 1 seed)"
    two = Outcome([Path("a"), Path("b")], [None] * 2, [episodes, []], 60, 2)
    assert repr(two) == (
        "Outcome(step=60, folders=['a', 'b'], mean return 2.5 ± 2.1 over 2 seeds; not known, stopped by SIGINT)"
    )
    many = Outcome([Path(f"{k}") for k in range(30)], [None] * 30, [episodes] * 30, 60, None)
    assert "folders=['0', '1', '2'] and 27 more" in repr(many)
    assert len(repr(many)) < 200
