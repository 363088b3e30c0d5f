"""A logger in a thread: nothing that it does reaches the one who hands it rows."""

import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from teen.loggers import background
from teen.loggers.background import Background, close
from teen.loggers.base import Row, Run
from tests.loggers.own import Good, Hangs, Raises

RUN = Run(Path("run"), 0, ())
ROWS = [[Row("", 0, step, {"x": float(step)}), Row("", None, step, {"x": float(step)})] for step in range(20)]


@pytest.fixture
def quick(monkeypatch):
    monkeypatch.setattr(background, "PATIENCE", 0.2)


def notices(capsys):
    return [line for line in capsys.readouterr().err.splitlines() if line]


def test_all_rows_arrive_in_order_and_what_waits_comes_at_once(capsys):
    slow = Hangs("begin")
    thread = Background("slow", slow, RUN)
    assert slow.reached.wait(60)
    for rows in ROWS:
        thread.put(rows)
    slow.freed.set()
    close([thread])
    assert (slow.runs, slow.closed) == ([RUN], 1)
    assert slow.batches == [[row for rows in ROWS for row in rows]]
    assert notices(capsys) == []


@pytest.mark.parametrize("where", ["begin", "log", "close"])
def test_one_that_raises_is_dropped_with_one_notice(where, capsys):
    bad, good = Raises(where), Good()
    threads = [Background("bad", bad, RUN), Background("good", good, RUN)]
    for rows in ROWS:
        for thread in threads:
            thread.put(rows)
    close(threads)
    dropped = "notice: logger bad is dropped, and training goes on without it: "
    assert notices(capsys) == [f"{dropped}RuntimeError: no {where} today"]
    assert bad.closed == good.closed == 1
    assert good.rows == [row for rows in ROWS for row in rows]


def test_neither_an_exit_nor_a_long_story_comes_through(capsys):
    threads = [
        Background("leaves", Raises("log", SystemExit(7)), RUN),
        Background("talks", Raises("begin", ValueError("x" * 10_000)), RUN),
    ]
    for thread in threads:
        thread.put(ROWS[0])
    close(threads)
    first, second = sorted(notices(capsys))
    assert first.endswith("SystemExit: 7")
    assert len(second) < 400


@pytest.mark.parametrize("where", ["begin", "log", "close"])
def test_one_that_hangs_is_left_behind_with_one_notice(where, capsys, quick):
    bad = Hangs(where)
    thread = Background("bad", bad, RUN)
    thread.put(ROWS[0])
    close([thread])
    (line,) = notices(capsys)
    assert line.startswith("notice: logger bad is dropped, and training goes on without it: ")
    assert line.endswith("it was not done 0.2 s after the end of training")
    bad.freed.set()  # it comes to its end after all, and nobody is told
    thread._thread.join(60)
    assert bad.closed == 1
    assert notices(capsys) == []


def test_the_patience_is_for_all_of_them_together(monkeypatch, capsys):
    monkeypatch.setattr(background, "PATIENCE", 1.0)
    bad = [Hangs("begin") for _ in range(20)]
    threads = [Background(f"bad {k}", one, RUN) for k, one in enumerate(bad)]
    began = time.monotonic()
    close(threads)
    assert time.monotonic() - began < 15  # twenty times one second would be more
    assert len(notices(capsys)) == 20
    for one in bad:
        one.freed.set()


def test_one_that_is_too_slow_is_dropped_and_nobody_waits(monkeypatch, capsys):
    monkeypatch.setattr(background, "MOST_WAITING", 5)
    bad = Hangs("log")
    thread = Background("bad", bad, RUN)
    thread.put(ROWS[0])
    assert bad.reached.wait(60)
    for rows in ROWS:
        thread.put(rows)  # the sixth finds no room
    (line,) = notices(capsys)
    assert line.endswith("it is too slow, and 5 reports wait for it")
    close([thread])  # does not wait for it
    assert notices(capsys) == []
    bad.freed.set()
    thread._thread.join(60)
    assert bad.closed == 1
    assert bad.batches == [ROWS[0]]


def test_a_process_ends_beside_loggers_that_hang():
    """Also one that does not know how to leave them behind."""
    code = (
        "import sys\n"
        "from pathlib import Path\n"
        "from teen.loggers import background\n"
        "from teen.loggers.base import Run\n"
        "from tests.loggers.own import Hangs\n"
        "background.PATIENCE = 0.1\n"
        "threads = [background.Background(w, Hangs(w), Run(Path('run'), 0, ())) for w in ('begin', 'close')]\n"
        "background.close(threads)\n"
        "assert 'jax' not in sys.modules\n"
    )
    environment = {**os.environ, "PYTHONPATH": "src"}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout) == (0, "")
    assert len(done.stderr.splitlines()) == 2


def test_where_there_are_no_more_threads_there_is_no_logger(monkeypatch, capsys):
    def refuse(self):
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", refuse)
    thread = Background("bad", Good(), RUN)
    thread.put(ROWS[0])
    close([thread])
    (line,) = notices(capsys)
    assert line.endswith("RuntimeError: can't start new thread")


def test_an_exit_at_once_does_not_wait(capsys):
    bad = Hangs("begin")
    thread = Background("bad", bad, RUN)
    close([thread], wait=False)
    assert thread._thread.is_alive()
    assert thread._thread.daemon
    assert notices(capsys) == []
    bad.freed.set()
    thread._thread.join(60)
    assert bad.closed == 1
