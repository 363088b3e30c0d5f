"""Logs whose rows of one step belong together: the files of a diagnosis."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from teen import UserError
from teen.disk import logs


def test_rows_of_a_step_are_replaced_and_later_ones_removed(tmp_path):
    def tables(value):
        return {"diagnostics.csv": [("entropy_all", value)], "confusion.csv": [(0, 1, value / 10)]}

    for step, value in ((10, 1.0), (20, 2.0), (30, 3.0), (20, 5.0)):
        logs.write_diagnosis(tmp_path, step, [(4, tables(value)), (5, {})])
    text = (tmp_path / "diagnostics.csv").read_text().split()
    assert text == ["seed,step,quantity,value", "4,10,entropy_all,1.0", "4,30,entropy_all,3.0", "4,20,entropy_all,5.0"]
    for name in logs.REPLACED:
        logs.remove_after(tmp_path, name, 20)
    assert (tmp_path / "confusion.csv").read_text().split() == [
        "seed,step,member,guess,share",
        "4,10,0,1,0.1",
        "4,20,0,1,0.5",
    ]
    assert not (tmp_path / "members.csv").exists()


def test_two_that_write_the_same_files_at_once_lose_nothing(tmp_path):
    def write(first):
        for step in range(first, 200, 2):
            logs.write_diagnosis(tmp_path, step, [(0, {"diagnostics.csv": [("entropy_all", 1.0)]})])

    with ThreadPoolExecutor() as pool:
        for writer in [pool.submit(write, first) for first in (0, 1)]:
            writer.result()
    rows = (tmp_path / "diagnostics.csv").read_text().split()[1:]
    assert sorted(int(row.split(",")[1]) for row in rows) == list(range(200))


@pytest.mark.parametrize("line", ["", "0,1", "0,ten,entropy_all,1.0"])
def test_a_damaged_line_is_named(tmp_path, line):
    (tmp_path / "diagnostics.csv").write_text(f"seed,step,quantity,value\n{line}\n")
    with pytest.raises(UserError, match=r"diagnostics.csv is damaged: line 2 is not seed,step,quantity,value"):
        logs.write_diagnosis(tmp_path, 10, [(0, {"diagnostics.csv": [("entropy_all", 1.0)]})])
