"""The list of runs below a folder, without a server."""

import gc
import shutil
import weakref

from teen.disk.lock import locked
from teen.report.library import Library

from .synthetic import write_run


def test_a_run_and_one_of_its_name_inside_are_two(tmp_path):
    root = write_run(tmp_path / "same", level=1)
    inner = write_run(root / "same", level=2)
    library = Library(root)
    assert library.folders() == {".": root, "same": inner}
    assert sorted(summary.score for summary in library.summaries()) == [101, 201]


def test_a_run_that_is_shown_by_itself_is_not_being_written_because_its_neighbours_are(tmp_path):
    with locked(tmp_path):
        (summary,) = Library(write_run(tmp_path / "run")).summaries()
        assert not summary.writing
        assert Library(tmp_path).summaries()[0].writing


def test_runs_that_are_gone_are_forgotten(tmp_path):
    first, _ = write_run(tmp_path / "first"), write_run(tmp_path / "second")
    library = Library(tmp_path)
    library.summaries()
    gone = weakref.ref(library._runs[first][1].returns)
    shutil.rmtree(first)
    assert len(library.summaries()) == 1
    gc.collect()
    assert gone() is None
