"""The files of a diagnosis on disk."""

from teen import diagnostics


def test_rows_of_a_step_are_replaced_and_later_ones_forgotten(tmp_path):
    def own(value):
        return {"diagnostics.csv": [("entropy_all", value)], "confusion.csv": [(0, 1, value / 10)]}

    for step, value in ((10, 1.0), (20, 2.0), (30, 3.0), (20, 5.0)):
        diagnostics.write(tmp_path, step, [(4, own(value)), (5, {})])
    text = (tmp_path / "diagnostics.csv").read_text().split()
    assert text == ["seed,step,quantity,value", "4,10,entropy_all,1.0", "4,30,entropy_all,3.0", "4,20,entropy_all,5.0"]
    diagnostics.forget(tmp_path, 20)
    assert (tmp_path / "confusion.csv").read_text().split() == [
        "seed,step,member,guess,share",
        "4,10,0,1,0.1",
        "4,20,0,1,0.5",
    ]
    assert not (tmp_path / "members.csv").exists()
